#!/bin/sh
# ping waits for the last reply only as long as for two of the round trips so far: `-W 3` does not save a last one of 0.6 s.
#
# One would guess: `-W 3` is the time that each reply has, the last one too; a reply after 0.6 s is received.
# So it is: -W counts only while there was no reply at all. Otherwise ping ends after twice the longest round trip, or after the interval
# if that is longer: with an interval of 0.2 s and 10 ms before, a last reply after 0.6 s is lost. Where the delay rises during the test
# (a queue that fills, a failover) the last replies count as lost: here 10 % of ten. The same answer to the only ping of a run is
# received.
#
# Needs root, for a network namespace of its own. Uses iputils-ping 20221126 (3:20221126-1+deb12u1) and iproute2 6.1.0-3 of Debian 12; no
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iputils-ping=3:20221126-1+deb12u1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ping -V > version || exit 2
head -n 1 version
cat > try.py <<'END'
import re
import socket
import struct
import subprocess
import sys
import threading
import time


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
host.bind(("host", 0))


def answer(frame, delay):
    """Sends the reply to an echo request, late."""
    time.sleep(delay)
    echo = frame[34:14 + struct.unpack("!H", frame[16:18])[0]]
    echo = b"\0\0\0\0" + echo[4:]
    echo = echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]
    host.send(frame[6:12] + frame[:6] + frame[12:26] + frame[30:34] + frame[26:30] + echo)


def serve():
    """Answers each request after 10 ms, and the one with the sequence number 10, and a single one of 99 bytes, after 0.6 s."""
    while True:
        frame = host.recv(2000)
        if frame[23] == 1 and frame[34] == 8:
            slow = struct.unpack("!H", frame[40:42])[0] == 10 or len(frame) == 14 + 20 + 8 + 100
            threading.Thread(target=answer, args=(frame, 0.6 if slow else 0.01), daemon=True).start()


def received(*options):
    output = subprocess.run(["ping", *options, "-W", "3", "10.0.0.2"], capture_output=True, text=True).stdout
    print("ping", *options, "-W 3:", re.search(r"\d+ packets.*", output)[0])
    return int(re.search(r"(\d+) received", output)[1])


threading.Thread(target=serve, daemon=True).start()
print("replies after 10 ms, the tenth and the single one after 0.6 s")
sys.exit((received("-c", "10", "-i", "0.2"), received("-c", "1", "-s", "100")) != (9, 1))
END
cat > try.sh <<'END'
set -eu
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add west type veth peer name host address 02:00:00:00:00:02
ip address add 10.0.0.1/24 dev west
ip link set west up
ip link set host up
ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev west
python3 try.py
END
unshare -n sh try.sh
