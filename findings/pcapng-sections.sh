#!/bin/sh
# Of two pcapng files put one behind the other Scapy and dpkt read the second one's times in the first one's unit: 1,001 s is 1,001,000 s.
#
# One would guess: `cat a.pcapng b.pcapng` is a capture with two sections, as the format says, and each section has interfaces of its own,
# with units of their own.
# So it is: Scapy keeps the first section's interfaces in front of the second's, so that the second one's packets are taken for those of
# the first one's interface; dpkt keeps the first unit for all. Where the second section's unit is the nanosecond its times are a
# thousand times too large. If its byte order is another one (a capture of a big-endian device), Scapy reads it, dpkt ends without an
# error and tcpdump with one. tshark reads all of them right. Join captures with `mergecap -a`.
#
# Uses Scapy 2.8.0 and dpkt 1.9.8 from PyPI, and tshark 4.0.17-0+deb12u3, tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12 to compare;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 dpkt==1.9.8 || exit 2
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
cat > try.py <<'END'
import struct
import subprocess
import sys

import dpkt
import scapy
from scapy.utils import PcapReader

FRAME = bytes(60)


def section(order, exponent, seconds):
    """A section of an interface that counts in 10 to the -exponent seconds, with one packet."""

    def block(kind, body):
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    time = seconds * 10**exponent
    return (
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
        + block(1, struct.pack(order + "HHIHHBxxxI", 1, 0, 65535, 9, 1, exponent, 0))
        + block(6, struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, 60, 60) + FRAME)
    )


def read(name):
    """The times that each of the readers finds."""
    with open(name, "rb") as file:
        found = {"dpkt": [float(time) for time, _ in dpkt.pcapng.Reader(file)]}
    found["Scapy"] = [float(packet.time) for packet in PcapReader(name)]
    command = ["usr/bin/tcpdump", "-tt", "-n", "-r", name]
    found["tcpdump"] = [float(line.split()[0]) for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines()]
    command = ["usr/bin/tshark", "-r", name, "-T", "fields", "-e", "frame.time_epoch"]
    found["tshark"] = [float(time) for time in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
    return found


FILES = {
    "microseconds, then nanoseconds": (section("<", 6, 1000) + section("<", 9, 1001)),
    "little-endian, then big-endian": (section("<", 6, 1000) + section(">", 6, 1001)),
}
print(f"packets at 1000 and 1001 s; dpkt {dpkt.__version__}, Scapy {scapy.__version__}")
seen = []
for name, content in FILES.items():
    with open("both.pcapng", "wb") as file:
        file.write(content)
    seen.append(read("both.pcapng"))
    print(f"{name}: {seen[-1]}")
both, wrong = [1000.0, 1001.0], [1000.0, 1_001_000.0]
units = {"dpkt": wrong, "Scapy": wrong, "tcpdump": both, "tshark": both}
orders = {"dpkt": both[:1], "Scapy": both, "tcpdump": both[:1], "tshark": both}
sys.exit(seen != [units, orders])
END
venv/bin/python try.py
