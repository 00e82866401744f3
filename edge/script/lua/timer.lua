-- Timers.
local base = require "eagre.base"
local libmoon = require "libmoon"
local api = base.api

local mod, timer = {}, {}
timer.__index = timer

--- A timer that runs for so many seconds from now.
function mod:new(seconds)
    seconds = seconds or 0
    return setmetatable({time = seconds, stop = libmoon.getTime() + seconds}, timer)
end

function timer:running()
    return self.stop > libmoon.getTime()
end

function timer:expired()
    return self.stop <= libmoon.getTime()
end

function timer:timeLeft()
    return self.stop - libmoon.getTime()
end

function timer:reset(seconds)
    self.stop = libmoon.getTime() + (seconds or self.time)
end

--- Waits until it has expired or the script is to end: asleep, but for the last moment.
function timer:wait()
    api.wait_until(self.stop * 1e9)
    return libmoon.running()
end

timer.busyWait = timer.wait

function timer:__serialize()
    return ("return require('eagre.serialize').timer(%.17g, %.17g)"):format(self.time, self.stop)
end

require("eagre.serialize").timer = function(seconds, stop)
    return setmetatable({time = seconds, stop = stop}, timer)
end

return mod
