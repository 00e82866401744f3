-- Looks for the highest rate without loss: one measured stream, whose rate is changed while it runs.
local mg = require "moongen"

function configure(parser)
    parser:option("-m --most", "Highest rate to try, packets per second."):default(64000):convert(tonumber)
    parser:option("-s --steps", "Steps to halve the range."):default(5):convert(tonumber)
    parser:option("-t --time", "Time of a step in milliseconds."):default(500):convert(tonumber)
end

function master(args)
    eagre.port(0, {ip = "198.18.0.1/24"})
    eagre.port(1, {ip = "198.18.0.2/24"})
    local stream = eagre.stream{
        name = "probe", from = 0, to = 1, packet = {"ipv4", {udp = {dst = 9}}}, vary = {["udp.src"] = {from = 1024, to = 2047}},
        size = 128, rate = args.most,
    }
    eagre.start()
    local good, bad, best = 0, nil, nil
    for step = 1, args.steps do
        local rate = bad and math.floor((good + bad) / 2) or args.most
        stream:rate(rate)
        local before = stream:stats()
        mg.sleepMillis(args.time)
        -- What is under way counts as lost until it arrives.
        stream:pause()
        mg.sleepMillis(200)
        local after = stream:stats()
        local sent, lost = after.tx - before.tx, after.lost - before.lost
        print(("%8d pps: %6d sent, %d lost"):format(rate, sent, lost))
        if lost == 0 and sent > 0 then
            good, best = rate, rate
        else
            bad = rate
        end
        if not mg.running() or not bad then
            break
        end
    end
    local result = eagre.stop()
    local latency = result.streams.probe.latency_ns
    eagre.result{pps = best, p99_ns = latency and latency.p99}
    eagre.expect(best, "no rate was without loss")
end
