#!/bin/sh
# ping3 takes the late reply of one ping for the next one's: with a time-out of 0.2 s over a path of 350 ms pings "succeed" after 350 ms.
#
# One would guess: ping(host, timeout=0.2) returns None for each reply that comes later than 0.2 s, so over a path of 350 ms all of six are
# lost.
# So it is: all requests of a program have the same identifier and, unless `seq` is given, the sequence number 0. The second call reads the
# first one's reply after 0.15 s, takes the time of sending from its data, and returns 0.35 s, more than its time-out. Of six
# pings some two to four succeed; each one answers for another. A monitor shows a loss of a half on a path that loses nothing, or no outage
# for the first ping in it. With a new `seq` for each call all six are None.
#
# Needs root, for namespaces of its own. Uses ping3 5.1.6 from PyPI, and iproute2 6.1.0-3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install ping3==5.1.6 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/bin:$folder/sbin:$PATH"
ip -V > log || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading
import time

import ping3

DELAY, TIMEOUT = 0.35, 0.2
MAC = bytes([2, 0, 0, 0, 0, 2])


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def reply():
    """Answers each ping after 0.35 s."""
    while True:
        frame = wire.recv(2000)
        if frame[12:14] == b"\x08\0" and frame[23] == 1 and frame[34] == 8:
            ping = frame[38 : 14 + int.from_bytes(frame[16:18], "big")]
            answer = b"\0\0" + checksum(b"\0\0\0\0" + ping) + ping
            packet = frame[6:12] + MAC + frame[12:26] + frame[30:34] + frame[26:30] + answer
            threading.Timer(DELAY, wire.send, (packet,)).start()


for command in (
    "link add near type veth peer name wire",
    "address add 10.0.0.1/24 dev near",
    "link set near up",
    "link set wire up",
    f"neighbor add 10.0.0.2 lladdr {MAC.hex(':')} dev near",
):
    subprocess.run(["ip", *command.split()], check=True)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
wire.bind(("wire", 0x0003))
threading.Thread(target=reply, daemon=True).start()


def shown(times):
    return " ".join("None" if time is None else f"{time:.2f}" for time in times)


plain = [ping3.ping("10.0.0.2", timeout=TIMEOUT) for _ in range(6)]
time.sleep(1)
numbered = [ping3.ping("10.0.0.2", timeout=TIMEOUT, seq=number) for number in range(1, 7)]
print(f"ping3 {ping3.__version__}, a time-out of {TIMEOUT} s over a path of {DELAY} s: {shown(plain)}")
print(f"with a seq for each: {shown(numbered)}")
late = [time for time in plain if time is not None]
sys.exit(not (plain[0] is None and len(late) >= 2 and min(late) > DELAY - 0.01 and numbered == [None] * 6))
END
unshare -n venv/bin/python try.py
