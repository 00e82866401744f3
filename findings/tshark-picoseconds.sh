#!/bin/sh
# tshark shows 0.123456789012 s of a capture in picoseconds as 0.012776324 s: from 0.018 s on parts of a second wrap around.
#
# One would guess: a time of a pcapng file whose unit (`if_tsresol`) is the picosecond is cut to nanoseconds, or refused.
# So it is: whole seconds are right, and the rest of the second is right up to 18 ms. Above that a product of 64 bits overflows, and the
# time is one between 0 and 18.4 ms, so packets go back in time, and rates and delays are wrong. capinfos and editcap of the same version
# read such files so, too. dpkt, Scapy and tcpdump read them right. Cards with picosecond stamps exist: write nanoseconds.
#
# Uses tshark 4.0.17-0+deb12u3 of Debian 12, tcpdump 4.99.3-1 with libpcap0.8 1.10.3-1 and dpkt 1.9.8 from PyPI to compare; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install dpkt==1.9.8 || exit 2
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" TZ=UTC
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
cat > try.py <<'END'
import struct
import subprocess
import sys

import dpkt

PICO = 10**12
# Picoseconds past the second 1,000: even, one each 3 ms for a while, and a few beyond.
PARTS = [0, 3_000_000_000, 18_000_000_000, 19_000_000_000, 123_456_789_012, 500_000_000_000, 999_999_999_999]


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


with open("pico.pcapng", "wb") as file:
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    file.write(block(1, struct.pack("<HHIHHBxxxI", 1, 0, 65535, 9, 1, 12, 0)))
    for part in PARTS:
        time = 1000 * PICO + part
        file.write(block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, 60, 60) + bytes(60)))
command = ["usr/bin/tshark", "-r", "pico.pcapng", "-T", "fields", "-e", "frame.time_epoch"]
tshark = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
command = ["usr/bin/tcpdump", "-tt", "-n", "-r", "pico.pcapng"]
tcpdump = [line.split()[0] for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
with open("pico.pcapng", "rb") as file:
    read = [float(time) for time, _ in dpkt.pcapng.Reader(file)]
print("written           tshark          tcpdump      dpkt")
for part, *times in zip(PARTS, tshark, tcpdump, read, strict=True):
    print(f"1000.{part:012d}", *times)
wrapped = [round((float(time) - 1000) * 1e9) for time in tshark]
right = [part // 1000 for part in PARTS]
others = all(abs(float(each) - 1000 - part / PICO) < 2e-6 for part, *both in zip(PARTS, tcpdump, read) for each in both)
sys.exit(not (wrapped[:3] == right[:3] and all(0 <= each < 18_500_000 for each in wrapped[3:]) and others))
END
venv/bin/python try.py
