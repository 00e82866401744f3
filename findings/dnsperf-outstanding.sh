#!/bin/sh
# dnsperf -Q 5000 sends 1,000 queries a second to a server that takes 100 ms: at most 100 queries wait for an answer at a time.
#
# One would guess: `-Q 5000` is the rate, up to what machine and network can do; a server that cannot keep up shows a loss or long waits.
# So it is: after 100 queries without an answer the next one waits for an answer or a time-out, so the rate is 100 by the latency, without a
# word of it. The server looks as if it could do 1,000 a second, and never sees more load than it can bear; that a query had to wait is in
# no latency either. `-q 10000` lets the rate through.
#
# Uses dnsperf 2.10.0-2 and libraries of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dnsperf=2.10.0-2 libldns3=1.8.3-1+b1 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time
from collections import deque

DELAY = 0.1
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
server.bind(("127.0.0.1", 0))
server.settimeout(0.002)


def serve():
    """Answers each query after a tenth of a second: no such name."""
    waiting = deque()
    while True:
        try:
            query, client = server.recvfrom(2000)
            waiting.append((time.monotonic() + DELAY, query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:], client))
        except TimeoutError:
            pass
        while waiting and waiting[0][0] <= time.monotonic():
            _, answer, client = waiting.popleft()
            server.sendto(answer, client)


def rate(*options):
    """Queries a second that dnsperf reports, and its average latency."""
    command = ["usr/bin/dnsperf", "-s", "127.0.0.1", "-p", str(server.getsockname()[1]), "-d", "names", "-Q", "5000", "-l", "3", *options]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sent = int(re.search(r"Queries sent:\s+(\d+)", output)[1]) / 3
    latency = float(re.search(r"Average Latency \(s\):\s+([\d.]+)", output)[1])
    print(re.search(r"Version (\S+)", output)[0], "-Q 5000", *options, f"{sent:.0f} queries/s sent, average latency {latency} s")
    return sent, latency


threading.Thread(target=serve, daemon=True).start()
with open("names", "w") as file:
    file.writelines(f"n{number}.example.com A\n" for number in range(20_000))
usual, more = rate(), rate("-q", "10000")
sys.exit(not (usual[0] < 1100 and usual[1] >= DELAY and more[0] > 1300))
END
python3 try.py
