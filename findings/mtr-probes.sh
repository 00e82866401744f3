#!/bin/sh
# `mtr -c 10 -i 0.2` sends a host 350 ms away 28 pings and reports ten; at 1.5 s it is 100: probes for hops behind the host arrive, too.
#
# One would guess: `-c 10` with `-i 0.2` sends each hop ten probes, five a second, so that a host at the end of the path has ten.
# So it is: until the first answer of the host itself mtr does not know how long the path is, and sends probes with TTLs for ten hops
# in each cycle; all with a TTL that is long enough reach the host. "Snt" counts those of its own hop only. Hosts and routers that limit
# ICMP by rate then lose what mtr reports as a loss of the path, and a count of echo requests at the host does not fit the report. Set
# `-m` to the host's distance, or use ping.
#
# Needs root, for a network namespace of its own. Uses mtr-tiny 0.95-1 and iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download mtr-tiny=0.95-1 libjansson4=2.14-2 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$folder/sbin:$folder/bin:$PATH"
mtr --version && ip -V && uname -sr || exit 2
cat > try.py <<'END'
import fcntl
import os
import re
import struct
import subprocess
import sys
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
tunnel = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH", b"path", IFF_TUN | IFF_NO_PI))
delay = 0.0
requests = 0


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF)


def reply(packet):
    """The answer to an echo request."""
    header = packet[:8] + b"\x40\x01\0\0" + packet[16:20] + packet[12:16]
    message = bytes(4) + packet[24:] + bytes(len(packet) % 2)
    message = message[:2] + checksum(message) + message[4:]
    return header[:10] + checksum(header) + header[12:] + message[: len(packet) - 20]


def host():
    """Answers each echo request to 10.0.0.2 after the delay."""
    global requests
    while True:
        packet = os.read(tunnel, 2000)
        if packet[0] == 0x45 and packet[9] == 1 and packet[20] == 8:
            requests += 1
            threading.Timer(delay, os.write, (tunnel, reply(packet))).start()


def trial(seconds, options):
    global delay, requests
    delay, requests = seconds, 0
    command = f"mtr -n -r -c 10 -i 0.2 10.0.0.2{options}"
    shown = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
    loss, sent = re.search(r"10\.0\.0\.2 +([\d.]+)% +(\d+)", shown).groups()
    print(f"host after {seconds} s, {command}: loss {loss} %, sent {sent}; the host has had {requests} requests")
    return float(loss), int(sent), requests


for command in ("ip address add 10.0.0.1/24 dev path", "ip link set path up", "ip link set lo up"):
    subprocess.run(command.split(), check=True)
threading.Thread(target=host, daemon=True).start()
time.sleep(0.2)
near, middle, far = [trial(seconds, "") for seconds in (0.001, 0.35, 1.5)]
one = trial(1.5, " -m 1")
counted = all(result[:2] == (0, 10) for result in (near, middle, far, one))
sys.exit(not (counted and near[2] < 20 and 20 < middle[2] < 50 and far[2] > 60 and one[2] < 15))
END
unshare -n python3 try.py
