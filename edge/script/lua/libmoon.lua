-- Tasks, time, and the end of the script.
local base = require "eagre.base"
local serialize = require "eagre.serialize"
local native, api = base.native, base.api

local mod = {config = {appName = "eagre script", userscript = native.script, cores = {0, 1}, numSharedCores = 64}}

local task = {}
task.__index = task

--- Waits until the task ends and returns what it returned; nothing if it failed.
function task:wait()
    while true do
        local state, result = native.task_state(self.id)
        if state == "done" then
            return serialize.unpack(result)
        elseif state == "failed" then
            return
        end
        api.sleep(1e6)
    end
end

function task:isRunning()
    return (native.task_state(self.id)) == "running"
end

function task:__serialize()
    return ("return require('libmoon').taskById(%d)"):format(self.id)
end

function mod.taskById(id)
    return setmetatable({id = id}, task)
end

--- Starts a global function of the script as a task of its own: a thread with its own Lua state.
function mod.startTask(name, ...)
    if type(name) ~= "string" then
        error("startTask needs the name of a global function", 2)
    end
    return mod.taskById(native.start_task(name, serialize.pack(...)))
end

mod.startSharedTask = mod.startTask

function mod.startTaskOnCore(core, name, ...)
    return mod.startTask(name, ...)
end

function mod.waitForTasks()
    native.wait_for_tasks()
end

--- Whether the script is to go on; for 'extra' milliseconds after its end it still is.
function mod.running(extra)
    return api.running((extra or 0) * 1e6) == 1
end

function mod.stop()
    api.stop(0)
end

function mod.setRuntime(seconds)
    api.stop(seconds * 1e9)
end

function mod.getTime()
    return tonumber(api.now()) / 1e9
end

-- Cycles are those of Eagre's clock, which counts nanoseconds.
function mod.getCycles()
    return api.now()
end

function mod.getCyclesFrequency()
    return 1e9
end

function mod.sleepMillis(ms)
    api.sleep(ms * 1e6)
end

function mod.sleepMicros(us)
    api.sleep(us * 1e3)
end

mod.sleepMillisIdle, mod.sleepMicrosIdle = mod.sleepMillis, mod.sleepMicros

function mod.getCore()
    return native.task_id or 0, 0
end

function mod.getCores()
    return mod.config.cores
end

function mod.disableBadSocketWarning() end

return mod
