#!/bin/sh
# sockperf's ping-pong reports half of each round trip: over a path of 10 ms each way its latency is 10 ms, not 20.
#
# One would guess: the latency of a ping-pong test, with its percentiles to 99.999, is the time until the answer, as ping's is.
# So it is: each time is halved before it is counted, and the summary calls the result "Latency". Beside ping, or any other RTT, it looks
# twice as fast. `--full-rtt` gives round trips.
#
# Uses sockperf 3.7-1 of Debian 12, with a relay on loopback ports that delays both ways; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download sockperf=3.7-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/sockperf --version > version 2>&1 || grep -q version version || exit 2
grep -oE 'version [#.0-9]+' version
cat > try.py <<'END'
import heapq
import itertools
import re
import select
import socket
import subprocess
import sys
import threading
import time

DELAY = 0.01


def relay():
    """Passes datagrams on between a client and the server, each 10 ms late."""
    front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    front.bind(("127.0.0.1", 7001))
    back.connect(("127.0.0.1", 7002))
    waiting, number, client = [], itertools.count(), None
    while True:
        wait = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for ready in select.select([front, back], [], [], wait)[0]:
            data, sender = ready.recvfrom(2000)
            if ready is front:
                client = sender
            heapq.heappush(waiting, (time.monotonic() + DELAY, next(number), ready is front, data))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to_server, data = heapq.heappop(waiting)
            if to_server:
                back.send(data)
            else:
                front.sendto(data, client)


threading.Thread(target=relay, daemon=True).start()
server = subprocess.Popen("usr/bin/sockperf server -i 127.0.0.1 -p 7002".split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
time.sleep(1)
medians = []
try:
    for option in ("", "--full-rtt"):
        command = f"usr/bin/sockperf ping-pong -i 127.0.0.1 -p 7001 -t 3 {option}"
        output = subprocess.run(command.split(), capture_output=True, text=True).stdout
        medians.append(float(re.search(r"percentile 50\.000 = +([\d.]+)", output)[1]) / 1000)
        print(f"ping-pong {option}: {re.search(r'Summary: .*', output)[0]}; median {medians[-1]:.2f} ms")
finally:
    server.terminate()
    server.wait()
print("least time of a round trip: 20 ms")
sys.exit(not (10 <= medians[0] < 15 and 20 <= medians[1] < 30))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
