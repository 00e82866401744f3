#!/bin/sh
# `tcpdump 'vlan 10 or vlan 20'` shows no packet of VLAN 20, and `not vlan and udp` shows nothing at all.
#
# One would guess: both sides of `or` are looked for in the same packet, and a packet without a tag is matched by `not vlan`.
# So it is: each `vlan` in an expression makes all that is written behind it look four bytes further on, also behind `or` and `not`. So
# `vlan 20` is looked for behind a first tag, and `udp` behind a tag that is not there. Of 10 packets of VLAN 10 and 100 of VLAN 20, `vlan
# 10 or vlan 20` has 10, the other order 100. `mpls` and `pppoes` do the same. No error, and a count that looks like loss. Write `udp and
# not vlan`, or compare bytes: `ether[14:2] & 0xfff = 20`.
#
# Uses tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tcpdump=4.99.3-1 libpcap0.8=1.10.3-1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tcpdump --version > version 2>&1 || exit 2
head -n 2 version
python3 - <<'END'
import struct
import subprocess
import sys

header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 29, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
datagram = header + struct.pack("!HHHH", 5, 9, 9, 0)
addresses = bytes.fromhex("020000000002020000000001")


def frame(*tags):
    return addresses + b"".join(struct.pack("!HH", 0x8100, tag) for tag in tags) + b"\x08\x00" + datagram + b"x" + bytes(20)


with open("tags.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for packet in [frame()] + [frame(10)] * 10 + [frame(20)] * 100:
        capture.write(struct.pack("<IIII", 1000, 0, len(packet), len(packet)) + packet)
EXPECTED = {
    "vlan 10": 10,
    "vlan 20": 100,
    "vlan 10 or vlan 20": 10,
    "vlan 20 or vlan 10": 100,
    "ether[14:2] & 0xfff = 10 or ether[14:2] & 0xfff = 20": 110,
    "not vlan 10 and not vlan 20": 101,
    "not vlan and udp": 0,
    "udp and not vlan": 1,
}
seen = {}
print("a capture of 1 UDP packet without a tag, 10 of VLAN 10, 100 of VLAN 20")
for expression in EXPECTED:
    shown = subprocess.run(["usr/bin/tcpdump", "-nr", "tags.pcap", expression], capture_output=True, text=True, check=True).stdout
    seen[expression] = len(shown.splitlines())
    print(f"{expression}: {seen[expression]} packets")
sys.exit(seen != EXPECTED)
END
