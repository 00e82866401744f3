-- Functions that scripts expect as globals: colours, addresses, byte order, time.
local base = require "eagre.base"
local ffi = base.ffi
local bit = require "bit"
local band, bor, bxor, lshift, rshift, arshift = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.arshift
local floor, random, ln = math.floor, math.random, math.log

-- Colours.

local codes = {
    black = "0;30", dgrey = "1;30", red = "0;31", bred = "1;31", green = "0;32", bgreen = "1;32", brown = "0;33",
    yellow = "1;33", blue = "0;34", bblue = "1;34", dblue = "2;34", dpurple = "0;35", bpurple = "1;35", dcyan = "0;36",
    cyan = "1;36", bgrey = "0;37", white = "1;37",
}
local cycle = {"blue", "bgreen", "dpurple", "bred", "brown", "cyan", "green", "yellow", "red"}

--- The escape sequence of a colour, by name or number; none where lines are not coloured.
function getColorCode(colour)
    if not base.native.colour then
        return ""
    end
    if type(colour) == "number" then
        colour = cycle[(colour - 1) % #cycle + 1]
    end
    return "\27[" .. (codes[colour] or "0") .. "m"
end

function getColorizedString(text, colour)
    return getColorCode(colour) .. text .. getColorCode()
end

for _, colour in ipairs{"red", "bred", "yellow", "green", "white"} do
    _G[colour] = function(text, ...)
        return getColorizedString(text:format(...), colour)
    end
end

-- Text.

function printf(text, ...)
    return print(text:format(...))
end

function errorf(text, ...)
    error(text:format(...), 2)
end

function trim(text)
    return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

function strSplit(text, pattern)
    local parts, from = {}, 1
    while true do
        local first, last = text:find(pattern, from)
        if not first then
            break
        end
        parts[#parts + 1] = text:sub(from, first - 1)
        from = last + 1
    end
    if from <= #text then
        parts[#parts + 1] = text:sub(from)
    end
    return parts
end

function tostringall(...)
    return mapVarArg(tostring, ...)
end

function tonumberall(...)
    return mapVarArg(tonumber, ...)
end

function mapVarArg(f, ...)
    local values, n = {...}, select("#", ...)
    for i = 1, n do
        values[i] = f(values[i])
    end
    return unpack(values, 1, n)
end

function map(list, f)
    local result = {}
    for key, value in pairs(list) do
        result[key] = f(value)
    end
    return result
end

function toCsv(...)
    local parts = {}
    for i = 1, select("#", ...) do
        local text = tostring((select(i, ...)))
        if text:find('[,"\n]') then
            text = '"' .. text:gsub('"', '""') .. '"'
        end
        parts[i] = text
    end
    return table.concat(parts, ",")
end

function printCsv(...)
    print(toCsv(...))
end

-- Tables.

function mergeTables(first, ...)
    first = first or {}
    for i = 1, select("#", ...) do
        for key, value in pairs((select(i, ...))) do
            first[key] = value
        end
    end
    return first
end

function concatArrays(a, b)
    local all = {}
    for _, value in ipairs(a) do all[#all + 1] = value end
    for _, value in ipairs(b) do all[#all + 1] = value end
    return all
end

--- unpack() of an array with holes.
function unpackAll(list)
    return unpack(list, 1, table.maxn(list))
end

function range(last, first)
    local numbers = {}
    for i = first or 1, last do
        numbers[#numbers + 1] = i
    end
    return unpack(numbers)
end

function deepCopy(value)
    if type(value) ~= "table" then
        return value
    end
    local copy = {}
    for key, inner in next, value do
        copy[deepCopy(key)] = deepCopy(inner)
    end
    return setmetatable(copy, getmetatable(value))
end

-- Numbers.

--- (value + 1) % limit, without a branch.
function incAndWrap(value, limit)
    return band(value + 1, arshift(value + 1 - limit, 31))
end

function bswap16(n)
    return bor(rshift(n, 8), lshift(band(n, 0xff), 8))
end

bswap = bit.bswap
hton16, ntoh16, hton, ntoh = bswap16, bswap16, bswap, bswap

--- Exponentially distributed, with this mean, in whole bytes of link time.
function poissonDelay(mean)
    return floor(0.5 - ln(1 - random()) * mean)
end

--- Bytes of link time after a packet of 10 Gbit/s Ethernet for a rate in Mpps.
function rateToByteDelay(rate, size)
    return 1250 / rate - (size or 60) - 24
end

--- Bytes of link time after a packet for a time between packets in ns.
function timeToByteDelay(time, rate, size)
    return time * (rate or 10000) / 8000 - (size or 60) - 24
end

--- A frame length, without FCS, of a simple mix: 7 short, 4 middle and 1 long in 12.
function imixSize()
    local n = random(12)
    return n == 1 and 1518 or n <= 5 and 574 or 68
end

-- Time.

local now, precise = ffi.new("struct timeval"), ffi.new("struct timespec")

function gettimeofday()
    ffi.C.gettimeofday(now, nil)
    return tonumber(now.tv_sec), tonumber(now.tv_usec)
end

--- Seconds since 1970.
function time()
    local seconds, micros = gettimeofday()
    return seconds + micros / 1e6
end

wallTime = time

function getMonotonicTime()
    ffi.C.clock_gettime(1, precise)
    return tonumber(precise.tv_sec) + tonumber(precise.tv_nsec) / 1e9
end

function timevalSpan(x, y)
    return tonumber(x.tv_sec - y.tv_sec) * 1e6 + tonumber(x.tv_usec - y.tv_usec)
end

--- The time of day (UTC) as hh:mm:ss.uuuuuu.
function getTimeMicros()
    local seconds, micros = gettimeofday()
    local day = seconds % 86400
    return ("%02d:%02d:%02d.%06d"):format(floor(day / 3600), floor(day / 60) % 60, day % 60, micros)
end

function waitForFunc(micros, f, ...)
    local libmoon = require "libmoon"
    local left = micros or 0
    repeat
        local value = f(...)
        if value then
            return value
        end
        libmoon.sleepMicrosIdle(math.min(10, left))
        left = left - 10
    until left < 0 or not libmoon.running()
end

-- Addresses.

ffi.cdef[[
union mac_address { uint8_t uint8[6]; };
union ip4_address { uint8_t uint8[4]; uint32_t uint32; };
union ip6_address { uint8_t uint8[16]; uint32_t uint32[4]; uint64_t uint64[2]; };
]]

--- A MAC address from its text: a structure, or a number; nil if it is none.
function parseMacAddress(text, number)
    local bytes = {tostring(text):match("^%s*(%x%x?)[-:](%x%x?)[-:](%x%x?)[-:](%x%x?)[-:](%x%x?)[-:](%x%x?)%s*$")}
    if #bytes ~= 6 then
        return nil
    end
    local address, value = ffi.new("union mac_address"), 0
    for i = 6, 1, -1 do
        local byte = tonumber(bytes[i], 16)
        address.uint8[i - 1] = byte
        value = value * 256 + byte
    end
    return number and value or address
end

--- An IPv4 address as a number, or nil.
function parseIP4Address(text)
    local bytes = {tostring(text):match("^%s*(%d+)%.(%d+)%.(%d+)%.(%d+)%s*$")}
    if #bytes ~= 4 then
        return nil
    end
    local value = 0
    for _, byte in ipairs(bytes) do
        if tonumber(byte) > 255 then
            return nil
        end
        value = value * 256 + tonumber(byte)
    end
    return value
end

--- An IPv6 address with its last 32 bits first, each in the machine's byte order, or nil.
function parseIP6Address(text)
    local wire, address = ffi.new("union ip6_address"), ffi.new("union ip6_address")
    if ffi.C.inet_pton(10, tostring(text), wire) ~= 1 then
        return nil
    end
    for i = 0, 3 do
        address.uint32[i] = bswap(wire.uint32[3 - i])
    end
    return address
end

--- An address of either kind, and whether it is IPv4.
function parseIPAddress(text)
    local address = parseIP4Address(text)
    if address then
        return address, true
    end
    return parseIP6Address(text), false
end

function ip4ToString(ip)
    return ("%d.%d.%d.%d"):format(band(rshift(ip, 24), 0xff), band(rshift(ip, 16), 0xff), band(rshift(ip, 8), 0xff), band(ip, 0xff))
end

--- The internet checksum (RFC 1071) over memory, as a number to be stored as it is.
function checksum(data, len)
    local words, sum = ffi.cast("uint16_t *", data), 0
    for i = 0, floor(len / 2) - 1 do
        sum = sum + words[i]
    end
    if len % 2 == 1 then
        sum = sum + ffi.cast("uint8_t *", data)[len - 1]
    end
    while sum > 0xffff do
        sum = band(sum, 0xffff) + floor(sum / 65536)
    end
    return bxor(sum, 0xffff)
end

-- Hex.

--- Writes memory in rows of 16 bytes. 'starts' are offsets where another header begins.
function dumpHex(data, bytes, stream, starts, wireshark)
    data, stream = ffi.cast("uint8_t *", data), stream or io.stdout
    local colour, out = 1, {}
    local function add(text) out[#out + 1] = text end
    for i = 0, bytes - 1 do
        if starts and starts[colour] == i then
            colour = colour + 1
            add(getColorCode(colour))
        end
        if i % 16 == 0 then
            add(starts and getColorCode("white") or "")
            add((wireshark and "  %06x   " or "  0x%04x:   "):format(i))
            add(starts and getColorCode(colour) or "")
        end
        add(("%02x"):format(data[i]))
        if wireshark or i % 2 == 1 then
            add(" ")
        end
        if i % 16 == 15 then
            add("\n")
        end
    end
    add(starts and getColorCode() or "")
    add("\n\n")
    stream:write(table.concat(out))
end

function fileExists(path)
    local file = io.open(path, "r")
    if file then
        file:close()
    end
    return file ~= nil
end

function getOS()
    return jit.os
end

voidPtrType = ffi.typeof("void *")
return true
