#!/bin/sh
# `tcpdump 'udp port 53'` shows no IPv6 packet with an extension header: of four DNS queries it finds one.
#
# One would guess: `udp` and `port 53` match all UDP packets, over IPv4 and IPv6.
# So it is: the filter looks at the "next header" of the IPv6 header, and for `udp` alone also behind a fragment header. With a hop-by-hop
# or destination options header or a segment routing header the packets are not found, though tcpdump prints their ports. `ip6
# protochain 17` finds them, by following the chain, but cannot be joined with ports. `not udp` shows them, too. A count by such a filter
# is a loss of SRv6 or of packets with options that is none. Filter by addresses, or with tshark's `udp.port == 53`.
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
cat > try.py <<'END'
import struct
import subprocess
import sys

UDP, FRAGMENT = 17, 44
SOURCE, TARGET = (bytes.fromhex("20010db8" + "00" * 11) + bytes([last]) for last in (1, 2))
DATAGRAM = struct.pack("!HHHH", 5, 53, 9, 0) + b"x"
OPTIONS = bytes([UDP, 0, 1, 4, 0, 0, 0, 0])
HEADERS = {
    "no extension header": (UDP, b""),
    "hop-by-hop options": (0, OPTIONS),
    "destination options": (60, OPTIONS),
    "segment routing": (43, bytes([UDP, 2, 4, 0, 0, 0, 0, 0]) + TARGET),
    "first fragment": (FRAGMENT, struct.pack("!BBHI", UDP, 0, 1, 7)),
}
with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for first, header in HEADERS.values():
        body = header + DATAGRAM
        packet = bytes(12) + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(body), first, 64) + SOURCE + TARGET + body
        file.write(struct.pack("<IIII", 1000, 0, len(packet), len(packet)) + packet)


def found(expression):
    command = ["usr/bin/tcpdump", "-n", "-r", "capture.pcap", expression]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


print("UDP packets to port 53 with", *HEADERS, sep="\n    ")
seen = {expression: found(expression) for expression in ("udp port 53", "udp", "not udp", "ip6 protochain 17", "ip6")}
for expression, count in seen.items():
    print(f"'{expression}' finds {count}")
sys.exit(seen != {"udp port 53": 1, "udp": 2, "not udp": 3, "ip6 protochain 17": 5, "ip6": 5})
END
python3 try.py
