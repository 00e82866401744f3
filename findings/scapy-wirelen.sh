#!/bin/sh
# A packet that Scapy has read and a script has changed is written with its old length on the wire: 1,100 bytes captured of 1,000.
#
# One would guess: wrpcap writes the length that a packet has, as it does for one that was made by hand, or computes it when `len` and
# `chksum` are deleted to have them computed.
# So it is: rdpcap keeps the length of the record as `wirelen`, and wrpcap writes that. A packet of 1,000 bytes that was lengthened to 1,100
# has a record of "1,100 of 1,000 bytes", one shortened to 52 of "52 of 1,000": cut short. tshark's frame.len, and what counts bytes by it,
# has 1,000 for both. Set `packet.wirelen = None`, or write `Ether(bytes(packet))`.
#
# Uses Scapy 2.8.0 from PyPI, and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
tshark --version 2> log | head -1 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import subprocess
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import scapy
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import rdpcap, wrpcap

print("Scapy", scapy.__version__)
wrpcap("in.pcap", Ether(dst="02:00:00:00:00:02") / IP(dst="192.0.2.2") / UDP() / Raw(bytes(958)))
packets = []
for size, forget in ((958, False), (1058, False), (10, False), (1058, True)):
    packet = rdpcap("in.pcap")[0]
    packet[UDP].payload = Raw(bytes(size))
    del packet[IP].len, packet[IP].chksum, packet[UDP].len, packet[UDP].chksum
    if forget:
        packet.wirelen = None
    packets.append(packet)
wrpcap("out.pcap", packets)
command = "tshark -r out.pcap -T fields -e frame.cap_len -e frame.len"
lines = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.splitlines()
seen = [tuple(map(int, line.split())) for line in lines]
for (captured, length), how in zip(seen, ("as read", "lengthened", "shortened", "lengthened, wirelen = None")):
    print(f"{how}: {captured} bytes captured of {length}")
sys.exit(seen != [(1000, 1000), (1100, 1000), (52, 1000), (1100, 1100)])
END
