#!/bin/sh
# A destination NAT to a range of four addresses sends all connections of a client to one of them: it balances clients, not connections.
#
# One would guess: `dnat to 10.1.0.11-10.1.0.14` spreads connections over the four servers, in turn or at random.
# So it is: the kernel takes a hash of the client's address and the address it connects to, without ports. 1,000 connections of one client
# reach one server, also with `random`, which is about ports. A test with one client address sees three idle servers. Vary the client
# addresses, or use `dnat to numgen inc mod 4 map { … }`, which takes turns.
#
# Needs root, for a network namespace of its own. Uses nftables and libnftables1 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2 of Debian 12; seen
# with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
nft --version && uname -sr || exit 2
cat > try.py <<'END'
import collections
import select
import socket
import subprocess
import sys

CONNECTIONS = 1000
SERVERS = {f"127.1.0.{last}": socket.create_server((f"127.1.0.{last}", 80), backlog=2000) for last in (11, 12, 13, 14)}
RANGE = "127.1.0.11-127.1.0.14"
TURNS = "numgen inc mod 4 map { " + ", ".join(f"{i} : {server}" for i, server in enumerate(SERVERS)) + " }"


def spread(target, clients):
    """Connections that each server has had, of CONNECTIONS from so many client addresses to an address with destination NAT."""
    subprocess.run(["nft", f"""flush ruleset
        table ip t {{
            chain c {{
                type nat hook output priority -100;
                ip daddr 127.9.0.1 tcp dport 80 dnat to {target}
            }}
        }}"""], check=True)
    found = collections.Counter(dict.fromkeys(SERVERS, 0))
    opened = []
    for number in range(CONNECTIONS):
        client = socket.socket()
        client.bind((f"127.2.0.{1 + number % clients}", 0))
        client.connect(("127.9.0.1", 80))
        opened.append(client)
    while ready := select.select(SERVERS.values(), [], [], 0.2)[0]:
        for server in ready:
            found[server.accept()[0].getsockname()[0]] += 1
    return list(found.values())


seen = []
for target, clients in ((RANGE, 1), (f"{RANGE} random", 1), (RANGE, 250), (TURNS, 1)):
    seen.append(spread(target, clients))
    print(f"dnat to {target}, {CONNECTIONS} connections of {clients} client address{'es' * (clients > 1)}: {seen[-1]} a server")
one = all(sorted(found) == [0, 0, 0, CONNECTIONS] for found in seen[:2])
sys.exit(not (one and min(seen[2]) > 100 and set(seen[3]) == {CONNECTIONS // 4}))
END
cat > try.sh <<'END'
set -e
ip link set lo up
ulimit -n 10000
python3 try.py
END
unshare -n sh try.sh
