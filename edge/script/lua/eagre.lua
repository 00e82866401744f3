-- What Eagre adds to MoonGen's modules: measured streams and sessions, a result, and conditions on it. A script has it as the
-- global 'eagre'.
local native = require("eagre.base").native

local mod = {}

local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}

local function text(value)
    return '"' .. value:gsub('[%c"\\]', function(c)
        return escapes[c] or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

local encode

local function object(value, depth)
    local n, parts = #value, {}
    if n > 0 then
        for i = 1, n do
            parts[i] = encode(value[i], depth)
        end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    local keys = {}
    for key in pairs(value) do
        keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for i, key in ipairs(keys) do
        parts[i] = text(tostring(key)) .. ":" .. encode(value[key], depth)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

function encode(value, depth)
    local kind = type(value)
    if kind == "table" then
        if depth > 50 then
            error("a result can't be nested more than 50 deep", 0)
        end
        return object(value, depth + 1)
    elseif kind == "string" then
        return text(value)
    elseif kind == "boolean" then
        return tostring(value)
    end
    local number = tonumber(value)
    -- JSON has no other numbers.
    if not number or number ~= number or number == math.huge or number == -math.huge then
        return "null"
    end
    return ("%.17g"):format(number)
end

--- Sets the result of the script, which its result document holds: a table of numbers, texts, truths and tables.
function mod.result(value)
    native.set_result(encode(value, 0))
end

--- Checks a condition. If it does not hold, the script goes on, says so, and fails at its end. Returns the condition.
function mod.expect(condition, message, ...)
    if not condition then
        local line = tostring(message or "an expectation"):format(...)
        native.expectation_failed(line)
        print(bred("[FAIL]  %s", line))
    end
    return condition
end

-- A stream, or an entry of sessions. All tasks share it: it is its name.
local handle = {}
handle.__index = handle

-- Raises an error of the script's line that called the library.
local function fail(reason)
    local level = 2
    while (debug.getinfo(level, "S") or {source = ""}).source:sub(1, 7) == "@eagre/" do
        level = level + 1
    end
    error(reason, level)
end

-- What a native function returns: a value, or none and a reason.
local function checked(value, reason)
    if reason then
        fail(reason)
    end
    return value
end

local function known(kind, name)
    return setmetatable({kind = kind, name = name}, handle)
end

local function declare(kind, settings)
    if type(settings) ~= "table" then
        fail(("usage: eagre.%s{name = 'x', …}, as in a profile"):format(kind))
    end
    return known(kind, checked(native.traffic_declare(kind, settings)))
end

function handle:__serialize()
    return ("return require('eagre').known(%q, %q)"):format(self.kind, self.name)
end

function handle:__tostring()
    return ("[%s: %s]"):format(self.kind, self.name)
end

--- Sets the rate, "10kpps" or a number per second: of the run, or without one of the runs to come. A paused one goes on. Returns
--- false if the run ended meanwhile.
function handle:rate(rate)
    return checked(native.traffic_rate(self.kind, self.name, rate))
end

--- Sends nothing until resume(). Returns false if no run goes on.
function handle:pause()
    return checked(native.traffic_pause(self.kind, self.name, true))
end

--- Goes on at the last rate. Returns false if no run goes on.
function handle:resume()
    return checked(native.traffic_pause(self.kind, self.name, false))
end

--- What was counted since the run began, as in its result.
function handle:stats()
    return checked(native.traffic_stats(self.kind, self.name))
end

--- Waits until the run has ended; what was counted.
function handle:wait()
    checked(native.traffic_wait())
    return checked(native.traffic_stats(self.kind, self.name))
end

mod.known = known

--- Declares a stream, with the words of a profile's.
function mod.stream(settings)
    return declare("stream", settings)
end

--- Declares an entry of sessions, with the words of a profile's.
function mod.session(settings)
    return declare("session", settings)
end

--- Sets what a profile says of a port: addresses, gateway, VLAN, …
function mod.port(number, settings)
    if type(number) ~= "number" or number < 0 or number % 1 ~= 0 or type(settings) ~= "table" then
        fail("usage: eagre.port(0, {ip = '192.0.2.1/24', …}), as in a profile")
    end
    checked(native.traffic_port(number, settings))
end

local function start(options)
    if type(options) == "string" then
        options = {duration = options}
    elseif options ~= nil and type(options) ~= "table" then
        fail("usage: eagre.start('10s') or eagre.start{duration = '10s', …}, as a profile's 'load'")
    end
    checked(native.traffic_start(options or {}))
end

--- Runs all that is declared, beside the script; returns once traffic flows.
function mod.start(options)
    start(options)
end

--- Whether a run goes on.
function mod.running()
    return native.traffic_running()
end

--- Waits until the run has ended; its result document.
function mod.wait()
    return checked(native.traffic_wait())
end

--- Ends the run and waits for late packets; its result document.
function mod.stop()
    native.traffic_stop()
    return checked(native.traffic_wait())
end

--- Runs all that is declared to its end; its result document.
function mod.run(options)
    start(options)
    return checked(native.traffic_wait())
end

return mod
