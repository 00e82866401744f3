-- Histograms of any numbers, most often latencies in ns.
local log = require "log"

local histogram = {}
histogram.__index = histogram

function histogram.create()
    return setmetatable({histo = {}, dirty = true}, histogram)
end

histogram.new = histogram.create
setmetatable(histogram, {__call = histogram.create})

--- Counts a value; nil is none.
function histogram:update(value)
    if value then
        self.histo[value] = (self.histo[value] or 0) + 1
        self.dirty = true
    end
end

-- The value of the sample with this rank, from 0.
local function ranked(self, rank)
    local before = 0
    for _, cell in ipairs(self.sortedHisto) do
        before = before + cell.v
        if before > rank then
            return cell.k
        end
    end
end

function histogram:calc()
    self.sortedHisto, self.sum, self.numSamples = {}, 0, 0
    for value, n in pairs(self.histo) do
        table.insert(self.sortedHisto, {k = value, v = n})
        self.numSamples, self.sum = self.numSamples + n, self.sum + value * n
    end
    table.sort(self.sortedHisto, function(a, b) return a.k < b.k end)
    self.avg = self.sum / self.numSamples
    local squares = 0
    for value, n in pairs(self.histo) do
        squares = squares + n * (value - self.avg) ^ 2
    end
    self.stdDev = math.sqrt(squares / (self.numSamples - 1))
    local cells = self.sortedHisto
    self.minimum, self.maximum = cells[1] and cells[1].k, cells[#cells] and cells[#cells].k
    self.quarts = {}
    for i = 1, 3 do
        self.quarts[i] = ranked(self, math.ceil(self.numSamples * i / 4)) or 0 / 0
    end
    self.dirty = false
end

local function fresh(self)
    if self.dirty then
        self:calc()
    end
    return self
end

function histogram:percentile(p)
    if p < 0 or p > 100 then
        error("a percentile is between 0 and 100", 2)
    end
    fresh(self)
    return ranked(self, math.min(math.ceil(self.numSamples * p / 100), self.numSamples - 1))
end

function histogram:totals()
    fresh(self)
    return self.numSamples, self.sum, self.avg
end

function histogram:average() return fresh(self).avg end
function histogram:min() return fresh(self).minimum end
function histogram:max() return fresh(self).maximum end
function histogram:standardDeviation() return fresh(self).stdDev end
function histogram:quartiles() return unpack(fresh(self).quarts) end
function histogram:median() return fresh(self).quarts[2] end

function histogram:samples()
    local cells, i = fresh(self).sortedHisto, 0
    return function()
        i = i + 1
        return cells[i]
    end
end

function histogram:print(prefix)
    fresh(self)
    printf("%sSamples: %d, Average: %.1f ns, StdDev: %.1f ns, Quartiles: %.1f/%.1f/%.1f ns",
        prefix and "[" .. prefix .. "] " or "", self.numSamples, self.avg, self.stdDev, unpack(self.quarts))
end

--- Writes a line "value,samples" for each value.
function histogram:save(file)
    fresh(self)
    local out = file
    if type(file) == "string" then
        log:info("Saving histogram to '%s'", file)
        out = assert(io.open(file, "w"))
    end
    for _, cell in ipairs(self.sortedHisto) do
        out:write(cell.k, ",", cell.v, "\n")
    end
    if out ~= file then
        out:close()
    end
end

function histogram:__serialize()
    local cells = {}
    for value, n in pairs(self.histo) do
        cells[#cells + 1] = ("[%.17g]=%d"):format(value, n)
    end
    return "local h = require('histogram').new() h.histo = {" .. table.concat(cells, ",") .. "} return h"
end

return histogram
