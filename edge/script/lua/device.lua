-- Devices and their queues.
local base = require "eagre.base"
local ffi, api, native = base.ffi, base.api, base.native
local libmoon = require "libmoon"
local log = require "log"
local namespaces = require "namespaces"
require "memory"

local mod = {}
local QUEUES_MAX = 64

local dev, txQueue, rxQueue = {__type = "device"}, {__type = "txQueue"}, {__type = "rxQueue"}
dev.__index, txQueue.__index, rxQueue.__index = dev, txQueue, rxQueue
mod.__devicePrototype, mod.__txQueuePrototype, mod.__rxQueuePrototype = dev, txQueue, rxQueue

local configured = namespaces:get("eagre.devices")
local cache = {}

function mod.numDevices()
    return native.devices
end

--- A device by its number: the place of its port in --ports, from 0.
function mod.get(id)
    if type(id) ~= "number" then
        log:fatal("a device has a number, not a %s", type(id))
    end
    if not cache[id] then
        local facts = native.device(id)
        if not facts then
            log:fatal("there are only %d ports, tried to configure port id %d: name it with --ports", native.devices, id)
        end
        local settings = configured[tostring(id)]
        cache[id] = setmetatable({
            id = id, facts = facts, rxQueues = {}, txQueues = {}, initialized = settings ~= nil, settings = settings,
            supportsFdir = true, timeRegisters = {0, 0, 0, 0},
        }, dev)
    end
    local found = cache[id]
    if not found.initialized then
        found.settings = configured[tostring(id)]
        found.initialized = found.settings ~= nil
    end
    return found
end

local function queues(name, value)
    value = value or 1
    if value < 1 or value > QUEUES_MAX then
        log:fatal("%s must be between 1 and %d", name, QUEUES_MAX)
    end
    return value
end

--- Configures a port: config{port = n, rxQueues = n, txQueues = n, rssQueues = n, …}, or by position as before libmoon.
function mod.config(args, ...)
    if type(args) == "number" then
        log:warn("device.config() without named arguments is deprecated.")
        local rx, tx = ...
        args = {port = args, rxQueues = rx, txQueues = tx}
    end
    if type(args) ~= "table" or not args.port then
        log:fatal("usage: device.config{ port = x, ... }")
    end
    local device = mod.get(args.port)
    if device.initialized then
        log:warn("Device %d already configured, skipping initilization", args.port)
        return device
    end
    local settings = {rx = queues("rxQueues", args.rxQueues), tx = queues("txQueues", args.txQueues)}
    local reason = native.configure(device.id, settings.rx)
    if reason then
        log:fatal("port %d: %s", device.id, reason)
    end
    local rss = args.rssQueues or args.rssNQueues or 0
    if rss > 1 then
        native.spread(device.id, rss, args.rssBaseQueue or 0)
    end
    native.strip_vlan(device.id, args.stripVlan ~= false)
    configured[tostring(device.id)] = settings
    device.settings, device.initialized = settings, true
    return device
end

