#!/bin/sh
# Linux gives connect() even source ports only, and bind() to port 0 odd ones: of 200 TCP clients all have an even port.
#
# One would guess: the port of a client that does not choose one is random within `ip_local_port_range`, with all its bits.
# So it is: connect() looks through the even half of the range first and takes odd ports when that is used up, bind() to port 0 does it the
# other way round. UDP has no such rule. Whatever spreads TCP connections by the lowest bit of a port, or by an exclusive or of ports, sees
# one half of its values: here a rule that chooses one of two servers by `tcp sport & 1` gives one of them all 200. A client that binds its
# address first, as load generators with many addresses do, has the odd ports. Give clients ports of their own.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3, nftables and libnftables1 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2
# of Debian 12; seen with Linux 6.18. No Eagre.
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
import collections
import json
import socket
import subprocess
import sys

CLIENTS = 200


def parities(sockets):
    counts = collections.Counter(each.getsockname()[1] % 2 for each in sockets)
    return counts[0], counts[1]


def bound(kind):
    each = socket.socket(socket.AF_INET, kind)
    each.bind(("127.0.0.1", 0))
    return each


server = socket.create_server(("127.0.0.1", 80), backlog=CLIENTS)
connected = [socket.create_connection(("127.0.0.1", 80)) for _ in range(CLIENTS)]
seen = {"TCP, connect()": parities(connected)}
rules = json.loads(subprocess.run("nft -j list chain inet t in".split(), capture_output=True, text=True, check=True).stdout)["nftables"]
servers = [part["counter"]["packets"] for each in rules if "rule" in each for part in each["rule"]["expr"] if "counter" in part]
seen["TCP, bind() to port 0"] = parities([bound(socket.SOCK_STREAM) for _ in range(CLIENTS)])
seen["UDP, bind() to port 0"] = parities([bound(socket.SOCK_DGRAM) for _ in range(CLIENTS)])
for name, (even, odd) in seen.items():
    print(f"{name}: {even} even, {odd} odd")
print(f"connections of connect() by `tcp sport & 1`: {servers}")
expected = [(CLIENTS, 0), (0, CLIENTS)]
udp = seen["UDP, bind() to port 0"]
sys.exit(not ([*seen.values()][:2] == expected and servers == [CLIENTS, 0] and min(udp) > CLIENTS / 4))
END
cat > try.sh <<'END'
set -e
ip link set lo up
nft add table inet t
nft "add chain inet t in { type filter hook input priority 0; }"
for half in 0 1; do nft add rule inet t in tcp dport 80 "tcp flags & (syn | ack) == syn" tcp sport "&" 1 == $half counter; done
python3 try.py
END
unshare -n sh try.sh
