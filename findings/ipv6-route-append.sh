#!/bin/sh
# `ip route append` adds a spare route for IPv4, and a second equal path for IPv6: half of the traffic takes it at once.
#
# One would guess: a second route that is appended to a prefix does the same in both families: it waits behind the first one.
# So it is: over IPv4 both routes are listed, and all flows take the first. Over IPv6 routes with one prefix and metric become one
# route with two next hops, and flows are spread over them by a hash. A script that prepares a spare path that way loses half of its IPv6
# traffic if that path is not there yet, and a failover test sees nothing at all for IPv4 and half an outage for IPv6. Give the spare
# route another metric, which works alike for both.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import json
import subprocess
import sys


def ip(line):
    return subprocess.run(["ip", *line.split()], check=True, capture_output=True, text=True).stdout


for line in (
    "link add host type veth peer name wire",
    "address add 10.0.0.1/24 dev host",
    "address add fd00::1/64 dev host nodad",
    "link set host up",
    "link set wire up",
):
    ip(line)
seen = {}
for version, prefix, first, second in (("4", "10.9.0.0/16", "10.0.0.2", "10.0.0.3"), ("6", "fd09::/64", "fd00::2", "fd00::3")):
    for spare in ("", " metric 2000"):
        ip(f"-{version} route add {prefix} via {first}")
        ip(f"-{version} route append {prefix} via {second}{spare}")
        taken = {first: 0, second: 0}
        for number in range(1, 201):
            to = prefix.split("/")[0].replace("0.0", f"0.{number}") if version == "4" else f"fd09::{number:x}"
            (route,) = json.loads(ip(f"-j -{version} route get {to}"))
            taken[route["gateway"]] += 1
        print(f"IPv{version}, route append via {second}{spare}: of 200 destinations " + ", ".join(f"{n} via {via}" for via, n in taken.items()))
        seen[version, spare] = taken[second]
        ip(f"-{version} route flush {prefix}")
spread = seen.pop(("6", ""))
sys.exit(not (50 < spread < 150 and set(seen.values()) == {0}))
END
unshare -n python3 try.py
