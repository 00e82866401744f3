-- Sends UDP packets with ten source addresses in turn from one port, counts what arrives at another.
local mg = require "moongen"
local memory = require "memory"
local device = require "device"
local stats = require "stats"

function configure(parser)
    parser:argument("txDev", "Device to send from."):convert(tonumber)
    parser:argument("rxDev", "Device to receive from."):convert(tonumber)
    parser:option("-r --rate", "Rate in Mbit/s."):default(10):convert(tonumber)
    parser:option("-n --packets", "Packets to send."):default(10000):convert(tonumber)
end

function master(args)
    local txDev, rxDev = device.config{port = args.txDev}, device.config{port = args.rxDev}
    device.waitForLinks()
    txDev:getTxQueue(0):setRate(args.rate)
    local sender = mg.startTask("send", txDev:getTxQueue(0), args.packets)
    local receiver = mg.startTask("receive", rxDev:getRxQueue(0), args.packets)
    local sent, received = sender:wait(), receiver:wait()
    eagre.result{sent = sent, received = received}
    eagre.expect(received == sent, "%d of %d packets arrived", received, sent)
end

function send(queue, packets)
    -- Each buffer gets the whole packet once; below only what varies is written.
    local pool = memory.createMemPool(function(buf)
        buf:getUdpPacket():fill{ethSrc = queue, ethDst = "02:00:00:00:00:99", ip4Dst = "10.0.0.2", udpDst = 9, pktLength = 60}
    end)
    local bufs, base, sent = pool:bufArray(), parseIPAddress("10.0.1.1"), 0
    local counter = stats:newManualTxCounter("sender", "plain")
    while mg.running() and sent < packets do
        bufs:allocN(60, math.min(bufs.maxSize, packets - sent))
        for i, buf in ipairs(bufs) do
            buf:getUdpPacket().ip4.src:set(base + (sent + i - 1) % 10)
        end
        bufs:offloadUdpChecksums()
        local n = queue:send(bufs)
        sent = sent + n
        counter:updateWithSize(n, 60)
    end
    counter:finalize()
    return sent
end

function receive(queue, packets)
    local bufs, received = memory.bufArray(), 0
    -- For half a second after the script was told to stop, what is under way still counts.
    while mg.running(500) and received < packets do
        local n = queue:tryRecv(bufs, 100000)
        received = received + n
        bufs:free(n)
    end
    return received
end
