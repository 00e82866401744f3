#!/bin/sh
# A Linux router with equal-cost paths keeps all IPv4 flows of two addresses on one path, but spreads IPv6 flows by their flow labels.
#
# One would guess: with `fib_multipath_hash_policy=0`, layer 3, all flows between two addresses take one path, for IPv6 as for IPv4.
# So it is: for IPv6 this policy hashes the flow label, too, and Linux gives each of its flows a label of its own: 64 UDP flows of a
# host take both paths. A TCP connection has a new label with each SYN that it repeats, and leaves a dead path by itself, while
# one over IPv4 stays there. Flows whose label is 0 take one path: a generator that leaves it so does not see what hosts see.
#
# Needs root, for network and mount namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -sr || exit 2
cat > send.py <<'END'
import socket
import sys
import time

transport, address = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
senders = []
if transport == "udp":
    for _ in range(64):
        senders.append(socket.socket(family, socket.SOCK_DGRAM))
        senders[-1].sendto(b"x", (address, 9))
else:
    for _ in range(8):
        senders.append(socket.socket(family))
        senders[-1].setblocking(False)
        senders[-1].connect_ex((address, 9))
    time.sleep(4)
END
cat > try.py <<'END'
import collections
import socket
import subprocess
import sys

ROUTED = {"10.9.0.1": ("0800", 20), "fd09::1": ("86dd", 40)}  # by address: Ethernet type, length of the IP header
capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
capture.settimeout(0.5)


def setting(name, value):
    with open(f"/proc/sys/net/{name}", "w") as file:
        file.write(str(value))


def paths(transport, address):
    """Sends flows: the paths that the packets of each take through the router, by source port."""
    kind, length = ROUTED[address]
    subprocess.run(["ip", "netns", "exec", "host", "python3", "send.py", transport, address], check=True)
    taken = collections.defaultdict(list)
    try:
        while True:
            frame, (interface, _, packet_type, *_) = capture.recvfrom(200)
            port, to = frame[14 + length : 16 + length], frame[16 + length : 18 + length]
            if packet_type == 4 and interface in ("path0", "path1") and frame[12:14].hex() == kind and to == b"\0\x09":
                taken[port].append(interface[-1])
    except TimeoutError:
        return list(taken.values())


def shown(address, labels):
    """How many paths UDP flows take, and whether TCP connections change theirs."""
    udp, tcp = paths("udp", address), paths("tcp", address)
    used, moved = len({path for flow in udp for path in flow}), sum(len(set(flow)) > 1 for flow in tcp)
    print(f"{address}{labels}: {len(udp)} UDP flows take {used} path(s); {moved} of {len(tcp)} TCP connections change theirs. "
          f"Paths of their SYNs: {' '.join(map(''.join, tcp))}")
    if len(udp) != 64 or len(tcp) != 8 or min(map(len, tcp)) < 2:
        sys.exit("packets are missing")
    return used, moved > 0


setting("ipv4/fib_multipath_hash_policy", 0)
setting("ipv6/fib_multipath_hash_policy", 0)
seen = [shown("10.9.0.1", ""), shown("fd09::1", "")]
subprocess.run("ip netns exec host sysctl -q -w net.ipv6.auto_flowlabels=0".split(), check=True)
seen.append(shown("fd09::1", " without labels"))
sys.exit(seen != [(1, False), (2, True), (1, False)])
END
cat > try.sh <<'END'
set -eu
mount -t tmpfs none /run
sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip netns add host
ip link add inside type veth peer name port netns host
ip address add 10.0.0.1/24 dev inside
ip address add fd00::1/64 dev inside nodad
ip link set inside up
ip -n host address add 10.0.0.2/24 dev port
ip -n host address add fd00::2/64 dev port nodad
ip -n host link set port up
ip -n host route add default via 10.0.0.1
ip -n host -6 route add default via fd00::1
for path in 0 1; do
    ip link add path$path type veth peer name far$path
    for end in path far; do ip link set $end$path up; done
    ip address add 10.1.$path.1/24 dev path$path
    ip address add fd01:$path::1/64 dev path$path nodad
    for next in 10.1.$path.2 fd01:$path::2; do ip neigh add $next lladdr 02:00:00:00:00:02 dev path$path; done
done
ip route add 10.9.0.0/24 nexthop via 10.1.0.2 nexthop via 10.1.1.2
ip route add fd09::/64 nexthop via fd01:0::2 nexthop via fd01:1::2
sleep 2
python3 try.py
END
unshare -n -m sh try.sh
