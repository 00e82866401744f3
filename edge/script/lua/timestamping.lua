-- Latency of single packets, by Eagre's clock: from the moment a packet is handed to its port to the moment it is found at the
-- other. Network cards' own timestamps are not used.
local base = require "eagre.base"
local api = base.api
local libmoon = require "libmoon"
local log = require "log"
local memory = require "memory"
require "device"

local mod, timestamper = {}, {}
timestamper.__index = timestamper

local said = false

--- Measures PTP packets: bare Ethernet frames, or over UDP.
function mod:newTimestamper(txQueue, rxQueue, mem, udp)
    if not said then
        said = true
        log:info("Timestamps are taken in software.")
    end
    mem = mem or memory.createMemPool{n = 63, func = function(buf)
        (udp and buf:getUdpPtpPacket() or buf:getPtpPacket()):fill{ethSrc = txQueue}
    end}
    if udp then
        rxQueue:filterUdpTimestamps()
    else
        rxQueue:filterL2Timestamps()
    end
    return setmetatable({
        txBufs = mem:bufArray(1), rxBufs = memory.bufArray(128), txQueue = txQueue, rxQueue = rxQueue, txDev = txQueue.dev,
        rxDev = rxQueue.dev, seq = 1, udp = udp, mem = mem,
    }, timestamper)
end

function mod:newUdpTimestamper(txQueue, rxQueue, mem)
    return self:newTimestamper(txQueue, rxQueue, mem, true)
end

function mod.syncClocks() end

local function ptpOf(self, buf)
    return (self.udp and buf:getUdpPtpPacket() or buf:getPtpPacket()).ptp
end

--- Whether a received packet is the one with this number.
local function isIt(self, buf, seq)
    if buf.pkt_len < (self.udp and 76 or 48) then
        return false
    end
    local packet = buf:getUdpPacket()
    if self.udp and (packet.eth:getType() ~= 0x0800 or packet.ip4:getProtocol() ~= 17) then
        return false
    elseif not self.udp and packet.eth:getType() ~= 0x88f7 then
        return false
    end
    return ptpOf(self, buf):getSequenceID() == seq
end

--- Sends a packet, changed by 'modify' first, and waits for it, 'maxWait' ms at most. Returns the latency in ns, or nil if it did
--- not come back, and how many packets were received meanwhile.
function timestamper:measureLatency(size, modify, maxWait)
    if type(size) == "function" then
        return self:measureLatency(nil, size, modify)
    end
    size, maxWait = size or (self.udp and 76 or 60), (maxWait or 15) * 1e6
    self.txBufs:alloc(size)
    local buf, seq = self.txBufs[1], self.seq
    self.seq = (seq + 1) % 65536
    buf:enableTimestamps()
    ptpOf(self, buf):setSequenceID(seq)
    if modify then
        modify(buf)
    end
    if self.udp then
        buf:getUdpPtpPacket():setLength(size)
        self.txBufs:offloadUdpChecksums()
    end
    api.send(self.txQueue.id, self.txQueue.qid, self.txBufs.array, 1, 0, 0)
    local sent, received = api.sent_at(), 0
    local stop = tonumber(sent) + maxWait
    repeat
        local left = math.max(stop - tonumber(api.now()), 0)
        local n = api.recv(self.rxQueue.id, self.rxQueue.qid, self.rxBufs.array, self.rxBufs.size, math.min(left, 1e6), 1)
        received = received + n
        local latency
        for i = 1, n do
            if isIt(self, self.rxBufs[i], seq) then
                latency = tonumber(self.rxBufs[i].timestamp - sent)
            end
        end
        self.rxBufs:free(n)
        if latency then
            return latency, received
        end
    until left == 0 or not libmoon.running()
    return nil, received
end

return mod
