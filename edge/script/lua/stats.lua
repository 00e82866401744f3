-- Counters that print a line each second, as MoonGen's do.
local base = require "eagre.base"
local libmoon = require "libmoon"
local log = require "log"
require "device"

local mod = {}

-- Statistics of lists.

function mod.sum(list)
    local sum = 0
    for _, value in ipairs(list) do sum = sum + value end
    return sum
end

function mod.average(list)
    return mod.sum(list) / #list
end

function mod.percentile(list, p)
    local sorted = {}
    for i, value in ipairs(list) do sorted[i] = value end
    table.sort(sorted)
    return sorted[math.ceil(#sorted * p / 100)]
end

function mod.median(list)
    return mod.percentile(list, 50)
end

function mod.stdDev(list)
    local mean, sum = mod.average(list), 0
    for _, value in ipairs(list) do sum = sum + (value - mean) ^ 2 end
    return math.sqrt(sum / (#list - 1))
end

--- Adds avg, stdDev, median and sum to a list; without its first and last value if asked.
function mod.addStats(list, inner)
    local used = {}
    for i = inner and 2 or 1, #list - (inner and 1 or 0) do used[#used + 1] = list[i] end
    list.avg, list.stdDev, list.median, list.sum = mod.average(used), mod.stdDev(used), mod.median(used), mod.sum(used)
end

-- Formats. Numbers that are not there (a run of less than three seconds has no average) print as nan.

local plain, csv, silent = {}, {}, {}
local colours = {RX = "cyan", TX = "blue"}

local function label(counter)
    return ("%s[%s] %s%s"):format(getColorCode(colours[counter.direction]), counter.name, counter.direction, getColorCode())
end

function plain.update(counter, mpps, mbit, wire)
    return ("%s: %.2f Mpps, %.0f Mbit/s (%.0f Mbit/s with framing)\n"):format(label(counter), mpps, mbit, wire)
end

function plain.final(counter)
    return ("%s: %.2f (StdDev %.2f) Mpps, %.0f (StdDev %.0f) Mbit/s (%.0f Mbit/s with framing), total %d packets with %d bytes (incl. CRC)\n"):format(
        label(counter), counter.mpps.avg, counter.mpps.stdDev, counter.mbit.avg, counter.mbit.stdDev, counter.wireMbit.avg,
        counter.total, counter.totalBytes)
end

local headed = {}

function csv.init(counter)
    if not headed[counter.file] then
        headed[counter.file] = true
        return "Time,Device,Direction,PacketRate,Mbit,MbitWithFraming,TotalPackets,TotalBytes\n"
    end
end

local function csvLine(counter, mpps, mbit, wire)
    return ("%d,%s,%s,%s,%s,%s,%s,%s\n"):format(
        time(), counter.name, counter.direction, mpps, mbit, wire, counter.total, counter.totalBytes)
end

csv.update = csvLine

function csv.final(counter)
    return csvLine(counter, counter.mpps.avg, counter.mbit.avg, counter.wireMbit.avg)
end

local formats = {plain = plain, csv = csv, CSV = csv, ["nil"] = silent}

-- Counters.

local counter = {}
counter.__index = counter
local files = {}

local function opened(file)
    if type(file) ~= "string" then
        return file or io.stdout
    end
    files[file] = files[file] or assert(io.open(file, "w"))
    return files[file]
end

local function write(self, event, ...)
    local line = formats[self.format][event] and formats[self.format][event](self, ...)
    if line then
        self.file:write(line)
        self.file:flush()
    end
end

local function measure(self, now, quiet)
    local packets, bytes = self:getThroughput()
    if not self.lastUpdate then
        self.total, self.totalBytes, self.lastUpdate = packets, bytes, now
        write(self, "init")
        return false
    end
    local elapsed = now - self.lastUpdate
    local mpps = (packets - self.total) / elapsed / 1e6
    local mbit = (bytes - self.totalBytes) * 8 / elapsed / 1e6
    local wire = mbit + mpps * 160
    self.total, self.totalBytes, self.lastUpdate = packets, bytes, now
    table.insert(self.mpps, mpps)
    table.insert(self.mbit, mbit)
    table.insert(self.wireMbit, wire)
    if not quiet then
        write(self, "update", mpps, mbit, wire)
    end
    return true
end

--- Prints a line if a second has passed since the last one.
function counter:check()
    local now = libmoon.getTime()
    if self.lastUpdate and now <= self.lastUpdate + 1 then
        return false
    end
    return measure(self, now)
end

function counter:count(packets, bytes)
    self.current, self.currentBytes = self.current + packets, self.currentBytes + bytes
end

function counter:countPacket(buf)
    self.current, self.currentBytes = self.current + 1, self.currentBytes + buf.pkt_len + 4
end

function counter:update(packets, bytes)
    if packets then
        self:count(packets, bytes or 0)
    end
    return self:check()
end

function counter:updateWithSize(packets, size)
    self:count(packets, packets * (size + 4))
    return self:check()
end

function counter:getThroughput()
    if self.dev then
        if self.direction == "RX" then
            return self.dev:getRxStats()
        end
        return self.dev:getTxStats()
    end
    return self.current, self.currentBytes
end

local function summarize(self)
    mod.addStats(self.mpps, true)
    mod.addStats(self.mbit, true)
    mod.addStats(self.wireMbit, true)
end

--- Averages without the first and the last second: Mpps, Mbit/s, Mbit/s with framing; packets and bytes in all.
function counter:getStats(now)
    if now then
        measure(self, libmoon.getTime(), true)
    end
    summarize(self)
    return self.mpps, self.mbit, self.wireMbit, self.total, self.totalBytes
end

--- Waits for packets under way and prints the totals.
function counter:finalize(ms)
    libmoon.sleepMillis(ms or self.sleep)
    measure(self, libmoon.getTime(), true)
    summarize(self)
    write(self, "final")
end

local ids = 0

local function new(direction, sleep, name, dev, format, file)
    format = format or "plain"
    if not formats[format] then
        log:fatal("Unsupported output format %s", format)
    end
    ids = ids + 1
    -- Names of objects come in brackets, as lines add them again.
    name = tostring(name):gsub("^%[(.*)%]$", "%1")
    return setmetatable({
        name = name, dev = dev, format = format, file = opened(file), direction = direction, dir = direction:lower(), id = ids,
        sleep = sleep, total = 0, totalBytes = 0, current = 0, currentBytes = 0, mpps = {}, mbit = {}, wireMbit = {},
    }, counter)
end

local function device(direction, sleep)
    -- [name,] device or queue [, format [, file]]
    return function(self, name, dev, format, file)
        if type(name) == "table" then
            name, dev, format, file = nil, name, dev, format
        end
        dev = type(dev) == "table" and (dev.dev or dev)
        if not dev then
            log:fatal("Bad device")
        end
        return new(direction, sleep, name or dev, dev, format, file)
    end
end

local function other(direction)
    return function(self, name, format, file)
        return new(direction, 0, name, nil, format, file)
    end
end

mod.newDevRxCounter, mod.newDevTxCounter = device("RX", 100), device("TX", 50)
mod.newPktRxCounter, mod.newPktTxCounter = other("RX"), other("TX")
mod.newManualRxCounter, mod.newManualTxCounter = other("RX"), other("TX")

function mod.numCounters()
    return ids
end

--- Starts a task that prints what devices send and receive: a list of devices, or devices, rxDevices, txDevices, format, file.
function mod.startStatsTask(args)
    return libmoon.startSharedTask("__EAGRE_STATS_TASK", args)
end

local function addAll(to, list, make, args)
    local seen = {}
    for _, item in ipairs(list) do
        local dev = item.id and item or item.dev
        local own = not item.id and item or args
        if not seen[dev.id] then
            seen[dev.id] = true
            to[#to + 1] = make(mod, dev, own.format, own.file)
        end
    end
end

function __EAGRE_STATS_TASK(args)
    local both = args.devices or {}
    local rx, tx = args.rxDevices or {}, args.txDevices or {}
    if #both == 0 and #rx == 0 and #tx == 0 then
        both = args
    end
    local counters = {}
    addAll(counters, concatArrays(rx, both), mod.newDevRxCounter, args)
    addAll(counters, concatArrays(tx, both), mod.newDevTxCounter, args)
    while libmoon.running(200) do
        for _, item in ipairs(counters) do
            item:update()
        end
        libmoon.sleepMillisIdle(10)
    end
    for _, item in ipairs(counters) do
        item:finalize(0)
    end
end

return mod
