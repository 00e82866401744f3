-- What Eagre adds to MoonGen's modules: a result, and conditions on it. A script has it as the global 'eagre'.
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

return mod
