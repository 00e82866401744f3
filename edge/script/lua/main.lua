-- Where a Lua state begins: loads the script and calls what is asked for.
local base = require "eagre.base"
require "utils"
local serialize = require "eagre.serialize"
local libmoon = require "libmoon"
local log = require "log"
local native = base.native

io.stdout:setvbuf("line")

-- Modules beside the script, but none of the machine's: those may not fit this LuaJIT.
local folder = native.script:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/?.lua"
package.cpath = ""

-- Modules of MoonGen that scripts load first thing; all are loaded here, as their globals are used without it.
require "packet"
require "memory"
require "device"
require "stats"
require "proto.arp"
eagre = require "eagre"

local mod = {}

local function failure(task)
    return function(reason)
        if native.is_exiting() then
            return tostring(reason)
        end
        local text = debug.traceback(tostring(reason), 2)
        io.stdout:flush()
        io.stderr:write(red("[FATAL] Lua error in task %s", task), "\n", text, "\n")
        return tostring(reason)
    end
end

-- Calls f; an error is printed with where it happened, and raised again.
local function guarded(task, f, ...)
    local result = {xpcall(f, failure(task), ...)}
    io.stdout:flush()
    if not result[1] then
        error(result[2], 0)
    end
    return unpack(result, 2, table.maxn(result))
end

local function name(task)
    LIBMOON_TASK_NAME, MOONGEN_TASK_NAME, LIBMOON_TASK_ID = task, task, native.task_id
end

local function script()
    return assert(loadstring(native.text, "@" .. native.script))
end

--- Runs the script, its configure() and its master().
function mod.master()
    name("master")
    -- Different on each run, as scripts expect.
    math.randomseed(tonumber(base.api.now() % 2147483647ULL))
    local words, args = native.arguments, {}
    for i, word in ipairs(words) do
        args[i] = tonumber(word) or word
    end
    guarded("master", function()
        script()()
        local parsed = {}
        if _G.configure then
            local parser = require("argparse")("eagre script " .. native.script):args(unpack(words))
            parsed = {configure(parser, unpack(args))}
            if #parsed == 0 and #parser._arguments + #parser._options > 0 then
                parsed = {parser:parse()}
            end
        end
        if not _G.master then
            error("the script has no function 'master'", 0)
        end
        master(unpack(concatArrays(parsed, args)))
    end)
end

--- Loads the script and calls one of its functions with serialized arguments; returns its results, serialized.
function mod.task(task, arguments)
    name(task)
    math.randomseed(tonumber((base.api.now() + native.task_id * 7919) % 2147483647ULL))
    return guarded(task, function()
        script()()
        if not _G[task] then
            error(("there is no global function '%s' to start as a task"):format(task), 0)
        end
        return serialize.pack(_G[task](serialize.unpack(arguments)))
    end)
end

--- Ends the process as the script says.
function os.exit(code)
    io.stdout:flush()
    io.stderr:flush()
    if code == true or code == nil then
        code = 0
    elseif code == false then
        code = 1
    end
    native.exit(code)
end

return mod
