#!/bin/sh
# bittwiste rewrites addresses of IPv4 fragments without the UDP checksum, and leaves frames with a VLAN tag as they were.
#
# One would guess: `bittwiste -T ip -d OLD,NEW` changes the address in each IPv4 packet and mends the checksums of IP, UDP and TCP, as it
# does for a plain datagram.
# So it is: in the first fragment of a datagram the UDP checksum stays that of the old address, so hosts put the datagram together and drop
# it: a capture with datagrams longer than the MTU replays with a loss that no counter of the path shows. Frames with a VLAN tag keep
# the old address; "packets written" counts them like the others. A datagram without a UDP checksum gets one.
#
# Uses bittwist 2.0-15 and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bittwist=2.0-15 || exit 2
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
echo bittwist 2.0-15
tshark --version 2> log | grep -m 1 '^TShark' || exit 2
python3 - <<'END'
import struct
import subprocess
import sys

OLD, NEW = "192.0.2.2", "198.51.100.9"
ETHERNET, ADDRESSES = b"\2" * 12, bytes([192, 0, 2, 1, 192, 0, 2, 2])


def checksum(data):
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def ipv4(payload, number, fragment=0):
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), number, fragment, 64, 17, 0) + ADDRESSES
    return b"\x08\0" + header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def udp(data, with_checksum=True):
    header = struct.pack("!HHHH", 1000, 2000, 8 + len(data), 0)
    value = checksum(ADDRESSES + struct.pack("!HH", 17, 8 + len(data)) + header + data) if with_checksum else 0
    return header[:6] + struct.pack("!H", value) + data


long = udp(bytes(range(192)))
frames = [ipv4(udp(b"hello!"), 1), ipv4(long[:96], 2, 0x2000), ipv4(long[96:], 2, 96 // 8), b"\x81\0\0\5" + ipv4(udp(b"hello!"), 3),
          ipv4(udp(b"hello!", False), 4)]
with open("before", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for frame in frames:
        file.write(struct.pack("<IIII", 1000, 0, 12 + len(frame), 12 + len(frame)) + ETHERNET + frame)
subprocess.run(["bittwiste", "-I", "before", "-O", "after", "-T", "ip", "-d", f"{OLD},{NEW}"], check=True, capture_output=True)
rows = {}
for name in ("before", "after"):
    command = f"tshark -r {name} -o udp.check_checksum:TRUE -T fields -e ip.dst -e udp.checksum -e udp.checksum.status"
    output = subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout
    rows[name] = [line.split("\t") for line in output.splitlines()]
states = {"0": "wrong", "1": "right", "3": "not there", "": "in another fragment"}
for kind, before, after in zip(("UDP", "first fragment", "last fragment", "UDP in a VLAN", "UDP, no checksum"), rows["before"], rows["after"]):
    print(f"{kind}: to {before[0]}, UDP checksum {states[before[2]]}; rewritten: to {after[0]}, UDP checksum {states[after[2]]} {after[1]}")
seen = [[row[0], row[2]] for row in rows["after"]]
sys.exit(seen != [[NEW, "1"], [NEW, ""], [NEW, "0"], [OLD, "1"], [NEW, "1"]] or rows["before"][2][2] != "1")
END
