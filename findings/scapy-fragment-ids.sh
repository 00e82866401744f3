#!/bin/sh
# All of Scapy's IPv4 packets have the identification 1: of fragmented datagrams one lost fragment takes the next datagram along.
#
# One would guess: fragment() gives each datagram's fragments an identification of their own, as a host does, so that a lost one costs its
# datagram only.
# So it is: IP() has the id 1, and fragment() leaves it. A receiver puts the first part of one datagram and the second of the next together,
# and drops the result for its checksum: with the second fragment of four of 20 datagrams lost it gets 12, not 16, and over several paths
# or with reordering fewer still. A datagram without a UDP checksum would be delivered with a wrong half. Set `id=` of each packet.
#
# Needs root, for namespaces of its own. Uses scapy 2.8.0 from PyPI and iproute2 6.1.0-3 of Debian 12 (Linux 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

import scapy
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw

MAC = "02:00:00:00:00:01"
DATAGRAMS, LOST = 20, {2, 7, 12, 17}
for command in (
    f"link add host address {MAC} type veth peer name wire",
    "address add 10.0.0.1/24 dev host",
    "link set host up",
    "link set wire up",
):
    subprocess.run(["ip", *command.split()], check=True)
time.sleep(1)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire", 0))
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("10.0.0.1", 9))
receiver.settimeout(0.5)


def arrived(header):
    """How many of 20 datagrams arrive when the second fragments of four are lost."""
    for number in range(DATAGRAMS):
        packet = header(number) / UDP(sport=7, dport=9) / Raw(bytes([number]) * 2000)
        parts = fragment(packet, 1480)
        assert len(parts) == 2
        for part in parts[:1] if number in LOST else parts:
            wire.send(bytes(Ether(src="02:00:00:00:00:02", dst=MAC) / part))
    count = 0
    try:
        while receiver.recv(3000):
            count += 1
    except TimeoutError:
        return count


same = arrived(lambda _: IP(src="10.0.0.2", dst="10.0.0.1"))
own = arrived(lambda number: IP(src="10.0.0.3", dst="10.0.0.1", id=100 + number))
print(f"Scapy {scapy.__version__}: of {DATAGRAMS} datagrams, four without their second fragment, {same} arrive; with an id each {own}")
sys.exit((same, own) != (12, 16))
END
unshare -n venv/bin/python try.py
