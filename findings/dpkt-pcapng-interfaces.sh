#!/bin/sh
# dpkt reads all packets of a pcapng file with the first interface's time unit: 1,001 s becomes 1,001,000 s.
#
# One would guess: each packet's time counts in the unit of its own interface (`if_tsresol`), as the format says.
# So it is: dpkt keeps the resolution of the first interface block. Where another interface counts in nanoseconds, as in captures
# from a card with hardware time stamps merged with those of a usual one, its times are a thousand times too large.
#
# Uses dpkt 1.9.8 from PyPI, and tshark 4.0.17-0+deb12u3 of Debian 12 to compare; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install dpkt==1.9.8 || exit 2
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
venv/bin/python - <<'END'
import struct
import subprocess
import sys

import dpkt


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def interface(exponent):
    """An Ethernet interface whose times count in units of 10 to the -exponent seconds."""
    return block(1, struct.pack("<HHIHHBxxxI", 1, 0, 65535, 9, 1, exponent, 0))


def packet(interface, time):
    return block(6, struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, 60, 60) + bytes(60))


with open("two.pcapng", "wb") as file:
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + interface(6) + interface(9))
    file.write(packet(0, 1000 * 10**6) + packet(1, 1001 * 10**9) + packet(0, 1002 * 10**6))
with open("two.pcapng", "rb") as file:
    seen = [float(time) for time, _ in dpkt.pcapng.Reader(file)]
command = ["usr/bin/tshark", "-r", "two.pcapng", "-T", "fields", "-e", "frame.time_epoch"]
right = [float(time) for time in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
print("packets of interfaces 0 (µs), 1 (ns), 0, at 1000, 1001 and 1002 s")
print("tshark:", *right)
print(f"dpkt {dpkt.__version__}:", *seen)
sys.exit((right, seen) != ([1000.0, 1001.0, 1002.0], [1000.0, 1_001_000.0, 1002.0]))
END
