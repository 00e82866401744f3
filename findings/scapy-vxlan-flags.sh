#!/bin/sh
# Scapy's VXLAN()/Ether() is VXLAN-GPE, which Linux drops.
#
# One would guess: VXLAN(vni=5)/Ether() is a VXLAN header of RFC 7348: flags 0x08, the rest reserved and zero.
# So it is: with an Ethernet frame inside Scapy sets the P flag of VXLAN-GPE and "next protocol" 3: flags 0x0c. A VXLAN device of
# Linux counts the packet as a frame error and drops it. VXLAN(vni=5, flags="Instance") is taken.
#
# Needs root, for a network namespace of its own with a VXLAN device. Uses Scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
cat > "$folder/try.py" <<'END'
import logging
import platform
import socket
import subprocess
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
import scapy
from scapy.all import IP, UDP, VXLAN, Ether


def received():
    """Packets the VXLAN device has received, and its frame errors."""
    (line,) = [line.split() for line in open("/proc/net/dev") if line.strip().startswith("vxlan5:")]
    return int(line[2]), int(line[6])


for command in ("link set lo up", "link add vxlan5 type vxlan id 5 dstport 4789 local 127.0.0.1 dev lo", "link set vxlan5 up"):
    if subprocess.run(["ip", *command.split()]).returncode:
        sys.exit(2)
inner = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") / UDP()
headers = {"VXLAN(vni=5)": VXLAN(vni=5), 'VXLAN(vni=5, flags="Instance")': VXLAN(vni=5, flags="Instance")}
sender, seen = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
print("Scapy", scapy.__version__, "to Linux", platform.release())
for text, header in headers.items():
    packet, before = bytes(header / inner), received()
    for _ in range(10):
        sender.sendto(packet, ("127.0.0.1", 4789))
    time.sleep(0.5)
    seen.append(received()[1] - before[1])
    print(f"{text} / Ether(): {packet[:8].hex()}, {seen[-1]} of 10 dropped as frame errors")
sys.exit(seen != [10, 0])
END
unshare -n "$folder/venv/bin/python" "$folder/try.py"
