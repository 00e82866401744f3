#!/bin/sh
# Packets of pcapng's Simple Packet Blocks, which have no time, are read as of now by Scapy, as of 1970 by tcpdump, and not at all by dpkt.
#
# One would guess: a packet without a time has none, or that of the packet before it, and all readers count the same packets.
# So it is: a capture of three packets, the second in a Simple Packet Block, has three packets for Scapy, tcpdump and tshark and two for
# dpkt. Scapy dates the second at the moment of reading, so the capture lasts from 1970 to today and a replay by its times waits for
# years; tcpdump dates it 0; tshark shows no time. Write Enhanced Packet Blocks, and check times before a replay.
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
import time

import dpkt
import scapy
from scapy.utils import PcapReader

FRAME = bytes(60)


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def enhanced(seconds):
    stamp = seconds * 10**6
    return block(6, struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(FRAME), len(FRAME)) + FRAME)


with open("simple.pcapng", "wb") as file:
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 65535)))
    file.write(enhanced(1000) + block(3, struct.pack("<I", len(FRAME)) + FRAME) + enhanced(1001))
with open("simple.pcapng", "rb") as file:
    of_dpkt = [float(stamp) for stamp, _ in dpkt.pcapng.Reader(file)]
of_scapy = [float(packet.time) for packet in PcapReader("simple.pcapng")]
lines = subprocess.run(["usr/bin/tcpdump", "-tt", "-n", "-r", "simple.pcapng"], capture_output=True, text=True, check=True).stdout
of_tcpdump = [float(line.split()[0]) for line in lines.splitlines()]
command = ["usr/bin/tshark", "-r", "simple.pcapng", "-T", "fields", "-e", "frame.number", "-e", "frame.time_epoch"]
of_tshark = [line.split("\t")[1] for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
print("packets at 1000 s, without a time, at 1001 s")
print(f"dpkt {dpkt.__version__}:", of_dpkt)
print(f"Scapy {scapy.__version__}:", of_scapy)
print("tcpdump:", of_tcpdump)
print("tshark:", of_tshark)
as_described = of_dpkt == [1000, 1001] and of_tcpdump == [1000, 0, 1001] and [each != "" for each in of_tshark] == [True, False, True]
sys.exit(not (as_described and of_scapy[::2] == [1000, 1001] and abs(of_scapy[1] - time.time()) < 60))
END
venv/bin/python try.py