function mod.getDevices()
    local list = {}
    for id = 0, native.devices - 1 do
        local facts = native.device(id)
        list[#list + 1] = {id = id, mac = facts.mac, name = facts.device}
    end
    return list
end

function mod.cleanupDevices() end
function mod.reclaimTxBuffers() end

--- Prints the state of the links of the devices given, or of all configured ones. Ports of Eagre are open only with a link.
function mod.waitForLinks(...)
    log:info("Waiting for devices to come up...")
    local up, list = 0, {...}
    if #list == 0 then
        for id = 0, native.devices - 1 do
            local device = mod.get(id)
            list[#list + 1] = device.initialized and device or nil
        end
    end
    for _, device in ipairs(list) do
        up = up + (device:wait(0) and 1 or 0)
    end
    log:info(green(up == 1 and "%d device is up." or "%d devices are up.", up))
    return up
end

-- A device.

function dev:__tostring()
    return ("[Device: id=%d]"):format(self.id)
end

function dev.__eq(a, b)
    return a.id == b.id
end

function dev:__serialize()
    return ("return require('device').get(%d)"):format(self.id)
end

function dev:wait()
    local link = self:getLinkStatus()
    self.speed = link.speed
    log:info("Device %d (%s) is up: %d MBit/s", self.id, self.facts.mac, link.speed)
    return link.status
end

function dev:getLinkStatus()
    return {status = true, duplexAutoneg = true, duplex = false, speed = self.facts.speed}
end

function dev:getMacString()
    return self.facts.mac
end

function dev:getMac(number)
    return parseMacAddress(self.facts.mac, number)
end

function dev:getDriverName()
    return self.facts.driver
end

function dev:getName()
    return self.facts.device
end

function dev:getSocket()
    return 0
end

function dev:checkSocket()
    return true
end

function dev:getInfo()
    return {nb_rx_queues = self.settings.rx, nb_tx_queues = self.settings.tx, driver_name = self.facts.driver}
end

-- Ports take all frames of their link.
function dev:setPromisc() end
function dev:store() end
function dev:stop() end

local function queueOf(self, list, kind, prototype, id)
    if not self.settings then
        log:fatal("%s is not configured: call device.config() first", self)
    end
    if not list[id] then
        local n = self.settings[kind]
        if id < 0 or id >= n then
            log:fatal("device is configured with %s queues 0 to %d, tried to get queue number %d", kind, n - 1, id)
        end
        list[id] = setmetatable({id = self.id, qid = id, dev = self}, prototype)
    end
    return list[id]
end

function dev:getTxQueue(id)
    return queueOf(self, self.txQueues, "tx", txQueue, id)
end

function dev:getRxQueue(id)
    return queueOf(self, self.rxQueues, "rx", rxQueue, id)
end

function dev:setRate(mbit)
    for id = 0, self.settings.tx - 1 do
        native.set_rate(self.id, id, mbit / self.settings.tx)
    end
end

-- Counters.

local counts = ffi.new("uint64_t[6]")

--- Packets and bytes with FCS sent so far.
function dev:getTxStats()
    api.counters(self.id, -1, counts)
    return tonumber(counts[3]), tonumber(counts[4])
end

--- Packets and bytes with FCS received so far, by a task or not.
function dev:getRxStats()
    api.counters(self.id, -1, counts)
    return tonumber(counts[0]), tonumber(counts[1])
end

function dev:clearRxStats() end

local function sum(list, way)
    local total = 0
    for name, n in pairs(list) do
        total = total + (name:sub(1, #way) == way and n or 0)
    end
    return total
end

function dev:getStats()
    api.counters(self.id, -1, counts)
    local drops = native.drops(self.id)
    local stats = {
        ipackets = counts[0], ibytes = counts[1], imissed = counts[2] + sum(drops, "rx_"), ierrors = 0ULL,
        opackets = counts[3], obytes = counts[4], oerrors = counts[5] + sum(drops, "tx_"), rx_nombuf = 0ULL,
        q_ipackets = {}, q_opackets = {}, q_ibytes = {}, q_obytes = {}, q_errors = {},
    }
    for q = 0, QUEUES_MAX - 1 do
        api.counters(self.id, q, counts)
        stats.q_ipackets[q], stats.q_ibytes[q], stats.q_errors[q] = counts[0], counts[1], counts[2]
        stats.q_opackets[q], stats.q_obytes[q] = counts[3], counts[4]
    end
    return stats
end

-- DPDK's extended counters, which scripts read through ffi.C.
ffi.cdef[[
struct rte_eth_xstat { uint64_t id; uint64_t value; };
struct rte_eth_xstat_name { char name[64]; };
]]

local function extended(id)
    local stats, list = mod.get(id):getStats(), {}
    local function add(name, value)
        list[#list + 1] = {name = name, value = value}
    end
    add("rx_good_packets", stats.ipackets)
    add("tx_good_packets", stats.opackets)
    add("rx_good_bytes", stats.ibytes)
    add("tx_good_bytes", stats.obytes)
    add("rx_missed_errors", stats.imissed)
    add("tx_errors", stats.oerrors)
    local names = {}
    local drops = native.drops(id)
    for name in pairs(drops) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do add(name, drops[name]) end
    return list
end

function base.provided.rte_eth_xstats_get(id, into, n)
    local list = extended(id)
    for i = 1, n >= #list and #list or 0 do
        into[i - 1].id, into[i - 1].value = i - 1, list[i].value
    end
    return #list
end

function base.provided.rte_eth_xstats_get_names(id, into, n)
    local list = extended(id)
    for i = 1, n >= #list and #list or 0 do
        ffi.copy(into[i - 1].name, list[i].name:sub(1, 63))
    end
    return #list
end

-- Timestamps are those of Eagre's clock: taken when a packet is handed to its port, and when it is found there.

function dev:enableRxTimestampsAllPackets() end
function dev:enableRxTimestamps() end
function dev:enableTxTimestamps() end
function dev:clearTimestamps() end
function dev:resetTimeCounters() end

function dev:readTime()
    return tonumber(api.now())
end

-- Transmit queues.

function txQueue:__tostring()
    return ("[TxQueue: id=%d, qid=%d]"):format(self.id, self.qid)
end

function rxQueue:__tostring()
    return ("[RxQueue: id=%d, qid=%d]"):format(self.id, self.qid)
end

function txQueue.__eq(a, b)
    return a.id == b.id and a.qid == b.qid
end

rxQueue.__eq = txQueue.__eq

function txQueue:__serialize()
    return ("return require('device').get(%d):getTxQueue(%d)"):format(self.id, self.qid)
end

function rxQueue:__serialize()
    return ("return require('device').get(%d):getRxQueue(%d)"):format(self.id, self.qid)
end

--- Sends all packets of the array and gives their buffers back; returns how many were sent: all, unless the script ends.
function txQueue:send(bufs)
    return api.send(self.id, self.qid, bufs.array, bufs.size, 0, 0)
end

function txQueue:sendN(bufs, n)
    return api.send(self.id, self.qid, bufs.array, n, 0, 0)
end

local single = ffi.new("struct rte_mbuf *[1]")

function txQueue:sendSingle(buf)
    single[0] = buf
    return api.send(self.id, self.qid, single, 1, 0, 0)
end

txQueue.trySendSingle = txQueue.sendSingle

function txQueue:trySend(bufs, from, n)
    from = from or 0
    n = n or bufs.size - from
    return api.send(self.id, self.qid, bufs.array + from, n, 0, 0)
end

--- The rate of the queue in Mbit/s, frames with FCS (not preamble and gap); 0 is without limit.
function txQueue:setRate(mbit)
    native.set_rate(self.id, self.qid, tonumber(mbit))
end

--- The rate of the queue in Mpps of packets of this size without FCS.
function txQueue:setRateMpps(mpps, size)
    self:setRate(mpps * ((size or 60) + 4) * 8)
end

--- Sends packets with the gaps that setDelay() gave them, in bytes of link time; returns how many were sent.
function txQueue:sendWithDelay(bufs, rate, method, n)
    return api.send(self.id, self.qid, bufs.array, n or bufs.size, 4, 8000 / self.dev.facts.speed)
end

--- Sends the first packet with the time of its sending in it.
function txQueue:sendWithTimestamp(bufs, offset)
    ffi.cast("uint64_t *", bufs.array[0]:getBytes())[offset and offset / 8 or 6] = api.now()
    api.send(self.id, self.qid, bufs.array, 1, 0, 0)
end

function txQueue:start() end
function txQueue:stop() end
function txQueue:enableTimestamps() end

--- When the last packet with enableTimestamps() left, ns.
function txQueue:getTimestamp()
    return tonumber(api.sent_at())
end

function txQueue:getMacAddr(number)
    return self.dev:getMac(number)
end

-- Receive queues.

--- Waits for packets until the script ends; returns how many there are.
function rxQueue:recv(bufs, n)
    return api.recv(self.id, self.qid, bufs.array, math.min(n or bufs.size, bufs.size), -1, 0)
end

--- Waits for packets, for so many microseconds at most.
function rxQueue:tryRecv(bufs, micros)
    return api.recv(self.id, self.qid, bufs.array, bufs.size, (micros or 1e15) * 1e3, 0)
end

rxQueue.tryRecvIdle = rxQueue.tryRecv

--- What is there now, each with its time of arrival (ns) in udata64.
function rxQueue:recvWithTimestamps(bufs, n)
    return api.recv(self.id, self.qid, bufs.array, math.min(n or bufs.size, bufs.size), 0, 1)
end

function rxQueue:enableTimestamps() end
function rxQueue:enableTimestampsAllPackets() end

function rxQueue:getMacAddr(number)
    return self.dev:getMac(number)
end

function rxQueue:filterUdpTimestamps()
    self.dev:filterUdpTimestamps(self)
end

function rxQueue:filterL2Timestamps()
    self.dev:filterL2Timestamps(self)
end

-- Filters, in software.

local function numberOf(queue)
    return type(queue) == "table" and queue.qid or queue
end

--- Frames with this EtherType go to this queue.
function dev:l2Filter(etherType, queue)
    native.add_rule(self.id, numberOf(queue), {kind = "ethertype", type = etherType})
end

dev.l2GenericFilter = dev.l2Filter

--- PTP over UDP goes to this queue: packets whose payload begins with this message type and version.
function dev:filterUdpTimestamps(queue, message, version)
    if numberOf(queue) ~= 0 then
        native.add_rule(self.id, numberOf(queue), {kind = "ptp", message = message or 0, version = version or 2})
    end
end

function dev:filterTimestamps(queue)
    self:filterUdpTimestamps(queue)
end

function dev:filterL2Timestamps(queue)
    if numberOf(queue) ~= 0 then
        self:l2Filter(0x88f7, queue)
    end
end

function dev:UdpGenericFilter(queue)
    native.add_rule(self.id, numberOf(queue), {kind = "udp"})
end

--- IPv4 packets with these addresses (srcIp, dstIp), ports (srcPort, dstPort) and protocol (proto), each under a mask
--- (srcIpMask, …), go to this queue.
function dev:fiveTupleFilter(filter, queue)
    local function address(text)
        return text and parseIP4Address(text)
    end
    local function mask(given, value, all)
        return given or value and all or 0
    end
    native.add_rule(self.id, numberOf(queue), {
        kind = "tuple",
        want = {
            src = address(filter.srcIp), dst = address(filter.dstIp), src_port = filter.srcPort, dst_port = filter.dstPort,
            protocol = filter.proto,
        },
        mask = {
            src = mask(address(filter.srcIpMask), filter.srcIp, 0xffffffff),
            dst = mask(address(filter.dstIpMask), filter.dstIp, 0xffffffff),
            src_port = mask(filter.srcPortMask, filter.srcPort, 0xffff),
            dst_port = mask(filter.dstPortMask, filter.dstPort, 0xffff),
            protocol = mask(filter.protoMask, filter.proto, 0xff),
        },
    })
end

return mod
