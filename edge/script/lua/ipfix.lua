-- IPFIX (RFC 7011): sets of a message, as bytes. The message's header is that of getIpfixPacket().
local ffi = require "ffi"
local headers = require "eagre.headers"
require "packet"

local ipfix = {
    VERSION_NFV5 = 5, VERSION_NFV9 = 9, VERSION_IPFIX = 10,
    ID_TEMPLATE_SET = 2, ID_OPTION_TEMPLATE_SET = 3, ID_MIN_DATA_SET = 255, ENTERPRISE_BIT = 0,
}
-- Bytes of a set's header, and what the length of a set is a multiple of.
local HEADER, ALIGNED = 4, 4

local function put(bytes, at, value, length)
    for i = length - 1, 0, -1 do
        bytes[at + i] = value % 256
        value = math.floor(value / 256)
    end
    return at + length
end

-- A set of `length` bytes behind its header, which `fill` writes from an offset on.
local function newSet(id, length, fill)
    local set = {length = HEADER + length}
    set.bytes = ffi.new("uint8_t[?]", set.length)
    fill(set.bytes, put(set.bytes, put(set.bytes, 0, id, 2), set.length, 2))
    return set
end

local function elements(bytes, at, template)
    for _, element in ipairs(template) do
        at = put(bytes, put(bytes, at, element.id, 2), element.length, 2)
    end
end

--- A set with one template (RFC 7011 section 3.4.1). `template` is a list of {id =, length =, value = function}.
function ipfix:createTmplSet(id, template)
    return newSet(self.ID_TEMPLATE_SET, 4 + 4 * #template, function(bytes, at)
        elements(bytes, put(bytes, put(bytes, at, id, 2), #template, 2), template)
    end)
end

--- A set with one template of options, whose first element is the scope (RFC 7011 section 3.4.2.2), padded.
function ipfix:createOptsTmplSet(id, template)
    local length = 6 + 4 * #template
    return newSet(self.ID_OPTION_TEMPLATE_SET, math.ceil(length / ALIGNED) * ALIGNED, function(bytes, at)
        at = put(bytes, put(bytes, at, id, 2), #template, 2)
        elements(bytes, put(bytes, at, 1, 2), template)
    end)
end

--- Bytes of a record of a template.
function ipfix:getRecordLength(template)
    local length = 0
    for _, element in ipairs(template) do
        length = length + element.length
    end
    return length
end

--- A set of records (RFC 7011 section 3.4.3); the functions of the template give their values.
function ipfix:createDataSet(id, template, recordLength, numOfRecords)
    return newSet(id, recordLength * numOfRecords, function(bytes, at)
        for _ = 1, numOfRecords do
            for _, element in ipairs(template) do
                at = put(bytes, at, element.value(), element.length)
            end
        end
    end)
end

--- Writes a set to `dest` from `pos` on; returns where it ends.
function ipfix:copyTo(dest, pos, set)
    ffi.copy(dest + pos, set.bytes, set.length)
    return pos + set.length
end

--- Bytes of a message's header.
function ipfix:getHeadersLength()
    return headers.ipfix.size
end

return ipfix
