-- A transmit queue whose packets leave at set times: constant gaps, a Poisson process, or each packet's own delay.
local base = require "eagre.base"
local api = base.api
require "device"
local log = require "log"

local mod, limiter = {}, {}
limiter.__index = limiter
mod.rateLimiter = limiter

local modes = {cbr = 1, poisson = 2, custom = 3}

--- 'delay' is the (mean) time between packets in ns; with "custom" packets have theirs by setDelay(), in bytes of link time.
function mod:new(queue, mode, delay)
    mode = mode or "custom"
    if not modes[mode] then
        log:fatal("Unsupported mode %s", tostring(mode))
    end
    return setmetatable({queue = queue, mode = mode, delay = delay}, limiter)
end

function limiter:sendN(bufs, n)
    local queue = self.queue
    local value = self.mode == "custom" and 8000 / queue.dev.facts.speed or self.delay
    api.send(queue.id, queue.qid, bufs.array, n, modes[self.mode], value)
end

function limiter:send(bufs)
    self:sendN(bufs, bufs.size)
end

function limiter:stop() end

function limiter:__serialize()
    local serialize = require "eagre.serialize"
    return ("local queue = (function() %s end)() return require('software-ratecontrol'):new(queue, %q, %s)"):format(
        self.queue:__serialize(), self.mode, self.delay and ("%.17g"):format(self.delay) or "nil")
end

return mod
