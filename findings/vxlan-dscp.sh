#!/bin/sh
# A VXLAN device sends packets marked EF as best effort, and turns the congestion mark CE into ECT(0).
#
# One would guess: a tunnel's outer header has the DSCP of the packet inside, so the core treats it as it treats the packet alone, and the
# outer ECN field is the inner one (RFC 6040).
# So it is: unless it was made with `tos inherit`, a VXLAN device of Linux writes a DSCP of 0, whatever is inside, and a TTL of 64. Of ECN
# it copies ECT(1) and ECT(0), as RFC 3168 has it, and writes ECT(0) for CE. A stream that is prioritized on the edge waits with all others
# in the core, and a test of priorities through the tunnel finds none. With `tos inherit` the DSCP is copied.
#
# Needs root, for namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12 and the kernel's VXLAN (Linux 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys

NAMES = {0x00: "best effort", 0xB8: "EF", 0xB9: "EF, ECT(1)", 0xBA: "EF, ECT(0)", 0xBB: "EF, CE"}


def ip(command):
    subprocess.run(["ip", *command.split()], check=True)


def outer(device, number):
    """The outer TOS byte and TTL of packets with each inner TOS byte, and a TTL of 9."""
    capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    capture.bind(("near", 0x0003))
    capture.settimeout(5)
    found = []
    for tos in NAMES:
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 9)
        sender.sendto(bytes([tos]) * 10, (f"10.9.{number}.2", 9))
        while True:
            frame = capture.recv(2000)
            inner = frame[50:]
            if frame[12:14] == b"\x08\0" and frame[36:38] == b"\x12\xb5" and inner[12:14] == b"\x08\0" and inner[23] == 17 and inner[15] == tos:
                break
        found.append((frame[15], frame[22]))
        print(f"{device}: inner {NAMES[tos]} ({tos:#04x}), outer TOS byte {frame[15]:#04x}, TTL {frame[22]}")
    return found


ip("link add near address 02:00:00:00:00:01 type veth peer name far")
for command in ("address add 192.0.2.1/24 dev near", "link set near up", "link set far up"):
    ip(command)
ip("neighbor add 192.0.2.2 lladdr 02:00:00:00:00:02 dev near")
seen = {}
for number, tos in enumerate(("", "tos inherit")):
    ip(f"link add vx{number} type vxlan id {number + 5} remote 192.0.2.2 dstport 4789 dev near {tos}")
    ip(f"address add 10.9.{number}.1/24 dev vx{number}")
    ip(f"link set vx{number} up")
    ip(f"neighbor add 10.9.{number}.2 lladdr 02:00:00:00:00:09 dev vx{number}")
    seen[tos] = outer("VXLAN " + (tos or "as it is"), number)
plain = [(0x00, 64), (0x00, 64), (0x01, 64), (0x02, 64), (0x02, 64)]
sys.exit(not (seen[""] == plain and seen["tos inherit"] == [(0x00, 64), (0xB8, 64), (0xB9, 64), (0xBA, 64), (0xBA, 64)]))
END
unshare -n python3 try.py
