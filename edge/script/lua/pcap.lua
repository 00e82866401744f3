-- Capture files.
local base = require "eagre.base"
local api, native, ffi = base.api, base.native, base.ffi
local libmoon = require "libmoon"
local log = require "log"

local mod, reader, writer = {}, {}, {}
reader.__index, writer.__index = reader, writer

function mod:setInitialFilesize() end

local head = ffi.new("struct { uint32_t magic; uint16_t major, minor; uint32_t zone, digits, snaplen, network; }",
    {0xa1b2c3d4, 2, 4, 0, 0, 0x40000, 1})
local record = ffi.typeof("struct { uint32_t seconds, micros, len, original; }")

--- A file to write packets to. Times are seconds after 'startTime', by default those of libmoon.getTime().
function mod:newWriter(path, startTime)
    local file, reason = io.open(path, "wb")
    if not file then
        log:fatal("could not create pcap file: %s", reason)
    end
    file:setvbuf("full", 262144)
    file:write(ffi.string(head, ffi.sizeof(head)))
    return setmetatable({file = file, startTime = startTime or time() - libmoon.getTime()}, writer)
end

function writer:write(timestamp, data, len, original)
    local at = self.startTime + timestamp
    local seconds = math.floor(at)
    local header = record(seconds, math.floor((at - seconds) * 1e6), len, original or len)
    self.file:write(ffi.string(header, 16), ffi.string(ffi.cast("const char *", data), len))
end

function writer:writeBuf(timestamp, buf, snapLen)
    local size = buf:getSize()
    self:write(timestamp, buf:getBytes(), math.min(size, snapLen or size), size)
end

function writer:close()
    self.file:close()
end

--- A file (pcap or pcapng) to read packets from.
function mod:newReader(path)
    local ok, capture, count = pcall(native.capture_open, path)
    if not ok then
        log:fatal("could not open pcap file: %s", tostring(capture))
    end
    return setmetatable({capture = capture, count = count, at = 0}, reader)
end

--- Reads the next packets into an array with a pool, each with its time in µs in udata64; returns how many.
function reader:read(bufs)
    local n = api.capture_read(self.capture, self.at, bufs.mem, bufs.array, bufs.size)
    self.at = self.at + n
    return n
end

local single = ffi.new("struct rte_mbuf *[1]")

function reader:readSingle(pool)
    if api.capture_read(self.capture, self.at, pool, single, 1) == 0 then
        return nil
    end
    self.at = self.at + 1
    return single[0]
end

function reader:reset()
    self.at = 0
end

function reader:close() end

return mod
