#!/bin/sh
# StatsD scales the count of sampled timers and not their sum: of calls of 150 ms, a tenth of them sent, sum by count is 15 ms.
#
# One would guess: of "call:150|ms|@0.1" count and sum are scaled by ten, as both are totals, or neither; sum by count is the mean.
# So it is: the count is ten times the number of values received, and sum, sum of squares and standard deviation are those of the values
# received. Ten values of 150 ms are a count of 100 and a sum of 1,500 ms. Whoever computes a mean over several intervals or servers as the
# sum of sums by the sum of counts, as one has to, finds a tenth of it, or with services of different sampling rates something between.
# `mean` is right within an interval; for totals multiply the sum by the rate.
#
# Uses statsd 0.9.0 from npm, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent statsd@0.9.0 || exit 2
cat > config.js <<'END'
{
  port: 8125, address: "127.0.0.1", mgmt_address: "127.0.0.1", mgmt_port: 8126, flushInterval: 2000, percentThreshold: [90],
  backends: ["./backends/console"], console: { prettyprint: false }
}
END
cat > try.py <<'END'
import json
import re
import socket
import subprocess
import sys
import time

VALUES, CALL = 10, 150
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
with open("log", "w") as log:
    statsd = subprocess.Popen(["node", "node_modules/statsd/stats.js", "config.js"], stdout=log, stderr=subprocess.STDOUT)
try:
    for _ in range(200):
        if "server is up" in open("log").read():
            break
        time.sleep(0.1)
    lines = [f"{name}:{CALL}|ms{rate}" for name, rate in (("all", ""), ("tenth", "|@0.1")) for _ in range(VALUES)]
    sender.sendto("\n".join(lines).encode(), ("127.0.0.1", 8125))
    found = []
    for _ in range(100):
        found = re.findall(r"(all|tenth): \{\s+count_90.*?\bcount: (\d+),.*?\bsum: (\d+),.*?\bmean: (\d+)", open("log").read(), re.DOTALL)
        if found:
            break
        time.sleep(0.1)
finally:
    statsd.terminate()
    statsd.wait()
print("statsd", json.load(open("node_modules/statsd/package.json"))["version"])
seen = {name: tuple(map(int, values)) for name, *values in found}
for name, sent in (("all", "|ms"), ("tenth", "|ms|@0.1")):
    count, total, mean = seen[name]
    print(f"{VALUES} times {CALL}{sent}: count {count}, sum {total}, mean {mean}; sum by count {total / count:g}")
sys.exit(seen != {"all": (10, 1500, 150), "tenth": (100, 1500, 150)})
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
