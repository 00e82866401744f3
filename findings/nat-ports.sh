#!/bin/sh
# Linux's source NAT to 1,000 ports carries some 990 flows, not 1,000, on an idle machine, and the rest are dropped.
#
# One would guess: 1,000 flows to one server find 1,000 free ports, each of them the next free one.
# So it is: for each new flow the kernel begins at a random port of the range and tries at most 128, then 64, 32 and so on down to 16, at
# random places: the fuller the range, the likelier it finds none, and the packet is dropped, and counted as `insert_failed` (`conntrack
# -S`). The first hundreds are hardly ever touched, so it looks like loss at the end of a ramp. A sender on the NAT machine itself sees
# "Operation not permitted" for the same. Size a range with a margin of some per cent above the flows that a test opens.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3, nftables and libnftables1 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2 of
# Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nft --version && uname -sr || exit 2

cat > try.py <<'END'
import socket
import sys
import time

FLOWS = 1000


def arrived(base):
    """How many of FLOWS flows of a packet each reach the server, and from how many ports."""
    while True:
        try:
            server.recv(2000)
        except TimeoutError:
            break
    for port in range(base, base + FLOWS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.bind(("10.0.0.2", port))
            client.sendto(b"x", ("10.1.0.2", 9))
    ports = set()
    try:
        while True:
            ports.add(server.recvfrom(2000)[1][1])
    except TimeoutError:
        return len(ports)


server = socket.fromfd(int(sys.argv[1]), socket.AF_INET, socket.SOCK_DGRAM)
server.settimeout(0.5)
count = arrived(20000)
print(f"source NAT to ports 40000 to 40999: of {FLOWS} flows {count} reach the server, each from a port of its own")
sys.exit(not (900 < count < FLOWS))
END
cat > receive.py <<'END'
import os
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 33, 16_000_000)  # SO_RCVBUFFORCE
server.bind(("10.1.0.2", 9))
os.set_inheritable(server.fileno(), True)
os.execvp("ip", ["ip", "netns", "exec", "client", "python3", "try.py", str(server.fileno())])
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
ip netns add client
ip netns add router
ip link add west netns router type veth peer name near netns client
ip link add east netns router type veth peer name far
ip -n client address add 10.0.0.2/24 dev near
ip -n client link set near up
ip -n client route add default via 10.0.0.1
ip -n router address add 10.0.0.1/24 dev west
ip -n router address add 10.1.0.1/24 dev east
ip -n router link set west up
ip -n router link set east up
ip address add 10.1.0.2/24 dev far
ip link set far up
ip netns exec router sysctl -qw net.ipv4.ip_forward=1
ip netns exec router nft add table ip t
ip netns exec router nft "add chain ip t post { type nat hook postrouting priority 100; }"
ip netns exec router nft add rule ip t post oifname east ip protocol udp snat to 10.1.0.1:40000-40999
python3 receive.py
END
unshare -nm sh try.sh
