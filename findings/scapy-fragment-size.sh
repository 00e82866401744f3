#!/bin/sh
# Scapy's fragment(packet, 1500) makes packets of 1,516 bytes, fragment6(packet, 1500) packets of at most 1,500.
#
# One would guess: the size is that of the fragments, headers included, for IPv4 as for IPv6, so that 1,500 suits an MTU of 1,500.
# So it is: fragment's `fragsize` is what a fragment carries, rounded up to a multiple of eight, and the IP header comes on top. With the
# 1,480 it takes by default and an IP option, packets have 1,504 bytes. A sender with an MTU of 1,500 refuses them, a device drops them.
# fragment6's `fragSize` is the packet's length with headers.
#
# Uses Scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import scapy
from scapy.layers.inet import IP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import IPv6, fragment6
from scapy.packet import Raw

print("Scapy", scapy.__version__)
data = UDP(sport=1000, dport=2000) / Raw(bytes(3000))
plain = IP(src="192.0.2.1", dst="192.0.2.2")
option = IP(src="192.0.2.1", dst="192.0.2.2", options=[IPOption_Router_Alert()])
seen = {
    "fragment(…, 1500)": fragment(plain / data, 1500),
    "fragment(…)": fragment(plain / data),
    "fragment(…) with an IP option": fragment(option / data),
    "fragment6(…, 1500)": fragment6(IPv6(src="2001:db8::1", dst="2001:db8::2") / data, 1500),
}
lengths = [max(len(packet) for packet in packets) for packets in seen.values()]
for name, length in zip(seen, lengths):
    print(f"{name}: the longest packet has {length} bytes")
sys.exit(not (lengths[:3] == [1516, 1500, 1504] and lengths[3] <= 1500))
END
