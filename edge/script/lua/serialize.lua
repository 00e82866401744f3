-- Values as Lua source, to pass them between tasks. Objects say with a metamethod __serialize how they are made again.
local base = require "eagre.base"
local ffi = base.ffi

local mod = {}

local function number(value)
    if value ~= value then
        return "(0/0)"
    elseif value == math.huge then
        return "math.huge"
    elseif value == -math.huge then
        return "-math.huge"
    end
    return ("%.17g"):format(value)
end

local write

local function object(value, out, seen)
    local mt = getmetatable(value)
    local how = type(mt) == "table" and rawget(mt, "__serialize")
    if not how then
        return false
    end
    local source = how(value)
    out[#out + 1] = "(function() " .. source .. " end)()"
    return true
end

local function tableSource(value, out, seen)
    if seen[value] then
        error("a table that contains itself can't be passed to another task", 0)
    end
    seen[value] = true
    out[#out + 1] = "{"
    for key, inner in next, value do
        local kind = type(inner)
        if kind ~= "function" and kind ~= "thread" and kind ~= "userdata" then
            out[#out + 1] = "["
            write(key, out, seen)
            out[#out + 1] = "]="
            write(inner, out, seen)
            out[#out + 1] = ","
        end
    end
    out[#out + 1] = "}"
    seen[value] = nil
end

local function cdata(value, out)
    local name = tostring(ffi.typeof(value)):match("^ctype<(.*)>$")
    if name:find("[*&]") then
        local pointer = name:gsub("&", "*")
        local address = tonumber(ffi.cast("uintptr_t", ffi.cast("void *", value)))
        out[#out + 1] = ("require('eagre.base').ffi.cast(%q, %.17g)"):format(pointer, address)
    elseif tonumber(value) then
        out[#out + 1] = ("require('eagre.base').ffi.new(%q, %s)"):format(name, tostring(value))
    else
        local bytes = ffi.string(ffi.cast("const char *", value), ffi.sizeof(value))
        out[#out + 1] = ("require('eagre.serialize').copy(%q, %q)"):format(name, bytes)
    end
end

function write(value, out, seen)
    local kind = type(value)
    if kind == "nil" or kind == "boolean" then
        out[#out + 1] = tostring(value)
    elseif kind == "number" then
        out[#out + 1] = number(value)
    elseif kind == "string" then
        out[#out + 1] = ("%q"):format(value):gsub("\n", "n"):gsub("\r", "\\r"):gsub("%z", "\\0")
    elseif kind == "table" then
        if not object(value, out, seen) then
            tableSource(value, out, seen)
        end
    elseif kind == "cdata" then
        cdata(value, out)
    else
        error("a " .. kind .. " can't be passed to another task", 0)
    end
end

--- Structures of C by value.
function mod.copy(name, bytes)
    local value = ffi.new(name)
    ffi.copy(value, bytes, ffi.sizeof(value))
    return value
end

--- All arguments as one string.
function mod.pack(...)
    local n, out = select("#", ...), {"return " .. select("#", ...)}
    for i = 1, n do
        out[#out + 1] = ","
        write((select(i, ...)), out, {})
    end
    return table.concat(out)
end

local function returned(n, ...)
    return ...
end

--- What pack() was given.
function mod.unpack(source)
    return returned(assert(loadstring(source, "=serialized"))())
end

-- As Serpent, which scripts load to serialize by themselves.
function mod.dump(value)
    local out = {"return "}
    write(value, out, {})
    return table.concat(out)
end

function mod.load(source)
    return pcall(assert(loadstring(source)))
end

mod.dumpRaw = function(value)
    local out = {}
    tableSource(value, out, {})
    return table.concat(out)
end

mod.addMt = function(source, mt)
    return ("setmetatable(%s, %s)"):format(source, mt)
end

return mod
