-- Packet buffers and the packets in them: any stack of headers as one structure.
local base = require "eagre.base"
local ffi, api = base.ffi, base.api
local bit = require "bit"
local headers = require "eagre.headers"
local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local pkt = {}
pkt.__index = pkt

local bytePtr, voidPtr, wordPtr = ffi.typeof("uint8_t *"), ffi.typeof("void *"), ffi.typeof("uint64_t *")
local TX_VLAN, TX_TIMESTAMP, RX_VLAN = 2ULL ^ 57, 2ULL ^ 51, 1ULL
local IPV4, IPV6, IP, TCP, UDP = 2ULL ^ 55, 2ULL ^ 56, 2ULL ^ 54, 2ULL ^ 52, 3ULL * 2ULL ^ 52

-- The buffer.

function pkt:getBytes()
    return self.buf_addr + self.data_off
end

function pkt:getData()
    return ffi.cast(voidPtr, self.buf_addr + self.data_off)
end

function pkt:getSize()
    return self.pkt_len
end

function pkt:setSize(size)
    self.pkt_len, self.data_len = size, size
end

function pkt:setRawPacket(data)
    self:setSize(#data)
    ffi.copy(self:getBytes(), data, #data)
end

local one = ffi.typeof("struct rte_mbuf *[1]")

function pkt:free()
    api.give_back(one(self), 1)
end

--- When it was received, ns of Eagre's clock.
function pkt:getTimestamp()
    return tonumber(self.timestamp)
end

function pkt:hasTimestamp()
    return self.timestamp ~= 0
end

function pkt:getTimesync()
    return 0
end

function pkt:enableTimestamps()
    self.ol_flags = bor(self.ol_flags, TX_TIMESTAMP)
end

--- The time sendWithTimestamp wrote into the packet.
function pkt:getSoftwareTxTimestamp(offset)
    return ffi.cast(wordPtr, self:getBytes())[offset and offset / 8 or 6]
end

--- Bytes of link time before the packet, for sendWithDelay and rate limiters.
function pkt:setDelay(delay)
    self.udata64 = delay > 0 and delay or 0
end

function pkt:setRate(rate)
    self:setDelay(rateToByteDelay(rate, self.pkt_len))
end

function pkt:setVlan(vlan, pcp, cfi)
    self.vlan_tci = vlan + (pcp or 0) * 8192 + (cfi or 0) * 4096
    self.ol_flags = bor(self.ol_flags, TX_VLAN)
end

--- VLAN, priority and drop bit, if the packet has a tag.
function pkt:getVlan()
    if band(self.ol_flags, RX_VLAN + TX_VLAN) == 0ULL then
        return nil
    end
    local tci = self.vlan_tci
    return band(tci, 0xfff), rshift(tci, 13), band(rshift(tci, 12), 1)
end

local function offload(self, flags, l2, l3)
    self.ol_flags = bor(self.ol_flags, flags)
    self.tx_offload = l2 + l3 * 128
end

function pkt:offloadIPChecksum(ipv4, l2, l3)
    if ipv4 == nil or ipv4 then
        offload(self, IPV4 + IP, l2 or 14, l3 or 20)
    end
end

function pkt:offloadUdpChecksum(ipv4, l2, l3)
    local four = ipv4 == nil or ipv4
    offload(self, four and IPV4 + IP + UDP or IPV6 + UDP, l2 or 14, l3 or (four and 20 or 40))
end

function pkt:offloadTcpChecksum(ipv4, l2, l3)
    local four = ipv4 == nil or ipv4
    offload(self, four and IPV4 + IP + TCP or IPV6 + TCP, l2 or 14, l3 or (four and 20 or 40))
end

-- Stacks of headers.

local casts = {}

local function described(item)
    local name = type(item) == "table" and item[1] or item
    if name == "ethernet" then
        name = "eth"
    end
    local kind = type(item) == "table" and item.subType
    local struct = kind and kind ~= "default" and name .. "_" .. kind or name
    local header = headers[struct]
    if not header then
        error(("there is no header '%s'"):format(struct), 3)
    end
    return {proto = name, header = header, member = type(item) == "table" and item.name or header.member or name}
end

local function setLengthSource(stack)
    local lines, before = {"return function(self, length)"}, 0
    for _, item in ipairs(stack) do
        if item.header.lengthFrom then
            lines[#lines + 1] = ("self.%s:setLength(length - %d)"):format(item.member, before + item.header.lengthFrom)
        end
        before = before + item.header.size
    end
    lines[#lines + 1] = "end"
    return table.concat(lines, "\n")
end

local function newStack(items, name)
    local stack, members, noPayload = {}, {}, false
    for i, item in ipairs(items) do
        if item == "noPayload" then
            noPayload = true
        else
            stack[i] = described(item)
            members[i] = ("struct %s_header %s;"):format(stack[i].header.name, stack[i].member)
        end
    end
    local source = "struct __attribute__((packed)) %s { %s %s };"
    ffi.cdef(source:format(name, table.concat(members, " "), noPayload and "" or "union payload_t payload;"))

    local packet = {}
    packet.__index = packet

    function packet.getArgs()
        return items
    end

    function packet.getName()
        return name
    end

    function packet:getHeaders()
        local list = {}
        for i, item in ipairs(stack) do
            list[i] = self[item.member]
        end
        return list
    end

    function packet:getHeader(item)
        return self[described(item).member]
    end

    packet.setLength = assert(loadstring(setLengthSource(stack)))()

    --- Sets all fields: those not given to their defaults. 'pktLength' sets the lengths of all headers.
    function packet:fill(args)
        local given, before = {}, 0
        for key, value in pairs(args or {}) do
            given[key] = value
        end
        for i, item in ipairs(stack) do
            local following = stack[i + 1] and stack[i + 1].proto
            item.header.complete(given, item.member, following, before)
            self[item.member]:fill(given, item.member)
            before = before + item.header.size
        end
    end

    function packet:get()
        local values = {}
        for _, item in ipairs(stack) do
            mergeTables(values, self[item.member]:get(item.member))
        end
        return values
    end

    function packet:resolveLastHeader()
        return headers.resolve(self, stack, casts.of)
    end

    function packet:dump(bytes, stream, coloured, wireshark)
        stream = stream or io.stdout
        local starts, at = {}, 0
        if not wireshark then
            stream:write(white("%s", getTimeMicros()))
            for i, item in ipairs(stack) do
                stream:write(getColorCode(i), i == 1 and " " or "", self[item.member]:getString(), "\n")
                at = at + item.header.size
                starts[i] = at
            end
        end
        dumpHex(self, bytes, stream, not wireshark and coloured ~= false and starts or nil, wireshark)
    end

    --- Writes the checksums of IPv4 and ICMP headers now.
    function packet:calculateChecksums(data, len, ipv4)
        for _, item in ipairs(stack) do
            if item.proto == "ip4" or item.proto == "icmp" then
                self[item.member]:calculateChecksum()
            end
        end
    end
    for _, item in ipairs(stack) do
        if item.proto == "ip4" or item.proto == "icmp" then
            packet["calculate" .. item.member:gsub("^.", string.upper) .. "Checksum"] = function(self)
                self[item.member]:calculateChecksum()
            end
        end
    end

    ffi.metatype("struct " .. name, packet)
    local pointer = ffi.typeof("struct " .. name .. " *")
    return function(buf)
        return ffi.cast(pointer, buf.buf_addr + buf.data_off)
    end, pointer
end

local made = {}

--- The function that reads a buffer as this stack of headers, such as createStack("eth", "ip4", "udp"): names, or tables
--- {header, name = member, subType = kind}.
function createStack(...)
    local items, parts = {...}, {}
    for i, item in ipairs(items) do
        if item ~= "noPayload" then
            local one = described(item)
            parts[i] = one.header.name .. "_as_" .. one.member
        else
            parts[i] = "nothing"
        end
    end
    local name = "packet__" .. table.concat(parts, "__")
    if not made[name] then
        local cast, pointer = newStack(items, name)
        made[name] = {cast = cast, pointer = pointer}
    end
    return made[name].cast, made[name].pointer
end

packetCreate = createStack

function casts.of(items)
    local _, pointer = createStack(unpack(items))
    return pointer
end

--- The packet as the headers in it say.
function pkt:get()
    return self:getEthernetPacket():resolveLastHeader()
end

function pkt:dump(bytes, stream, coloured, wireshark)
    if type(bytes) == "userdata" then
        bytes, stream, coloured = nil, bytes, stream
    end
    self:get():dump(bytes or self.pkt_len, stream, coloured, wireshark)
end

local function either(four, six)
    return function(self, ipv4)
        if ipv4 == nil or ipv4 then
            return four(self)
        end
        return six(self)
    end
end

pkt.getRawPacket = createStack()
pkt.getEthernetPacket = createStack("eth")
pkt.getEthPacket = pkt.getEthernetPacket
pkt.getEthernetVlanPacket = createStack({"eth", subType = "vlan"})
pkt.getEthVlanPacket = pkt.getEthernetVlanPacket
pkt.getArpPacket = createStack("eth", "arp")
pkt.getLacpPacket = createStack("eth", "lacp")
pkt.getPtpPacket = createStack("eth", "ptp")
pkt.getIP4Packet, pkt.getIP6Packet = createStack("eth", "ip4"), createStack("eth", "ip6")
pkt.getIPPacket = either(pkt.getIP4Packet, pkt.getIP6Packet)
pkt.getIcmp4Packet, pkt.getIcmp6Packet = createStack("eth", "ip4", "icmp"), createStack("eth", "ip6", "icmp")
pkt.getIcmpPacket = either(pkt.getIcmp4Packet, pkt.getIcmp6Packet)
pkt.getUdp4Packet, pkt.getUdp6Packet = createStack("eth", "ip4", "udp"), createStack("eth", "ip6", "udp")
pkt.getUdpPacket = either(pkt.getUdp4Packet, pkt.getUdp6Packet)
pkt.getTcp4Packet, pkt.getTcp6Packet = createStack("eth", "ip4", "tcp"), createStack("eth", "ip6", "tcp")
pkt.getTcpPacket = either(pkt.getTcp4Packet, pkt.getTcp6Packet)
pkt.getUdpPtpPacket = createStack("eth", "ip4", "udp", "ptp")
pkt.getIpfixPacket = createStack("eth", "ip4", "udp", "ipfix")
pkt.getVxlanPacket = createStack("eth", "ip4", "udp", "vxlan")
pkt.getVxlanEthernetPacket = createStack("eth", "ip4", "udp", "vxlan", {"eth", name = "innerEth"})

ffi.metatype("struct rte_mbuf", pkt)

return pkt
