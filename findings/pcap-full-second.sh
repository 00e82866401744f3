#!/bin/sh
# dpkt and Scapy write a packet at 1.9999999 s with 1,000,000 microseconds, for which tcpdump and tshark show 1.1 s.
#
# One would guess: the writer rounds to 2.000000 s or cuts to 1.999999 s; the format has microseconds from 0 to 999,999.
# So it is: seconds are cut and microseconds rounded, each for itself: 1 and 1,000,000. tcpdump shows 1.1000000 and tshark 1.1000000000, one
# digit more than there are, so that whoever reads them has the packet 0.9 s early; Scapy reads 2 s. Of random times one in two million is
# near enough to the next second, of times on a grid, as computed ones are, more. Round a time to microseconds before it is written.
#
# Uses dpkt 1.9.8 and Scapy 2.8.0 from PyPI, tcpdump 4.99.3-1 and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install dpkt==1.9.8 scapy==2.8.0 || exit 2
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH"
tshark --version 2> log | head -1 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import struct
import subprocess
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
import scapy
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap

print("dpkt", dpkt.__version__, "Scapy", scapy.__version__)
with open("one.pcap", "wb") as file:
    dpkt.pcap.Writer(file).writepkt(bytes(60), ts=1.9999999)
packet = Ether()
packet.time = 1.9999999
wrpcap("two.pcap", packet)
written = [struct.unpack("<II", open(name, "rb").read()[24:32]) for name in ("one.pcap", "two.pcap")]
for writer, (seconds, microseconds) in zip(("dpkt", "Scapy"), written):
    print(f"{writer} writes a packet at 1.9999999 s as {seconds} s and {microseconds} µs")


def shown(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.split()[0]


tcpdump = shown("tcpdump -n -tt -r one.pcap")
tshark = shown("tshark -r one.pcap -T fields -e frame.time_epoch")
read = float(rdpcap("one.pcap")[0].time)
print("tcpdump -tt:", tcpdump, " tshark:", tshark, " Scapy:", read)
sys.exit(written != [(1, 1_000_000)] * 2 or (tcpdump, tshark, read) != ("1.1000000", "1.1000000000", 2.0))
END
