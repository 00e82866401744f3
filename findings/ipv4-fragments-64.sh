#!/bin/sh
# Linux reassembles IPv4 datagrams whose fragments have up to 64 others of their sender between them, and none beyond; IPv6 has no such
# limit.
#
# One would guess: fragments wait for their rest for `ipfrag_time`, 30 s, as long as `ipfrag_high_thresh`, 4 MiB of memory, suffices.
# So it is: `ipfrag_max_dist` is 64: a datagram is given up when more than 64 other fragments from its sender came since its last one. With
# the first fragments of 64 datagrams sent before the second ones all 64 arrive; with 65 none does, and with 500 neither. Over IPv6 all of
# them arrive. A path that reorders that far, or a tester that sends long bursts of fragments from one address, loses all of its fragmented
# traffic at once, and the cause looks like memory or time. `IpReasmFails` counts them. Set ipfrag_max_dist to 0, or vary the source.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && uname -sr || exit 2

cat > try.py <<'END'
import socket
import struct
import sys
import time

PAYLOAD = 1992
ETHERNET = bytes.fromhex("020000000002020000000001")


def datagram():
    """A UDP datagram to port 9 without a checksum, or with the one that IPv6 needs."""
    return struct.pack("!HHHH", 5000, 9, 8 + PAYLOAD, 0) + bytes(PAYLOAD)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def fragment4(number, data, offset, more):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), number, offset // 8 | more << 13, 64, 17, 0, FROM4, TO4)
    return ETHERNET + b"\x08\x00" + header[:10] + struct.pack("!H", checksum(header)) + header[12:] + data


def fragment6(number, data, offset, more):
    extension = struct.pack("!BBHI", 17, 0, offset | more, number)
    header = struct.pack("!IHBB", 6 << 28, len(extension + data), 44, 64) + FROM6 + TO6
    return ETHERNET + b"\x86\xdd" + header + extension + data


FROM4, TO4 = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2")
FROM6, TO6 = (socket.inet_pton(socket.AF_INET6, address) for address in ("fd00::1", "fd00::2"))
plain = datagram()
pseudo = FROM6 + TO6 + struct.pack("!II", len(plain), 17)
summed = plain[:6] + struct.pack("!H", checksum(pseudo + plain)) + plain[8:]
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("near", 0))
seen = {}
for family, make, whole in ((socket.AF_INET, fragment4, plain), (socket.AF_INET6, fragment6, summed)):
    receiver = socket.socket(family, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, 33, 16_000_000)  # SO_RCVBUFFORCE
    receiver.bind(("", 9))
    receiver.settimeout(0.3)
    version = 4 if family == socket.AF_INET else 6
    for count in (64, 65, 500):
        numbers = [1000 * len(seen) + each for each in range(count)]
        for number in numbers:
            out.send(make(number, whole[:1400], 0, 1))
        for number in numbers:
            out.send(make(number, whole[1400:], 1400, 0))
        arrived = 0
        try:
            while receiver.recv(9000):
                arrived += 1
        except TimeoutError:
            pass
        seen[version, count] = arrived
        print(f"IPv{version}: of {count} datagrams, all first fragments before the second ones, {arrived} arrive")
        time.sleep(0.2)
sys.exit(seen != {(4, 64): 64, (4, 65): 0, (4, 500): 0, (6, 64): 64, (6, 65): 65, (6, 500): 500})
END
cat > try.sh <<'END'
set -e
ip link add near address 02:00:00:00:00:01 type veth peer name far address 02:00:00:00:00:02
ip link set near up
ip link set far up
ip address add 10.0.0.2/24 dev far
ip address add fd00::2/64 dev far nodad
python3 try.py
END
unshare -n sh try.sh
