#!/bin/sh
# icmplib's `interval` begins when a reply has come: ten pings "0.2 s apart" over a path of 350 ms are 0.55 s apart, and 2.2 s after a loss.
#
# One would guess: ping(count=10, interval=0.2) sends ten requests in 1.8 s, as `ping -c 10 -i 0.2` does, and waits for the last replies.
# So it is: each request waits for the reply of the one before, or for its time-out, and then for the interval. Ten requests take 5 s
# over 350 ms, and one lost makes it 7 s. An outage of a second costs one request, where ping loses five, so the loss in per cent is
# not that of ping, and the longer the time-out is the smaller it gets. Set `timeout` to the interval.
#
# Needs root, for namespaces of its own. Uses icmplib 3.0.4 from PyPI, and iputils-ping 3:20221126-1+deb12u1 and iproute2 6.1.0-3 of Debian
# 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install icmplib==3.0.4 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iputils-ping=3:20221126-1+deb12u1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/bin:$folder/sbin:$PATH"
ping -V || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading
import time

import icmplib

DELAY, LOST = 0.35, 3
MAC = bytes([2, 0, 0, 0, 0, 2])


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


class Host:
    """Replies to each ping after 0.35 s, but not to the fourth; keeps the times of requests."""

    def __init__(self):
        self.times = []
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.wire.bind(("wire", 0x0003))
        threading.Thread(target=self.reply, daemon=True).start()

    def reply(self):
        while True:
            frame = self.wire.recv(2000)
            if frame[12:14] == b"\x08\0" and frame[23] == 1 and frame[34] == 8:
                self.times.append(time.monotonic())
                if len(self.times) - 1 == LOST:
                    continue
                answer = b"\0\0" + checksum(b"\0\0\0\0" + frame[38:]) + frame[38:]
                packet = frame[6:12] + MAC + frame[12:26] + frame[30:34] + frame[26:30] + answer
                threading.Timer(DELAY, self.wire.send, (packet,)).start()

    def gaps(self):
        times, self.times = self.times, []
        return [round(after - before, 1) for before, after in zip(times, times[1:])]


for command in (
    "link add near type veth peer name wire",
    "address add 10.0.0.1/24 dev near",
    "link set near up",
    "link set wire up",
    f"neighbor add 10.0.0.2 lladdr {MAC.hex(':')} dev near",
):
    subprocess.run(["ip", *command.split()], check=True)
host = Host()
result = icmplib.ping("10.0.0.2", count=10, interval=0.2, timeout=2)
of_icmplib = host.gaps()
print(f"icmplib {icmplib.__version__}: gaps {of_icmplib} s, a loss of {result.packet_loss:.0%}, mean {result.avg_rtt:.0f} ms")
subprocess.run("ping -q -c 10 -i 0.2 -W 2 10.0.0.2".split(), capture_output=True)
of_ping = host.gaps()
print(f"ping: gaps {of_ping} s")
slow = len(of_icmplib) == 9 and of_icmplib[LOST] >= 2.1 and all(0.5 <= gap <= 0.9 for gap in of_icmplib[:LOST] + of_icmplib[LOST + 1 :])
sys.exit(not (slow and len(of_ping) == 9 and sum(of_ping) < 2.5))
END
unshare -n venv/bin/python try.py
