#!/bin/sh
# fping takes an answer that comes later than its interval for lost: `-p 200` over a path of 350 ms is a loss of 100 %.
#
# One would guess: `-p` is how often it sends, and an answer counts if it comes in time; ping sends each 200 ms and waits for seconds.
# So it is: with `-c` or `-C` the time to wait is the interval unless `-t` sets it: 200 ms here, though without a count it is 500 ms. The
# answers arrive, are thrown away, and the report says 10/0/100%. ping, BusyBox's ping, mtr and oping see 0 % of the same answers lost.
# Give fping `-t` whenever you give it `-p`.
#
# Needs root, for a network namespace of its own with a TUN device on which the script answers. Uses fping 5.1-1 of Debian 12, and
# iputils-ping 3:20221126-1+deb12u1 to compare; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download fping=5.1-1 iputils-ping=3:20221126-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/bin:$folder/usr/bin:$PATH"
fping --version | head -n 1 && ping -V || exit 2
cat > try.py <<'END'
import fcntl
import os
import re
import struct
import subprocess
import sys
import threading

DELAY = 0.35
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
for command in ("link set lo up", "addr add 192.0.2.1/24 dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *command.split()], check=True)


def answer():
    """Answers ICMP echo requests late. An echo reply's checksum differs by that of its type only."""
    while True:
        packet = bytearray(os.read(tun, 2048))
        if packet[0] >> 4 == 4 and packet[9] == 1 and packet[20] == 8:
            checksum = struct.unpack_from("!H", packet, 22)[0] + 0x0800
            struct.pack_into("!BBH", packet, 20, 0, 0, (checksum & 0xFFFF) + (checksum >> 16))
            packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
            threading.Timer(DELAY, os.write, (tun, bytes(packet))).start()


threading.Thread(target=answer, daemon=True).start()
seen = []
for command in ("ping -q -c 10 -i 0.2", "fping -q -c 10 -p 200", "fping -q -c 10 -p 200 -t 1000"):
    ran = subprocess.run([*command.split(), "192.0.2.2"], capture_output=True, text=True)
    line = re.search(r".*\d%.*", ran.stdout + ran.stderr)[0]
    seen.append(int(re.search(r"(\d+)%", line[line.index("192") if "192" in line else 0:])[1]))
    print(f"{command}: {line}")
sys.stdout.flush()
os._exit(seen != [0, 100, 0])
END
unshare -n python3 try.py
