#!/bin/sh
# tcprewrite --fixcsum leaves the checksums of SCTP, tunnels, routing headers and short ICMP messages wrong.
#
# One would guess: "Force recalculation of IPv4/TCP/UDP header checksums" leaves a capture whose checksums are all right.
# So it is: UDP right behind IP is put right. Left as they are: UDP behind an IPv6 routing header, the inner packet of GRE and
# the CRC-32c of SCTP, without a warning; and ICMP messages with 16 bytes of data, with a warning. The exit code is 0. A device
# or host behind it drops such packets, and the loss looks like that of the network.
#
# Uses tcpreplay 4.4.3-1 and libdumbnet1 1.16.3-1 of Debian 12, and Scapy 2.8.0 from PyPI to make and check packets; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpreplay=4.4.3-1 libdumbnet1=1.16.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tcprewrite -V 2>&1 | head -n 1 | grep version || exit 2
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
venv/bin/python - <<'END'
import subprocess
import sys

from scapy.all import ICMP, IP, UDP, Ether, IPv6, IPv6ExtHdrRouting, Raw, rdpcap, wrpcap
from scapy.layers.l2 import GRE
from scapy.layers.sctp import SCTP, SCTPChunkData

outer, inner = IP(src="192.0.2.1", dst="192.0.2.2"), IP(src="198.51.100.1", dst="198.51.100.2")
datagram = UDP(sport=1000, dport=2000) / Raw(b"sixteen bytes...")
address = {"src": "2001:db8::1", "dst": "2001:db8::2"}
# Each packet, the protocol whose checksum is spoiled, and whether it is put right.
PACKETS = {
    "UDP over IPv4": (outer / datagram, UDP, True),
    "UDP over IPv6": (IPv6(**address) / datagram, UDP, True),
    "UDP behind a routing header": (IPv6(**address) / IPv6ExtHdrRouting(addresses=["2001:db8::3"], segleft=0) / datagram, UDP, False),
    "UDP in GRE": (outer / GRE() / inner / datagram, UDP, False),
    "SCTP": (outer / SCTP(sport=1000, dport=2000) / SCTPChunkData(data=b"data"), SCTP, False),
    "ICMP echo with 56 bytes": (outer / ICMP() / Raw(bytes(56)), ICMP, True),
    "ICMP echo with 16 bytes": (outer / ICMP() / Raw(bytes(16)), ICMP, False),
}
as_described = True
for name, (packet, layer, expected) in PACKETS.items():
    right = Ether(bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet))
    wrong = right.copy()
    wrong[layer].chksum = right[layer].chksum ^ 0x5555
    wrpcap("wrong.pcap", [wrong])
    command = ["usr/bin/tcprewrite", "--fixcsum", "-i", "wrong.pcap", "-o", "fixed.pcap"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    fixed = rdpcap("fixed.pcap")[0][layer].chksum == right[layer].chksum
    print(f"{name}: {'put right' if fixed else 'left wrong'}", *done.stderr.splitlines()[1:2], sep=". ")
    as_described = as_described and fixed == expected
sys.exit(not as_described)
END
