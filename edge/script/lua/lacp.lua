-- LACP (IEEE 802.1AX): a task that keeps the links of a channel up, as one end of it.
local headers = require "eagre.headers"
local libmoon = require "libmoon"
local memory = require "memory"
local namespaces = require "namespaces"
require "device"

local lacp = {PKT_SIZE = 124, DST_MAC = parseMacAddress("01:80:c2:00:00:02"), lacpTask = "__EAGRE_LACP_TASK"}
for name, mask in pairs(headers.lacp.states) do
    lacp["STATE_" .. name] = mask
end
local ACT, TIME, AGG, SYNC = lacp.STATE_ACT, lacp.STATE_TIME, lacp.STATE_AGG, lacp.STATE_SYNC
local COL, DIST, DEF, EXP = lacp.STATE_COL, lacp.STATE_DIST, lacp.STATE_DEF, lacp.STATE_EXP

-- Seconds: between two LACPDUs of the fast and the slow rate, until a partner that is silent expires (we ask for the fast rate),
-- and between any two.
local FAST, SLOW, SILENT, AT_LEAST = 1, 30, 3, 0.34
local PRIORITY = 0x7fff
local MEMBERS = {"SysPriority", "SysId", "Key", "PortPriority", "PortId", "State"}

local channels = namespaces:get("eagre.lacp")

local function has(state, mask)
    return bit.band(state, mask) ~= 0
end

-- What one end of a LACPDU says, or what is known of a partner that says nothing.
local function told(header, who)
    local info = {}
    for _, name in ipairs(MEMBERS) do
        local get = "get" .. who .. name
        info[name] = name == "SysId" and header[get .. "String"](header) or header[get](header)
    end
    return info
end

local nobody = {SysPriority = 0, SysId = "00:00:00:00:00:00", Key = 0, PortPriority = 0, PortId = 0, State = TIME}

local function same(one, other, names)
    for _, name in ipairs(names) do
        if one[name] ~= other[name] then
            return false
        end
    end
    return true
end

local IDENTITY, WHO = {"SysPriority", "SysId", "Key", "PortPriority", "PortId"}, {"SysPriority", "SysId", "Key"}

local function receive(link, buf, now)
    local header = buf:getLacpPacket().lacp
    if buf.pkt_len < lacp.PKT_SIZE or buf:getEthernetPacket().eth:getType() ~= 0x8809 or not header:validate() then
        return
    end
    link.partner, link.heard = told(header, "Actor"), now
    -- Its word on whether it is in step counts if it means this link.
    local seen = told(header, "Partner")
    local isMeant = same(seen, link.actor, IDENTITY) and has(seen.State, AGG)
    if not isMeant then
        link.partner.State = bit.band(link.partner.State, bit.bnot(SYNC))
    end
    -- A partner that has an older idea of this end is told at once.
    link.isOwed = link.isOwed or not isMeant or seen.State ~= link.actor.State
end

-- The state of this end, by what is known of the other; 'first' is the partner that the channel is with.
local function update(link, first, now)
    local silent = now - (link.heard or -math.huge)
    local state = bit.bor(ACT, TIME, AGG)
    if silent > 2 * SILENT then
        link.partner = nobody
        state = bit.bor(state, DEF)
    elseif silent > SILENT then
        state = bit.bor(state, EXP)
    elseif has(link.partner.State, AGG) and same(link.partner, first, WHO) then
        state = bit.bor(state, SYNC)
        if has(link.partner.State, SYNC) then
            state = bit.bor(state, COL)
            if has(link.partner.State, COL) then
                state = bit.bor(state, DIST)
            end
        end
    end
    link.isOwed = link.isOwed or state ~= link.actor.State
    link.actor.State = state
    link.isUp = has(state, DIST) and has(link.partner.State, DIST)
end

local function transmit(link, bufs, now)
    bufs:alloc(lacp.PKT_SIZE)
    local fill = {ethSrc = link.txQueue, ethDst = "01:80:c2:00:00:02"}
    for _, name in ipairs(MEMBERS) do
        fill["lacpActor" .. name], fill["lacpPartner" .. name] = link.actor[name], link.partner[name]
    end
    bufs[1]:getLacpPacket():fill(fill)
    link.txQueue:send(bufs)
    link.sent, link.isOwed = now, false
end

function __EAGRE_LACP_TASK(name, links)
    local mac = links[1].txQueue.dev:getMacString()
    local key
    channels.lock(function()
        key = (channels.count or 0) + 1
        channels.count = key
    end)
    local pool, received = memory.createMemPool{n = 63}, memory.bufArray(16)
    local bufs = pool:bufArray(1)
    for i, link in ipairs(links) do
        link.rxQueue.dev:l2Filter(0x8809, link.rxQueue)
        link.partner, link.sent = nobody, -math.huge
        link.actor = {SysPriority = PRIORITY, SysId = mac, Key = key, PortPriority = PRIORITY, PortId = i, State = 0}
    end
    local up
    while libmoon.running() do
        for _, link in ipairs(links) do
            local n = link.rxQueue:tryRecv(received, 1000)
            for i = 1, n do
                receive(link, received[i], getMonotonicTime())
            end
            received:free(n)
        end
        local now, first = getMonotonicTime(), nil
        for _, link in ipairs(links) do
            first = first or link.heard and now - link.heard <= SILENT and link.partner
        end
        local upNow = 0
        for _, link in ipairs(links) do
            update(link, first, now)
            local every = has(link.partner.State, TIME) and FAST or SLOW
            if now - link.sent >= (link.isOwed and AT_LEAST or every) then
                transmit(link, bufs, now)
            end
            upNow = upNow + (link.isUp and 1 or 0)
        end
        if upNow ~= up then
            up = upNow
            channels["channel " .. name] = {up = up, links = #links, mac = mac}
        end
    end
end

--- Keeps a channel up on links {rxQueue =, txQueue =}; several channels have a task each.
function lacp.startLacpTask(name, links)
    return libmoon.startSharedTask(lacp.lacpTask, name, links)
end

-- Functions may be called with a dot or a colon.
local function channel(self, name, ...)
    if self ~= lacp then
        return channel(lacp, self, name, ...)
    end
    local key = "channel " .. name
    for _ = 1, 100 do
        if channels[key] or not libmoon.running() then
            break
        end
        libmoon.sleepMillis(10)
    end
    return channels[key] or error("there is no LACP channel '" .. name .. "'", 3), key, ...
end

--- Waits until so many links are up, or all; false if the script is to end before.
function lacp.waitForLink(...)
    local state, key, least = channel(...)
    least = least or state.links
    print(("Waiting for at least %d ports on LACP channel %s to come up..."):format(least, key:sub(9)))
    local before = 0
    while libmoon.running() do
        local up = channels[key].up
        if up ~= before then
            print(("%d port%s up"):format(up, up == 1 and "" or "s"))
            before = up
        end
        if up >= least then
            return true
        end
        libmoon.sleepMillis(100)
    end
    return false
end

--- The address of this end of the channel, which is that of its first link.
function lacp.getMac(...)
    return channel(...).mac
end

return lacp
