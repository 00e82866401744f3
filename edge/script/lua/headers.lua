-- Protocol headers. Each is a list of fields, from which structure, accessors, fill{} and text are made.
local base = require "eagre.base"
local ffi = base.ffi
local bit = require "bit"
require "utils"

ffi.cdef "union payload_t { uint8_t uint8[0]; uint16_t uint16[0]; uint32_t uint32[0]; uint64_t uint64[0]; };"

local headers = {}

-- Addresses.

local mac, ip4, ip6 = {}, {}, {}
mac.__index, ip4.__index, ip6.__index = mac, ip4, ip6

--- As a number: the first byte is the lowest.
function mac:get()
    local b = self.uint8
    return b[0] + b[1] * 2 ^ 8 + b[2] * 2 ^ 16 + b[3] * 2 ^ 24 + b[4] * 2 ^ 32 + b[5] * 2 ^ 40
end

function mac:set(value)
    if type(value) == "cdata" and ffi.istype("union mac_address", value) then
        ffi.copy(self, value, 6)
        return
    end
    value = tonumber(value or 0)
    for i = 0, 5 do
        self.uint8[i] = value % 256
        value = math.floor(value / 256)
    end
end

--- From its text; text that is no address leaves zeros.
function mac:setString(text)
    self:set(parseMacAddress(text) or 0)
end

function mac:getString()
    local b = self.uint8
    return ("%02x:%02x:%02x:%02x:%02x:%02x"):format(b[0], b[1], b[2], b[3], b[4], b[5])
end

function mac.__eq(a, b)
    return ffi.istype("union mac_address", a) and ffi.istype("union mac_address", b) and a:get() == b:get()
end

mac.__tostring = mac.getString

function ip4:get()
    return bswap(self.uint32) % 4294967296
end

function ip4:set(value)
    self.uint32 = bswap(value)
end

function ip4:add(value)
    self.uint32 = bswap(bswap(self.uint32) + value)
end

function ip4:setString(text)
    self:set(parseIP4Address(text) or error("'" .. tostring(text) .. "' is not an IPv4 address", 2))
end

function ip4:getString()
    local b = self.uint8
    return ("%d.%d.%d.%d"):format(b[0], b[1], b[2], b[3])
end

function ip4.__eq(a, b)
    return ffi.istype("union ip4_address", a) and ffi.istype("union ip4_address", b) and a.uint32 == b.uint32
end

function ip4.__add(a, n)
    return a:get() + n
end

ip4.__tostring = ip4.getString

--- With the last 32 bits first, each in the machine's byte order, as parseIP6Address() makes them.
function ip6:get()
    local value = ffi.new("union ip6_address")
    for i = 0, 3 do
        value.uint32[i] = bswap(self.uint32[3 - i])
    end
    return value
end

function ip6:set(value)
    local a, b, c, d = value.uint32[0], value.uint32[1], value.uint32[2], value.uint32[3]
    self.uint32[3], self.uint32[2], self.uint32[1], self.uint32[0] = bswap(a), bswap(b), bswap(c), bswap(d)
end

--- Adds a number to an address in network order.
function ip6:add(n)
    local low = bswap(self.uint64[1])
    local sum = low + n
    if n >= 0 and sum < low then
        self.uint64[0] = bswap(bswap(self.uint64[0]) + 1ULL)
    elseif n < 0 and sum > low then
        self.uint64[0] = bswap(bswap(self.uint64[0]) - 1ULL)
    end
    self.uint64[1] = bswap(sum)
end

function ip6.__add(a, n)
    local value = ffi.new("union ip6_address", a)
    value.uint64[0] = a.uint64[0] + n
    if value.uint64[0] < a.uint64[0] then
        value.uint64[1] = value.uint64[1] + 1ULL
    end
    return value
end

function ip6:setString(text)
    self:set(parseIP6Address(text) or error("'" .. tostring(text) .. "' is not an IPv6 address", 2))
end

