#!/bin/sh
# All IPv4 flows that Linux puts into SRv6 have the flow label 0, so that routers on the way that hash it see a single flow.
#
# One would guess: the outer header's flow label is computed from the inner flow, as RFC 8754 (section 5.5) and RFC 8986 have it, for IPv4
# as for IPv6: that is how flows in an SRv6 core spread.
# So it is: `net.ipv6.seg6_flowlabel` is 0 by default, which copies the label of an inner IPv6 packet, and an IPv4 packet has none to copy:
# 100 IPv4 flows have one label, 0, where 100 IPv6 flows have 100. Between the same two segments they are one flow by addresses and label,
# and take one of several equal-cost paths. With seg6_flowlabel=1 they have 100 labels.
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
import subprocess
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
for setting in (0, 1):
    subprocess.run(f"sysctl -qw net.ipv6.seg6_flowlabel={setting}".split(), check=True)
    for name, flows in (("IPv6", V6), ("IPv4", V4)):
        labels, _ = outer(*flows, 64)
        seen.append(len(labels))
        print(f"seg6_flowlabel={setting}: 100 flows of {name} have {len(labels)} labels in {sum(labels.values())} packets, 0 in {labels[0]}")
sys.exit(not (seen[0] > 90 and seen[1] == 1 and min(seen[2:]) > 90))
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
