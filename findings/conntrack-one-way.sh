#!/bin/sh
# Each packet of a flow that has had no reply is `ct state new`: a limit of new flows per second drops one-way test streams packet by
# packet.
#
# One would guess: the first packet of a flow is new, and those that follow are established, as conntrack has an entry for them.
# So it is: a flow is established once a packet has come back. Of 100 packets one way `ct state new` counts 100, with one entry in the
# table; of 100 after a reply it counts none. A firewall that accepts established flows and 10 new ones a second passes a burst of some 5
# packets, and then 10 packets/s, of a stream at 1,000 packets/s from a generator that sends one way, and a counter of new flows shows
# packets. Let the other side send something back first, or test such rules with sessions.
#
# Needs root, for a network namespace of its own. Uses nftables, libnftables1 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2 of Debian 12; seen
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
import re
import socket
import subprocess
import sys
import time

SO_RCVBUFFORCE = 33


def rules(policy):
    """Sets the rules of a chain for datagrams to the receiver's port."""
    added = "".join(f"add rule ip t c udp dport 9000 {rule}; " for rule in policy)
    chain = "flush ruleset; add table ip t; add chain ip t c { type filter hook input priority 0; }; "
    subprocess.run(["nft", chain + added], check=True)


def counters():
    listed = subprocess.run("nft list chain ip t c".split(), capture_output=True, text=True, check=True).stdout
    return [int(count) for count in re.findall(r"packets (\d+)", listed)]


def flow(port):
    """Sockets of the sender and of the receiver."""
    receiver, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    receiver.bind(("127.0.0.1", 9000))
    sender.bind(("127.0.0.1", port))
    sender.connect(("127.0.0.1", 9000))
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4_000_000)
    receiver.settimeout(0.3)
    return sender, receiver


def send(sender, receiver, count):
    """Sends a packet each millisecond; how many arrive."""
    arrived = 0
    for _ in range(count):
        sender.send(b"test")
        time.sleep(0.001)
    try:
        while True:
            arrived += len(receiver.recv(100)) == 4
    except TimeoutError:
        return arrived


rules(["ct state established counter", "ct state new counter"])
sender, receiver = flow(7001)
send(sender, receiver, 100)
one_way = counters()
receiver.sendto(b"reply", ("127.0.0.1", 7001))
send(sender, receiver, 100)
both_ways = [after - before for after, before in zip(counters(), one_way)]
entries = int(open("/proc/sys/net/netfilter/nf_conntrack_count").read())
print(f"100 packets one way: established, new count {one_way}; 100 more after a reply: {both_ways}; entries of conntrack: {entries}")
sender.close()
receiver.close()
rules(["ct state established accept", "ct state new limit rate 10/second accept", "drop"])
sender, receiver = flow(7002)
limited = send(sender, receiver, 1000)
receiver.sendto(b"reply", ("127.0.0.1", 7002))
after_reply = send(sender, receiver, 1000)
print(f"10 new flows a second accepted: of 1000 packets of one flow at some 900/s {limited} arrive, and after a reply {after_reply}")
sys.exit((one_way, both_ways, entries, limited < 50, after_reply) != ([0, 100], [100, 0], 1, True, 1000))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
