#!/bin/sh
# tcprewrite --pnat leaves the addresses in PPPoE, in GRE and in the packets that ICMP errors quote: a part of the capture stays as it
# was.
#
# One would guess: "rewrite IPv4/v6 addresses using pseudo-NAT" changes the addresses of a flow wherever they are, as a router's NAT does
# with ICMP errors, or names the packets it can't change.
# So it is: it changes them behind one VLAN tag, two tags or an MPLS label, and in ARP. In PPPoE sessions nothing changes; behind GRE the
# outer addresses do; and an ICMP error gets a new outer header around the old quotation, so no host finds the connection it is about. The
# exit code is 0, and nothing is printed. A replay to another subnet has packets of both.
#
# Uses tcpreplay 4.4.3-1 and libdumbnet1 1.16.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tcpreplay=4.4.3-1 libdumbnet1=1.16.3-1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
tcprewrite -V 2>&1 | head -n 1 | grep version || exit 2
python3 - <<'END'
import struct
import subprocess
import sys

SOURCE, TARGET = bytes([10, 1, 0, 1]), bytes([10, 2, 0, 1])
NEW_SOURCE, NEW_TARGET = bytes([192, 1, 0, 1]), bytes([192, 2, 0, 1])
ETHERNET = bytes.fromhex("020000000002 020000000001")


def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(protocol, payload, source=SOURCE, target=TARGET):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, source, target)
    return header[:10] + struct.pack("!H", sum16(header)) + header[12:] + payload


datagram = ip(17, struct.pack("!HHHH", 1000, 2000, 28, 0) + bytes(20))
error = struct.pack("!BBHI", 3, 3, 0, 0) + datagram
error = error[:2] + struct.pack("!H", sum16(error)) + error[4:]
PACKETS = {
    "UDP": b"\x08\x00" + datagram,
    "UDP with two VLAN tags": bytes.fromhex("8100 000a 8100 0014 0800") + datagram,
    "UDP with an MPLS label": bytes.fromhex("8847 00064140") + datagram,
    "UDP in PPPoE": bytes.fromhex("8864 1100 0001") + struct.pack("!HH", len(datagram) + 2, 0x21) + datagram,
    "UDP in GRE": b"\x08\x00" + ip(47, b"\0\0\x08\0" + datagram),
    "ICMP error about UDP": b"\x08\x00" + ip(1, error, TARGET, SOURCE),
}
with open("old.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for packet in PACKETS.values():
        frame = ETHERNET + packet
        capture.write(struct.pack("<IIII", 1000, 0, len(frame), len(frame)) + frame)
ran = subprocess.run(
    "tcprewrite --pnat=10.1.0.0/16:192.1.0.0/16,10.2.0.0/16:192.2.0.0/16 -i old.pcap -o new.pcap".split(), capture_output=True, text=True
)
print("exit code", ran.returncode, "output", repr(ran.stdout + ran.stderr))
data, at, seen = open("new.pcap", "rb").read(), 24, []
for name in PACKETS:
    (length,) = struct.unpack_from("<I", data, at + 8)
    frame = data[at + 16:at + 16 + length]
    at += 16 + length
    old, new = (sum(map(frame.count, addresses)) for addresses in ((SOURCE, TARGET), (NEW_SOURCE, NEW_TARGET)))
    print(f"{name}: {old} old addresses, {new} new ones")
    seen.append((old, new))
sys.exit((ran.returncode, seen) != (0, [(0, 2), (0, 2), (0, 2), (2, 0), (2, 2), (2, 2)]))
END
