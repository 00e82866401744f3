-- Command lines of scripts: the part of argparse that they use.
local base = require "eagre.base"

local element, parser = {}, {}
element.__index, parser.__index = element, parser

local function property(name)
    return function(self, value)
        self[name .. "_"] = value
        return self
    end
end

for _, name in ipairs{"description", "default", "target", "argname", "convert", "args", "count", "choices", "show_default"} do
    element[name] = property(name)
end

--- Joins all values with spaces.
function element:combine()
    self.combine_ = true
    return self
end

local function new(kind, name, description, default, convert)
    local self = setmetatable({kind = kind, names = {}, description_ = description, default_ = default, convert_ = convert}, element)
    for word in name:gmatch("%S+") do
        self.names[#self.names + 1] = word
    end
    local longest = ""
    for _, word in ipairs(self.names) do
        longest = #word > #longest and word or longest
    end
    self.key = longest:gsub("^%-+", ""):gsub("%-", "_")
    self.shown = longest
    return self
end

local function create()
    return setmetatable({_arguments = {}, _options = {}, _commands = {}, words = {}, groups = {}}, parser)
end

for _, name in ipairs{"name", "description", "epilog"} do
    parser[name] = property(name)
end

--- The words to parse.
function parser:args(...)
    self.words = {...}
    return self
end

function parser:argument(...)
    local item = new("argument", ...)
    table.insert(self._arguments, item)
    return item
end

function parser:option(...)
    local item = new("option", ...)
    table.insert(self._options, item)
    return item
end

function parser:flag(...)
    local item = new("flag", ...)
    item.args_ = 0
    table.insert(self._options, item)
    return item
end

--- Of these options one may be given.
function parser:mutex(...)
    table.insert(self.groups, {...})
    return self
end

-- How many values: a number, "n-m", "+", "*" or "?".
local function bounds(item)
    local args = tostring(item.args_ or 1)
    if args == "*" then
        return 0, math.huge
    elseif args == "+" then
        return 1, math.huge
    elseif args == "?" then
        return 0, 1
    end
    local least, most = args:match("^(%d+)%-(%d+)$")
    if not least then
        least = args:match("^(%d+)%+?$") or error("args() can't be " .. args, 3)
        most = args:match("%+$") and math.huge or least
    end
    return tonumber(least), tonumber(most)
end

local function usage(self)
    local parts = {"Usage: " .. (self.name_ or "eagre script")}
    for _, item in ipairs(self._options) do
        parts[#parts + 1] = "[" .. table.concat(item.names, "|") .. (item.kind == "option" and " <" .. item.key .. ">" or "") .. "]"
    end
    for _, item in ipairs(self._arguments) do
        local least, most = bounds(item)
        local shown = "<" .. (item.argname_ or item.shown) .. ">"
        parts[#parts + 1] = (least == 0 and "[" .. shown .. "]" or shown) .. (most > 1 and " …" or "")
    end
    return table.concat(parts, " ")
end

function parser:get_usage()
    return usage(self)
end

function parser:get_help()
    local lines = {usage(self), ""}
    if self.description_ then
        lines[#lines + 1] = self.description_
        lines[#lines + 1] = ""
    end
    for _, list in ipairs{self._arguments, self._options} do
        for _, item in ipairs(list) do
            local default = item.default_ ~= nil and (" (default: %s)"):format(tostring(item.default_)) or ""
            lines[#lines + 1] = ("  %-28s %s%s"):format(table.concat(item.names, ", "), item.description_ or "", default)
        end
    end
    return table.concat(lines, "\n")
end

--- Ends the script with a message about its command line.
function parser:error(message)
    io.stderr:write(usage(self), "\n\nError: ", tostring(message), "\n")
    os.exit(2)
end

local function converted(self, item, word)
    local convert = item.convert_
    if type(convert) == "table" then
        local value = convert[word]
        return value ~= nil and value or self:error(("argument for '%s': '%s' is not one of its values"):format(item.shown, word))
    elseif convert then
        local value, reason = convert(word)
        if value == nil then
            self:error(reason or ("argument for '%s': malformed '%s'"):format(item.shown, word))
        end
        return value
    end
    return word
end

local function store(self, result, item, values)
    local list = {}
    for i, word in ipairs(values) do
        list[i] = converted(self, item, word)
    end
    local _, most = bounds(item)
    local value
    if item.kind == "flag" then
        value = true
    elseif item.combine_ then
        value = #values > 0 and table.concat(values, " ") or nil
    elseif most == 1 then
        value = list[1]
    else
        value = list
    end
    result[item.target_ or item.key] = value
end

local function split(self)
    local byName, plain, given, i = {}, {}, {}, 1
    for _, item in ipairs(self._options) do
        for _, name in ipairs(item.names) do byName[name] = item end
    end
    local words, options = self.words, true
    while i <= #words do
        local word = tostring(words[i])
        i = i + 1
        local name, value = word:match("^(%-%-[^=]+)=(.*)$")
        local item = options and (byName[word] or byName[name])
        if options and (word == "-h" or word == "--help") and not item then
            print(self:get_help())
            os.exit(0)
        elseif options and word == "--" then
            options = false
        elseif item then
            local least, most = bounds(item)
            local values = {value}
            while #values < most and i <= #words and (#values < least or not byName[tostring(words[i])]) do
                values[#values + 1] = tostring(words[i])
                i = i + 1
            end
            if #values < least then
                self:error(("option '%s' needs %d argument%s"):format(word, least, least == 1 and "" or "s"))
            end
            given[#given + 1] = {item = item, values = values}
        elseif options and word:match("^%-%-?%a") then
            self:error(("unknown option '%s'"):format(word))
        else
            plain[#plain + 1] = word
        end
    end
    return plain, given
end

--- The values by name: of arguments and options given, and defaults of the others.
function parser:parse(words)
    self.words = words or self.words
    local result, used = {}, {}
    local plain, given = split(self)
    for _, entry in ipairs(given) do
        used[entry.item] = true
        store(self, result, entry.item, entry.values)
    end
    for _, group in ipairs(self.groups) do
        local first
        for _, item in ipairs(group) do
            if used[item] and first then
                self:error(("option '%s' can not be used together with option '%s'"):format(item.shown, first.shown))
            end
            first = used[item] and item or first
        end
    end
    local at, needed = 1, 0
    for _, item in ipairs(self._arguments) do
        needed = needed + (item.default_ == nil and (bounds(item)) or 0)
    end
    for _, item in ipairs(self._arguments) do
        local least, most = bounds(item)
        needed = needed - (item.default_ == nil and least or 0)
        local values = {}
        while #values < most and at <= #plain and (#values < least or #plain - at + 1 > needed) do
            values[#values + 1] = plain[at]
            at = at + 1
        end
        if #values < least and item.default_ == nil then
            self:error(("too few arguments: <%s> is missing"):format(item.shown))
        end
        if #values > 0 or item.default_ == nil then
            store(self, result, item, values)
            used[item] = true
        end
    end
    if at <= #plain then
        self:error(("too many arguments: '%s'"):format(plain[at]))
    end
    for _, list in ipairs{self._arguments, self._options} do
        for _, item in ipairs(list) do
            local key = item.target_ or item.key
            if not used[item] and item.default_ ~= nil then
                local default = item.default_
                result[key] = type(default) == "string" and item.convert_ and converted(self, item, default) or default
            end
        end
    end
    return result
end

return setmetatable({}, {__call = function(_, ...) return create():name((...)) end})