function ip6:getString(doByteSwap)
    local wire, text = doByteSwap and self:get() or self, ffi.new("char[46]")
    ffi.C.inet_ntop(10, wire, text, 46)
    return ffi.string(text)
end

function ip6.__eq(a, b)
    return ffi.istype("union ip6_address", a) and ffi.istype("union ip6_address", b)
        and a.uint64[0] == b.uint64[0] and a.uint64[1] == b.uint64[1]
end

ip6.__tostring = ip6.getString

ffi.metatype("union mac_address", mac)
ffi.metatype("union ip4_address", ip4)
ffi.metatype("union ip6_address", ip6)

-- What fill{} takes for an address: text, a number, a structure, a device or a queue.
local function assign(address, value)
    if type(value) == "string" then
        address:setString(value)
    elseif type(value) == "table" then
        address:setString((value.dev or value):getMacString())
    else
        address:set(value)
    end
end

-- Fields. {API name, member, kind, default, key = of fill, shift =, width =, text = format or function, names = values' names}

local types = {
    u8 = "uint8_t", u16 = "uint16_t", u32 = "uint32_t", mac = "union mac_address", ip4 = "union ip4_address",
    ip6 = "union ip6_address",
}
local swap = {u8 = "%s", u16 = "bswap16(%s)", u32 = "bswap(%s) %% 4294967296"}
local bits = {u8 = 8, u16 = 16, u32 = 32}

local function accessors(field)
    local name, member, kind = field[1], "self." .. field[2], field[3]
    if kind == "u24" then
        return ([[
            function m:set%s(v) v = v or default; %s[0], %s[1], %s[2] = rshift(v, 16), band(rshift(v, 8), 255), band(v, 255) end
            function m:get%s() return %s[0] * 65536 + %s[1] * 256 + %s[2] end]]):format(
            name, member, member, member, name, member, member, member)
    elseif not bits[kind] then
        return ([[
            function m:set%s(v) assign(%s, v or default) end
            function m:get%s() return %s:get() end
            function m:set%sString(v) %s:setString(v) end
            function m:get%sString() return %s:getString() end]]):format(
            name, member, name, member, name, member, name, member)
    end
    local read = swap[kind]:format(member)
    local write = kind == "u32" and "bswap(%s)" or swap[kind]
    if not field.width then
        return ([[
            function m:set%s(v) %s = %s end
            function m:get%s() return %s end]]):format(name, member, write:format("(v or default)"), name, read)
    end
    local mask = 2 ^ field.width - 1
    local kept = bit.bnot(bit.lshift(mask, field.shift))
    local fresh = ("bor(band(%s, %d), lshift(band(v or default, %d), %d))"):format(read, kept, mask, field.shift)
    return ([[
        function m:set%s(v) %s = %s end
        function m:get%s() return band(rshift(%s, %d), %d) end]]):format(
        name, member, write:format(fresh), name, read, field.shift, mask)
end

local function textOf(field)
    local name, text, names = field[1], field.text or "%d", field.names
    return function(self)
        local value = self["get" .. name](self)
        local shown = type(text) == "function" and text(value) or text:format(value)
        return names and ("%s (%s)"):format(shown, names[value] or "unknown") or shown
    end
end

local function define(header)
    local members, seen, tail = {}, {}, header.tail or ""
    for _, field in ipairs(header.fields) do
        local member, kind = field[2], field[3]
        if not seen[member] then
            seen[member] = true
            members[#members + 1] = kind == "u24" and ("uint8_t %s[3];"):format(member)
                or ("%s %s;"):format(types[kind], member)
        end
    end
    ffi.cdef(("struct __attribute__((packed)) %s_header { %s %s };"):format(header.name, table.concat(members, " "), tail))

    local m = {}
    m.__index = m
    local env = {
        m = m, bswap16 = bswap16, bswap = bit.bswap, band = bit.band, bor = bit.bor, lshift = bit.lshift, rshift = bit.rshift,
        assign = assign,
    }
    for _, field in ipairs(header.fields) do
        local source = "local m, default, bswap16, bswap, band, bor, lshift, rshift, assign = ...\n" .. accessors(field)
        assert(loadstring(source, "=" .. header.name .. "." .. field[1]))(
            m, field[4] or 0, env.bswap16, env.bswap, env.band, env.bor, env.lshift, env.rshift, env.assign)
        if not m["get" .. field[1] .. "String"] then
            m["get" .. field[1] .. "String"] = textOf(field)
        end
    end

    function m:fill(args, prefix)
        args, prefix = args or {}, prefix or header.member or header.name
        for _, field in ipairs(header.fields) do
            self["set" .. field[1]](self, args[prefix .. (field.key or field[1])])
        end
        if header.filled then
            header.filled(self, args, prefix)
        end
    end

    function m:get(prefix)
        local values = {}
        for _, field in ipairs(header.fields) do
            values[(prefix or header.name) .. (field.key or field[1])] = self["get" .. field[1]](self)
        end
        return values
    end

    for name, method in pairs(header.methods or {}) do
        m[name] = method
    end
    header.complete = header.complete or function() end
    header.size = ffi.sizeof("struct " .. header.name .. "_header")
    headers[header.name] = header
    ffi.metatype("struct " .. header.name .. "_header", m)
end

-- Which number says which header follows.
local etherTypes = {ip4 = 0x0800, arp = 0x0806, vlan = 0x8100, ip6 = 0x86dd, lacp = 0x8809, ptp = 0x88f7}
local protocols = {icmp = 1, tcp = 6, udp = 17}
local protocols6 = {icmp = 58, tcp = 6, udp = 17}
local ports = {ptp = 319, ipfix = 4739, vxlan = 4789}

local function default(args, key, value)
    if args[key] == nil then
        args[key] = value
    end
end

local etherNames = {
    [0x0800] = "IP4", [0x0806] = "ARP", [0x8100] = "VLAN", [0x86dd] = "IP6", [0x8809] = "LACP", [0x88f7] = "PTP",
}
local source, destination = "01:02:03:04:05:06", "07:08:09:0a:0b:0c"

local function etherText(value)
    return ("0x%04x (%s)"):format(value, etherNames[value] or "unknown")
end

define{
    name = "eth", member = "eth",
    fields = {{"Dst", "dst", "mac", destination}, {"Src", "src", "mac", source}, {"Type", "type", "u16", 0x0800, text = etherText}},
    complete = function(args, prefix, following)
        default(args, prefix .. "Type", etherTypes[following])
    end,
    methods = {
        getString = function(self)
            return ("ETH %s > %s type %s"):format(self:getSrcString(), self:getDstString(), self:getTypeString())
        end,
    },
}

define{
    name = "eth_vlan", member = "eth",
    fields = {
        {"Dst", "dst", "mac", destination}, {"Src", "src", "mac", source}, {"VlanId", "vlan_id", "u16", 0x8100, text = "0x%04x"},
        {"VlanTag", "vlan_tag", "u16", 0, key = "Vlan", shift = 0, width = 12}, {"Type", "type", "u16", 0x0800, text = etherText},
    },
    complete = function(args, prefix, following)
        default(args, prefix .. "Type", etherTypes[following])
    end,
    methods = {
        getString = function(self)
            return ("ETH %s > %s vlan %d type %s"):format(
                self:getSrcString(), self:getDstString(), self:getVlanTag(), self:getTypeString())
        end,
    },
}

local protocolNames = {[1] = "ICMP", [6] = "TCP", [17] = "UDP", [47] = "GRE", [50] = "ESP", [51] = "AH"}

local function lengthTo(args, prefix, before)
    if args.pktLength then
        default(args, prefix .. "Length", args.pktLength - before)
    end
end

define{
    name = "ip4", lengthFrom = 0,
    fields = {
        {"Version", "verihl", "u8", 4, shift = 4, width = 4}, {"HeaderLength", "verihl", "u8", 5, shift = 0, width = 4},
        {"TOS", "tos", "u8", 0}, {"Length", "len", "u16", 48}, {"ID", "id", "u16", 0},
        {"Flags", "frag", "u16", 0, shift = 13, width = 3}, {"Fragment", "frag", "u16", 0, shift = 0, width = 13},
        {"TTL", "ttl", "u8", 64},
        {"Protocol", "protocol", "u8", 17, text = "0x%02x", names = protocolNames},
        {"Checksum", "cs", "u16", 0, text = "0x%04x"}, {"Src", "src", "ip4", "192.168.1.1"}, {"Dst", "dst", "ip4", "192.168.1.2"},
    },
    complete = function(args, prefix, following, before)
        lengthTo(args, prefix, before)
        default(args, prefix .. "Protocol", protocols[following])
    end,
    methods = {
        calculateChecksum = function(self)
            self.cs = 0
            self.cs = checksum(self, self:getHeaderLength() * 4)
        end,
        getString = function(self)
            return ("IP4 %s > %s ver %s ihl %s tos %s len %s id %s flags %s frag %s ttl %s proto %s cksum %s [-]"):format(
                self:getSrcString(), self:getDstString(), self:getVersionString(), self:getHeaderLengthString(),
                self:getTOSString(), self:getLengthString(), self:getIDString(), self:getFlagsString(),
                self:getFragmentString(), self:getTTLString(), self:getProtocolString(), self:getChecksumString())
        end,
    },
}

define{
    name = "ip6", lengthFrom = 40,
    fields = {
        {"Version", "vtf", "u32", 6, shift = 28, width = 4}, {"TrafficClass", "vtf", "u32", 0, shift = 20, width = 8},
        {"FlowLabel", "vtf", "u32", 0, shift = 0, width = 20, text = "0x%05x"}, {"Length", "len", "u16", 8},
        {"NextHeader", "nextHeader", "u8", 17, text = "0x%02x", names = {[58] = "ICMP", [6] = "TCP", [17] = "UDP"}},
        {"TTL", "ttl", "u8", 64}, {"Src", "src", "ip6", "fe80::1"}, {"Dst", "dst", "ip6", "fe80::2"},
    },
    complete = function(args, prefix, following, before)
        lengthTo(args, prefix, before + 40)
        default(args, prefix .. "NextHeader", protocols6[following])
    end,
    methods = {
        getString = function(self)
            return ("IP6 %s > %s ver %s tc %s fl %s len %s next %s ttl %s"):format(
                self:getSrcString(), self:getDstString(), self:getVersionString(), self:getTrafficClassString(),
                self:getFlowLabelString(), self:getLengthString(), self:getNextHeaderString(), self:getTTLString())
        end,
    },
}

define{
    name = "udp", lengthFrom = 0,
    fields = {
        {"SrcPort", "src", "u16", 1024, key = "Src"}, {"DstPort", "dst", "u16", 1025, key = "Dst"},
        {"Length", "len", "u16", 28}, {"Checksum", "cs", "u16", 0, text = "0x%04x"},
    },
    complete = function(args, prefix, following, before)
        lengthTo(args, prefix, before)
        default(args, prefix .. "Dst", ports[following])
    end,
    methods = {
        getString = function(self)
            return ("UDP %d > %d len %d cksum %s"):format(
                self:getSrcPort(), self:getDstPort(), self:getLength(), self:getChecksumString())
        end,
    },
}

local flags = {"Urg", "Ack", "Psh", "Rst", "Syn", "Fin"}
local flagMethods = {}
for i, name in ipairs(flags) do
    local mask = 2 ^ (6 - i)
    flagMethods["set" .. name] = function(self) self.flags = bit.bor(self.flags, mask) end
    flagMethods["unset" .. name] = function(self) self.flags = bit.band(self.flags, bit.bnot(mask)) end
    flagMethods["get" .. name] = function(self) return bit.band(self.flags, mask) ~= 0 and 1 or 0 end
    flagMethods["get" .. name .. "String"] = function(self)
        return bit.band(self.flags, mask) ~= 0 and name:upper() or "-"
    end
end

function flagMethods.getString(self)
    local shown = {}
    for i, name in ipairs(flags) do
        shown[i] = self["get" .. name .. "String"](self)
    end
    return ("TCP %d > %d seq# %d ack# %d offset %s reserved %s flags %s [%s] win %d cksum %s urg %d [-]"):format(
        self:getSrcPort(), self:getDstPort(), self:getSeqNumber(), self:getAckNumber(), self:getDataOffsetString(),
        self:getReservedString(), self:getFlagsString(), table.concat(shown, "|"), self:getWindow(),
        self:getChecksumString(), self:getUrgentPointer())
end

define{
    name = "tcp",
    fields = {
        {"SrcPort", "src", "u16", 1025, key = "Src"}, {"DstPort", "dst", "u16", 1024, key = "Dst"},
        {"SeqNumber", "seq", "u32", 0}, {"AckNumber", "ack", "u32", 0},
        {"DataOffset", "offset", "u8", 5, shift = 4, width = 4, text = "0x%01x"},
        {"Reserved", "offset", "u8", 0, shift = 0, width = 4, text = "0x%02x"}, {"Flags", "flags", "u8", 0, text = "0x%02x"},
        {"Window", "window", "u16", 29200}, {"Checksum", "cs", "u16", 0, text = "0x%04x"}, {"UrgentPointer", "urg", "u16", 0},
    },
    filled = function(self, args, prefix)
        for _, name in ipairs(flags) do
            if args[prefix .. name] and args[prefix .. name] ~= 0 then
                self["set" .. name](self)
            end
        end
    end,
    methods = flagMethods,
}

define{
    name = "icmp", tail = "union payload_t body;",
    fields = {
        {"Type", "type", "u8", 8, names = {[0] = "echo reply", [3] = "dst. unr.", [8] = "echo request", [11] = "time exceeded"}},
        {"Code", "code", "u8", 0}, {"Checksum", "cs", "u16", 0, text = "0x%04x"},
    },
    methods = {
        --- Over 'len' bytes from the header on.
        calculateChecksum = function(self, len)
            self.cs = 0
            self.cs = checksum(self, len or 4)
        end,
        getString = function(self)
            return ("ICMP type %s code %s cksum %s body <some data> "):format(
                self:getTypeString(), self:getCodeString(), self:getChecksumString())
        end,
    },
}

define{
    name = "arp",
    fields = {
        {"HardwareAddressType", "hrd", "u16", 1}, {"ProtoAddressType", "pro", "u16", 0x0800},
        {"HardwareAddressLength", "hln", "u8", 6}, {"ProtoAddressLength", "pln", "u8", 4}, {"Operation", "op", "u16", 1},
        {"HardwareSrc", "sha", "mac", source}, {"ProtoSrc", "spa", "ip4", "0.1.2.3"},
        {"HardwareDst", "tha", "mac", destination}, {"ProtoDst", "tpa", "ip4", "4.5.6.7"},
    },
    methods = {
        getString = function(self)
            local op = self:getOperation()
            local text = ("ARP hrd %d (hln %d) pro 0x%04x (pln %d) op "):format(
                self:getHardwareAddressType(), self:getHardwareAddressLength(), self:getProtoAddressType(),
                self:getProtoAddressLength())
            if op == 1 then
                return text .. ("Request who-has %s (%s) tell %s (%s)"):format(
                    self:getProtoDstString(), self:getHardwareDstString(), self:getProtoSrcString(), self:getHardwareSrcString())
            elseif op == 2 then
                return text .. ("Reply %s is-at %s (for %s @ %s)"):format(
                    self:getProtoSrcString(), self:getHardwareSrcString(), self:getProtoDstString(), self:getHardwareDstString())
            end
            return text .. ("%d %s > %s %s > %s"):format(
                op, self:getHardwareSrcString(), self:getHardwareDstString(), self:getProtoSrcString(), self:getProtoDstString())
        end,
    },
}

define{
    name = "ptp", lengthFrom = 0,
    fields = {
        {"MessageType", "messageType", "u8", 0, text = "0x%02x"}, {"Version", "versionPTP", "u8", 2}, {"Length", "len", "u16", 44},
        {"Domain", "domain", "u8", 0}, {"Reserved", "reserved", "u8", 0}, {"Flags", "flags", "u16", 0, text = "0x%04x"},
        {"CorrectionHigh", "correction_high", "u32", 0}, {"CorrectionLow", "correction_low", "u32", 0},
        {"Reserved2", "reserved2", "u32", 0}, {"Oui", "oui", "u24", 0, text = "0x%06x"}, {"UuidHigh", "uuid", "u8", 0},
        {"UuidLow", "uuid_low", "u32", 0}, {"NodePort", "ptpNodePort", "u16", 1}, {"SequenceID", "sequenceId", "u16", 0},
        {"Control", "control", "u8", 0}, {"LogMessageInterval", "logMessageInterval", "u8", 0x7f},
    },
    complete = function(args, prefix, following, before)
        lengthTo(args, prefix, before)
    end,
    methods = {
        getString = function(self)
            return ("PTP typ %s ver %d len %d dom %d fla %s seq %d ctrl %d log %d"):format(
                self:getMessageTypeString(), self:getVersion(), self:getLength(), self:getDomain(), self:getFlagsString(),
                self:getSequenceID(), self:getControl(), self:getLogMessageInterval())
        end,
    },
}

define{
    name = "vxlan",
    fields = {
        {"Flags", "flags", "u8", 8, text = "0x%02x"}, {"Reserved", "reserved", "u24", 0, text = "0x%06x"},
        {"VNI", "vni", "u24", 0, text = "0x%06x"}, {"Reserved2", "reserved2", "u8", 0, text = "0x%02x"},
    },
    methods = {
        getString = function(self)
            return ("VXLAN flags %s res %s vni %s res %s"):format(
                self:getFlagsString(), self:getReservedString(), self:getVNIString(), self:getReserved2String())
        end,
    },
}

-- A message of IPFIX (RFC 7011 section 3.1); its sets follow.
define{
    name = "ipfix", lengthFrom = 0,
    fields = {
        {"Version", "version", "u16", 10}, {"Length", "length", "u16", 0}, {"ExportTime", "export_time", "u32", 0},
        {"Seq", "sequence_number", "u32", 0}, {"ObservationDomain", "observation_domain_id", "u32", 0},
    },
    complete = function(args, prefix, following, before)
        lengthTo(args, prefix, before)
    end,
    methods = {
        getString = function(self)
            return ("IPFIX version %s len %s time %s seq %s domain %s"):format(
                self:getVersionString(), self:getLengthString(), self:getExportTimeString(), self:getSeqString(),
                self:getObservationDomainString())
        end,
    },
}

-- LACPDU: what is not varied are the numbers that make it one.
local states = {ACT = 1, TIME = 2, AGG = 4, SYNC = 8, COL = 16, DIST = 32, DEF = 64, EXP = 128}
local stateNames = {"ACT", "TIME", "AGG", "SYNC", "COL", "DIST", "DEF", "EXP"}

local function stateText(state)
    local shown = {}
    for _, name in ipairs(stateNames) do
        if bit.band(state, states[name]) ~= 0 then
            shown[#shown + 1] = name
        end
    end
    return ("0x%02x [%s]"):format(state, table.concat(shown, "|"))
end

local lacpFields = {{"Subtype", "subtype", "u8", 1}, {"Version", "version", "u8", 1}}
for i, who in ipairs{"Actor", "Partner"} do
    local at = who:lower() .. "_"
    for _, field in ipairs{
        {"Type", "type", "u8", i}, {"Length", "len", "u8", 20}, {"SysPriority", "sys_priority", "u16", 0},
        {"SysId", "sys_id", "mac", "00:00:00:00:00:00"}, {"Key", "key", "u16", 0}, {"PortPriority", "port_priority", "u16", 0},
        {"PortId", "port_id", "u16", 0}, {"State", "state", "u8", 0, text = stateText}, {"Reserved", "reserved", "u24", 0},
    } do
        field[1], field[2] = who .. field[1], at .. field[2]
        lacpFields[#lacpFields + 1] = field
    end
end
lacpFields[#lacpFields + 1] = {"CollectorType", "collector_type", "u8", 3}
lacpFields[#lacpFields + 1] = {"CollectorLength", "collector_len", "u8", 16}
lacpFields[#lacpFields + 1] = {"CollectorDelay", "collector_delay", "u16", 0}

local function lacpEnd(self, who)
    local function get(name) return self["get" .. who .. name .. "String"](self) end
    return ("%s sys %s prio %s key %s port %s prio %s state %s"):format(
        who:lower(), get("SysId"), get("SysPriority"), get("Key"), get("PortId"), get("PortPriority"), get("State"))
end

define{
    name = "lacp", tail = "uint8_t rest[64];", states = states, fields = lacpFields,
    methods = {
        --- Whether it is a LACPDU; other slow protocols have its EtherType, too.
        validate = function(self)
            return self:getSubtype() == 1 and self:getActorType() == 1 and self:getActorLength() == 20
                and self:getPartnerType() == 2 and self:getPartnerLength() == 20
        end,
        getString = function(self)
            if not self:validate() then
                return ("LACP no LACPDU: subtype %d version %d"):format(self:getSubtype(), self:getVersion())
            end
            return ("LACP %s > %s max delay %d"):format(
                lacpEnd(self, "Actor"), lacpEnd(self, "Partner"), self:getCollectorDelay())
        end,
    },
}

-- What follows, by what a header says.

local function named(numbers, value)
    for name, number in pairs(numbers) do
        if number == value and headers[name] then
            return name
        end
    end
end

local following = {
    eth = function(header) return named(etherTypes, header:getType()) end,
    eth_vlan = function(header) return named(etherTypes, header:getType()) end,
    ip4 = function(header)
        -- Options are shown as what follows; fragments have no header of their own.
        return header:getHeaderLength() == 5 and header:getFragment() == 0 and named(protocols, header:getProtocol()) or nil
    end,
    ip6 = function(header) return named(protocols6, header:getNextHeader()) end,
    udp = function(header)
        local src, dst = header:getSrcPort(), header:getDstPort()
        return (dst == 319 or dst == 320) and "ptp" or named(ports, dst) or named(ports, src)
    end,
    vxlan = function() return "eth" end,
}

--- The packet with all headers that it says it has.
function headers.resolve(packet, stack, pointerOf)
    local items, count = {}, {}
    for i, item in ipairs(stack) do
        items[i] = {item.proto, name = item.member, subType = item.header.name == "eth_vlan" and "vlan" or nil}
        count[item.proto] = (count[item.proto] or 0) + 1
    end
    local last = stack[#stack]
    while last and #items < 12 do
        local proto = last.header.name
        if proto == "eth" and packet[last.member]:getType() == 0x8100 and not items[#items].subType then
            items[#items].subType = "vlan"
        else
            local nextProto = following[proto] and following[proto](packet[last.member])
            if not nextProto then
                break
            end
            count[nextProto] = (count[nextProto] or 0) + 1
            local n = count[nextProto]
            items[#items + 1] = {nextProto, name = nextProto .. (n > 1 and n or "")}
        end
        packet = ffi.cast(pointerOf(items), packet)
        local item = items[#items]
        last = {member = item.name, header = headers[item.subType and item[1] .. "_" .. item.subType or item[1]]}
    end
    return packet
end

return headers
