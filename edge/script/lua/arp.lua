-- ARP: constants, and a task that answers requests and resolves addresses.
local base = require "eagre.base"
local api = base.api
local headers = require "eagre.headers"
local libmoon = require "libmoon"
local memory = require "memory"
local namespaces = require "namespaces"
local pipe = require "pipe"
require "device"

local arp = {HARDWARE_ADDRESS_TYPE_ETHERNET = 1, PROTO_ADDRESS_TYPE_IP = 0x0800, OP_REQUEST = 1, OP_REPLY = 2}
arp.arpTask = "__EAGRE_ARP_TASK"

-- Seconds until an address is asked for again.
local AGE, ASK_AGAIN = 30, 1

local known, asked, state = namespaces:get("eagre.arp.known"), namespaces:get("eagre.arp.asked"), namespaces:get("eagre.arp")

local function send(task, port, fill)
    task.bufs:alloc(60)
    local packet = task.bufs[1]:getArpPacket()
    packet:fill(fill)
    port.txQueue:send(task.bufs)
end

local function request(task, port, ip, as)
    local mac = port.txQueue.dev:getMacString()
    send(task, port, {
        ethSrc = mac, ethDst = "ff:ff:ff:ff:ff:ff", arpOperation = arp.OP_REQUEST, arpHardwareSrc = mac, arpProtoSrc = as,
        arpHardwareDst = "00:00:00:00:00:00", arpProtoDst = ip,
    })
end

local function handle(task, port, buf)
    local packet = buf:getArpPacket()
    if buf.pkt_len < 42 or packet.eth:getType() ~= 0x0806 then
        return
    end
    if packet.arp:getOperation() == arp.OP_REQUEST then
        local ip = packet.arp:getProtoDst()
        if port.own[ip] then
            local mac = port.txQueue.dev:getMacString()
            send(task, port, {
                ethSrc = mac, ethDst = packet.arp:getHardwareSrc(), arpOperation = arp.OP_REPLY, arpHardwareSrc = mac,
                arpProtoSrc = ip, arpHardwareDst = packet.arp:getHardwareSrc(), arpProtoDst = packet.arp:getProtoSrc(),
            })
        end
    elseif packet.arp:getOperation() == arp.OP_REPLY then
        known[tostring(packet.arp:getProtoSrc())] = {mac = packet.arp:getHardwareSrcString(), time = time()}
    end
end

local function ask(task, ports)
    local now = time()
    asked:forEach(function(ip, entry)
        local answer = known[ip]
        local fresh = answer and answer.time + AGE > now
        if not fresh and (entry.time or 0) + ASK_AGAIN <= now then
            asked[ip] = {time = now}
            for _, port in ipairs(ports) do
                request(task, port, tonumber(ip), port.first)
            end
        end
    end)
end

--- Answers for the addresses of each entry {rxQueue =, txQueue =, ips =}, and asks for those that are looked up.
function __EAGRE_ARP_TASK(ports)
    if ports.txQueue then
        ports = {ports}
    end
    local pool = memory.createMemPool{n = 63}
    local task, bufs = {bufs = pool:bufArray(1)}, memory.bufArray(16)
    for i, port in ipairs(ports) do
        local ips = type(port.ips) == "table" and port.ips or {port.ips}
        port.own = {}
        for _, text in ipairs(ips) do
            local ip = parseIP4Address(text) or error("ARP needs IPv4 addresses, not '" .. tostring(text) .. "'", 0)
            port.own[ip], port.first = true, port.first or ip
        end
        if port.rxQueue then
            port.rxQueue.dev:l2Filter(0x0806, port.rxQueue)
        end
        port.pipe = pipe:newPacketRing()
        state[tostring(i)] = port.pipe
    end
    state.running = true
    for _, port in ipairs(ports) do
        -- Gratuitous: whoever has an older address for ours learns the new one.
        request(task, port, port.first, port.first)
    end
    while libmoon.running() and not state.stop do
        for _, port in ipairs(ports) do
            local n = port.rxQueue and port.rxQueue:tryRecv(bufs, 1000) or port.pipe:recv(bufs)
            for i = 1, n do
                handle(task, port, bufs[i])
            end
            bufs:free(n)
            if n == 0 and not port.rxQueue then
                libmoon.sleepMillis(1)
            end
        end
        ask(task, ports)
    end
    state.running = nil
end

function arp.startArpTask(ports)
    state.stop = nil
    return libmoon.startSharedTask(arp.arpTask, ports)
end

function arp.stopArpTask()
    state.stop = true
end

function arp.waitForStartup()
    while not state.running and libmoon.running() do
        libmoon.sleepMillis(1)
    end
end

--- Hands a received ARP packet to the task, which gives its buffer back.
function arp.handlePacket(buf, port)
    local ring = state[tostring(port or 1)] or error("the ARP task has no port " .. tostring(port or 1), 2)
    local one = memory.bufArray(1)
    one[1] = buf
    if not ring:send(one) then
        one:freeAll()
    end
end

--- The MAC address for an IPv4 address if it is known, and when it was learned; else it will be asked for.
function arp.lookup(ip)
    local number = type(ip) == "string" and parseIP4Address(ip) or type(ip) == "cdata" and ip:get() or ip
    for _ = 1, 100 do
        if state.running or not libmoon.running() then
            break
        end
        libmoon.sleepMillis(10)
    end
    if not state.running and libmoon.running() then
        error("ARP task is not running")
    end
    local key = tostring(number)
    local answer = known[key]
    if answer then
        return answer.mac, answer.time
    end
    asked.lock(function()
        asked[key] = asked[key] or {time = 0}
    end)
end

--- As lookup(), but waits for the answer, for so many seconds at most.
function arp.blockingLookup(ip, seconds)
    local stop = libmoon.getTime() + seconds
    repeat
        local mac, learned = arp.lookup(ip)
        if mac then
            return mac, learned
        end
        libmoon.sleepMillis(20)
    until libmoon.getTime() >= stop or not libmoon.running()
end

return arp
