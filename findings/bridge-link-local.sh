#!/bin/sh
# Of the 16 reserved group addresses a Linux bridge without spanning tree forwards one: that of spanning tree.
#
# One would guess: a bridge forwards none of the frames to 01:80:c2:00:00:00 to 0f, as the standard asks, or all of them like a cheap
# switch.
# So it is: BPDUs (00) are flooded as any group is, so a tester sees one port's on the other; pause frames, LACP, LLDP, 802.1X and the
# others end at the bridge. `group_fwd_mask` opens 03 to 0f and refuses 00 to 02, so LACP cannot be tested through a bridge, and LLDP needs
# 0x4000.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
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
import time


def ip(line):
    return subprocess.run(["ip", *line.split()], stderr=subprocess.DEVNULL).returncode


def trial(name):
    """Last bytes of the reserved group addresses whose frames reach the other port."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("east", 0))
    wire.settimeout(0.5)
    for last in range(16):
        west.send(b"\x01\x80\xc2\0\0" + bytes([last]) + bytes([2, 0, 0, 0, 0, 1]) + b"\x88\xb5" + bytes([99, last]) + bytes(44))
    seen, end = [], time.monotonic() + 1
    while time.monotonic() < end:
        try:
            frame = wire.recv(2000)
        except TimeoutError:
            break
        if frame[12:15] == b"\x88\xb5\x63":
            seen.append(frame[15])
    wire.close()
    print(f"{name}: forwarded to 01:80:c2:00:00:…:", " ".join(f"{last:02x}" for last in seen) or "none")
    return seen


ip("link add bridge0 type bridge")
for port in ("west", "east"):
    ip(f"link add {port} type veth peer name {port}-port")
    ip(f"link set {port}-port master bridge0")
    ip(f"link set {port} up")
    ip(f"link set {port}-port up")
ip("link set bridge0 up")
time.sleep(1)
west = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
west.bind(("west", 0))
plain = trial("bridge as it is made")
refused = [ip(f"link set bridge0 type bridge group_fwd_mask {1 << last}") != 0 for last in range(16)]
print("group_fwd_mask refuses:", " ".join(f"{last:02x}" for last, is_refused in enumerate(refused) if is_refused))
assert ip(f"link set bridge0 type bridge group_fwd_mask {0xFFF8}") == 0
masked = trial("group_fwd_mask 0xfff8")
sys.exit(not (plain == [0] and refused == [True] * 3 + [False] * 13 and masked == [0, *range(3, 16)]))
END
unshare -n python3 try.py
