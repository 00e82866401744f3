-- Packet filters in libpcap's syntax.
local base = require "eagre.base"
local api, native = base.api, base.native

local mod = {}

--- A function of (bytes, length) that says whether a packet matches.
function mod.compile_filter(expression)
    local filter = native.filter_compile(expression)
    return function(bytes, len)
        return api.filter_matches(filter, bytes, len) == 1
    end
end

return mod
