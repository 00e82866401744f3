#!/bin/sh
# The counters of an ipset count a packet once for each rule that looks it up, also for rules that do not match: 10 packets are 20.
#
# One would guess: the packets of an entry are the packets of that address, or those that a rule with the set has matched.
# So it is: the lookup itself counts, before the rest of the rule is known. Where `-m set` is written before `-m udp --dport`, each packet
# from the address counts, whatever its port; two rules that refer to the set count it twice. The rules' own counters are right. Written
# behind the other conditions, `-m set` counts only packets that fulfil them. A bill or a rate of a client by `ipset list` is a multiple
# of the traffic, which changes with the number and the words of the rules.
#
# Needs root, for a network namespace of its own. Uses ipset and libipset13 7.17-1, iptables, libip4tc2, libip6tc2 and libxtables12
# 1.8.9-2 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in iptables=1.8.9-2 libip4tc2=1.8.9-2 libip6tc2=1.8.9-2 libxtables12=1.8.9-2 ipset=7.17-1 libipset13=7.17-1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
libraries=$folder/usr/lib/$(uname -m)-linux-gnu
export PATH="$folder/usr/sbin:$folder/sbin:$PATH" LD_LIBRARY_PATH="$libraries" XTABLES_LIBDIR="$libraries/xtables"
ipset version && iptables-legacy --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9))


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def counted(*rules):
    """The packets that the set's entry and the rules count of ten datagrams to port 9."""
    run("ipset create clients hash:ip counters")
    run("ipset add clients 127.0.0.1")
    for rule in rules:
        run(f"iptables-legacy -A INPUT {rule}")
    for _ in range(10):
        sender.sendto(b"x", ("127.0.0.1", 9))
    entry = int(re.search(r"127.0.0.1 packets (\d+)", run("ipset list clients"))[1])
    by_rule = [int(line.split()[0]) for line in run("iptables-legacy -nvxL INPUT").splitlines()[2:]]
    run("iptables-legacy -F")
    run("ipset destroy clients")
    print(f"{' and '.join(rules)}: the entry has {entry} of 10 packets, the rules {by_rule}")
    return entry, by_rule


seen = [
    counted("-p udp -m set --match-set clients src -m udp --dport 9"),
    counted("-p udp -m set --match-set clients src -m udp --dport 10", "-p udp -m set --match-set clients src -m udp --dport 9"),
    counted("-p udp -m udp --dport 10 -m set --match-set clients src", "-p udp -m udp --dport 9 -m set --match-set clients src"),
]
sys.exit(seen != [(10, [10]), (20, [0, 10]), (10, [0, 10])])
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
