#!/bin/sh
# Packets that `tcprewrite --mtu-trunc` has shortened are dropped by their receiver: UDP keeps the length from before.
#
# One would guess: a capture with frames above the MTU, from a host with segmentation offload, can be replayed after `--mtu-trunc`:
# packets lose data, and lengths and checksums are computed anew, as the tool does for all it edits.
# So it is: IP's length and the checksums are set, UDP's length is not. A datagram of 3,008 bytes cut to an MTU of 1,500 says that it is
# 3,008 long in an IP packet of 1,500. Linux drops all of them. tcprewrite's exit code is 0. A replay that arrives complete at the
# interface loses 100 % of its long datagrams in the host.
#
# Needs root, for a network namespace of its own. Uses tcpreplay 4.4.3-1 and libdumbnet1 1.16.3-1 of Debian 12; seen with Linux 6.18. No
# Eagre.
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
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys


def sum16(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


SOURCE, TARGET = bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1])


def frame(size):
    """A frame with a datagram of the size given."""
    datagram = struct.pack("!HHHH", 1000, 2000, size + 8, 0) + bytes(size)
    check = sum16(SOURCE + TARGET + struct.pack("!HH", 17, len(datagram)) + datagram)
    datagram = datagram[:6] + struct.pack("!H", check) + datagram[8:]
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(datagram), 1, 0, 64, 17, 0, SOURCE, TARGET)
    header = header[:10] + struct.pack("!H", sum16(header)) + header[12:]
    return bytes.fromhex("020000000001 020000000002 0800") + header + datagram


with open("long.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for size in (1400,) * 10 + (3000,) * 10:
        packet = frame(size)
        capture.write(struct.pack("<IIII", 1000, 0, len(packet), len(packet)) + packet)
subprocess.run("tcprewrite --mtu=1500 --mtu-trunc -i long.pcap -o short.pcap".split(), check=True)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("10.0.0.1", 2000))
receiver.settimeout(0.5)
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("far", 0))
data, at, lengths = open("short.pcap", "rb").read(), 24, []
while at < len(data):
    (length,) = struct.unpack_from("<I", data, at + 8)
    packet = data[at + 16:at + 16 + length]
    lengths.append((struct.unpack_from("!H", packet, 16)[0], struct.unpack_from("!H", packet, 38)[0]))
    sender.send(packet)
    at += 16 + length
received = []
try:
    while True:
        received.append(len(receiver.recv(9000)))
except TimeoutError:
    pass
for ip, udp in dict.fromkeys(lengths):
    print(f"{lengths.count((ip, udp))} packets: IP's length {ip}, UDP's {udp}")
print(f"a socket receives {len(received)} datagrams, of", *sorted(set(received)), "bytes")
sys.exit((lengths, received) != ([(1428, 1408)] * 10 + [(1500, 3008)] * 10, [1400] * 10))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.rp_filter=0
ip link add near address 02:00:00:00:00:01 type veth peer name far
ip address add 10.0.0.1/24 dev near
for end in near far; do ip link set $end up; done
exec python3 try.py
END
unshare -n sh try.sh
