#!/bin/sh
# tcpstat -a divides by whole intervals of five seconds and one more: a second of 986 kB/s is 96.3 KB a second.
#
# One would guess: the averages that `-a` shows are the bytes of the capture by the time from its first packet to its last.
# So it is: the time is a multiple of five seconds, and longer than the capture by up to ten: a second of 1,000 IP packets of 986
# bytes counts as ten seconds. A capture of 6 s shows 40 % of its rate, one of a minute 92 %, and the lines for an hour, a day and a month
# are made of that. `tcpstat -o '%b' -1` divides by the time of the packets.
#
# Uses tcpstat 1.5-8+b1 and libpcap0.8 1.10.3-1 of Debian 12, which read captures that the script writes; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpstat=1.5-8+b1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
cat > try.py <<'END'
import re
import struct
import subprocess
import sys

LENGTH = 1000
UNITS = {"B": 1, "KB": 1024, "MB": 1024**2}
UDP = struct.pack("!HHHH", 1024, 1025, LENGTH - 34, 0) + bytes(LENGTH - 42)
IP = struct.pack("!BBHHHBBH4s4s", 0x45, 0, LENGTH - 14, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
FRAME = b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + IP + UDP


def tcpstat(seconds, rate, *options):
    """Output for a capture of so many packets a second."""
    with open("capture.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(seconds * rate):
            microseconds = number * 1_000_000 // rate
            file.write(struct.pack("<IIII", 1000 + microseconds // 1_000_000, microseconds % 1_000_000, LENGTH, LENGTH) + FRAME)
    return subprocess.run(["usr/bin/tcpstat", "-r", "capture.pcap", *options], capture_output=True, text=True, check=True).stdout


print("tcpstat 1.5-8+b1")
seen = []
for seconds in (1, 6, 60):
    number, unit = re.search(r"Bytes/sec\s*=\s*([\d.]+)\s*(\w+)", tcpstat(seconds, 1000, "-a")).groups()
    average, rate = float(number) * UNITS[unit], float(tcpstat(seconds, 1000, "-o", "%b", "-1")) / 8
    print(f"{seconds} s of 1,000 packets/s: -1 says {rate:,.0f} bytes/s; -a says {number} {unit}/s, {average / rate:.0%} of it")
    seen.append(round(average / rate, 1))
sys.exit(seen != [0.1, 0.4, 0.9])
END
python3 try.py
