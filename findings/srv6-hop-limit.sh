#!/bin/sh
# Linux copies an IPv6 packet's hop limit to the SRv6 header around it, and gives an IPv4 packet's a hop limit of 64, whatever its TTL.
#
# One would guess: the tunnel is one hop to what it carries, and its outer hop limit is the same for both: the router's own, 64.
# So it is: an IPv6 packet with a hop limit of 5 is in an outer header with 5, an IPv4 packet with a TTL of 5 in one with 64. IPv6 packets
# with a low hop limit, such as those of a traceroute or of a generator that sends with 2 or 3, die in the core of an SRv6 network, on
# routers that the inner packet is not meant to see; IPv4 packets on the same path arrive. No setting of the route changes that.
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
import collections
import socket
import struct
import sys

ROUTING = 43


def outer(family, target, source, option, hops):
    """The flow labels and hop limits of the outer headers of 100 flows."""
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
    receiver.bind(("far", 0x86DD))
    receiver.settimeout(0.5)
    for port in range(20000, 20100):
        with socket.socket(family, socket.SOCK_DGRAM) as flow:
            flow.setsockopt(*option, hops)
            flow.bind((source, port))
            flow.sendto(b"hello", (target, 9))
    labels, limits = collections.Counter(), collections.Counter()
    try:
        while True:
            packet = receiver.recv(2000)[14:]
            if packet[6] == ROUTING:
                labels[struct.unpack("!I", packet[:4])[0] & 0xFFFFF] += 1
                limits[packet[7]] += 1
    except TimeoutError:
        return labels, limits


V4 = socket.AF_INET, "10.2.0.1", "10.0.0.1", (socket.IPPROTO_IP, socket.IP_TTL)
V6 = socket.AF_INET6, "fd00:2::1", "fd00:1::1", (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)

seen = []
for name, flows in (("IPv6, hop limit", V6), ("IPv4, TTL", V4)):
    for hops in (5, 200):
        _, limits = outer(*flows, hops)
        seen.append([*limits])
        print(f"100 flows of {name} {hops}: outer hop limits {[*limits]}")
sys.exit(seen != [[5], [200], [64], [64]])
END
cat > try.sh <<'END'
set -e
ip link add near type veth peer name far address 02:00:00:00:00:02
ip link set near up
ip link set far up
ip address add fd00:1::1/64 dev near nodad
ip address add 10.0.0.1/24 dev near
ip neigh add fd00:1::2 lladdr 02:00:00:00:00:02 dev near
ip route add fd00:9::/64 via fd00:1::2 dev near
ip route add fd00:2::/64 encap seg6 mode encap segs fd00:9::1 dev near
ip route add 10.2.0.0/24 encap seg6 mode encap segs fd00:9::1 dev near
python3 try.py
END
unshare -n sh try.sh
