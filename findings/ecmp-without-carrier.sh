#!/bin/sh
# A Linux router with two equal-cost routes goes on sending half of the flows to a link that has lost its carrier, and counts them as
# forwarded.
#
# One would guess: a next hop whose interface has NO-CARRIER is out, as if the interface were down, so that all flows take the other one.
# So it is: the route is marked `linkdown` and used all the same, as `ignore_routes_with_linkdown` is 0 by default. Of 1,000 flows half
# vanish: they are in IpForwDatagrams, and in no counter of errors or drops of IP; the interface's are unchanged but for a few. Setting it
# while the link is down does nothing either, until a link changes again. A test of failover with static routes, which pulls a cable, finds
# 50 % lost for good; with `ip link set down` on the router none is. Set it before.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && uname -sr || exit 2

cat > try.py <<'END'
import json
import os
import socket
import subprocess
import sys
import time

FLOWS = 1000


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def send():
    """Sends FLOWS flows of a packet each: how many reach either receiver, and how many the router counts as forwarded."""
    before = [arrived(name) for name in ("west", "east")], forwarded()
    for port in range(20000, 20000 + FLOWS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
            flow.bind(("10.0.0.2", port))
            flow.sendto(b"x", ("10.9.0.1", 9))
    time.sleep(0.3)
    after = [arrived(name) for name in ("west", "east")], forwarded()
    return [now - then for now, then in zip(after[0], before[0])], after[1] - before[1]


def arrived(name):
    return json.loads(run(f"ip netns exec {name} nstat -asz -j UdpNoPorts"))["kernel"]["UdpNoPorts"]


def forwarded():
    return json.loads(run("ip netns exec router nstat -asz -j IpForwDatagrams"))["kernel"]["IpForwDatagrams"]


seen = [send()]
print(f"both links up: {seen[-1][0]} of {FLOWS} flows, {seen[-1][1]} forwarded")
run("ip -n west link set wire down")
time.sleep(0.5)
print(run("ip -n router -brief link show dev west").strip())
for ignore in (0, 1):
    run(f"ip netns exec router sysctl -qw net.ipv4.conf.west.ignore_routes_with_linkdown={ignore}")
    seen.append(send())
    print(f"one without carrier, ignore_routes_with_linkdown {ignore}: {seen[-1][0]}, {seen[-1][1]} forwarded")
run("ip -n west link set wire up")
time.sleep(0.5)
run("ip -n west link set wire down")
time.sleep(0.5)
seen.append(send())
print(f"one without carrier, ignore_routes_with_linkdown set before: {seen[-1][0]}, {seen[-1][1]} forwarded")
halves = [400 < sum(flows) < 600 and flows[0] == 0 and FLOWS - 50 < count < FLOWS + 50 for flows, count in seen[1:3]]
sys.exit(not (min(seen[0][0]) > 400 and all(halves) and seen[3][0] == [0, FLOWS]))
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
for name in router west east; do ip netns add $name; done
inside() { ip -n "$@"; }
ip link add near type veth peer name near netns router
for name in west east; do ip link add $name netns router type veth peer name wire netns $name; done
ip address add 10.0.0.2/24 dev near
ip link set near up
inside router address add 10.0.0.1/24 dev near
inside router link set near up
number=1
for name in west east; do
    inside router address add 10.$number.0.1/24 dev $name
    inside router link set $name up
    inside $name address add 10.$number.0.2/24 dev wire
    inside $name address add 10.9.0.1/32 dev lo
    inside $name link set lo up
    inside $name link set wire up
    ip netns exec $name sysctl -qw net.ipv4.conf.wire.rp_filter=0 net.ipv4.conf.all.rp_filter=0
    number=$((number + 1))
done
ip netns exec router sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1
inside router route add 10.9.0.0/24 nexthop via 10.1.0.2 nexthop via 10.2.0.2
ip route add default via 10.0.0.1
python3 try.py
END
unshare -nm sh try.sh
