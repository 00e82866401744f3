#!/bin/sh
# A rule of nftables that adds addresses to a set counts 65,535 of 100,000 clients and no more: when the set is full, it stops matching.
#
# One would guess: a set without a size grows, or the rule's other statements, its counter and its verdict, work for the packets whose
# address finds no place.
# So it is: a set that packets add to has a size of 65,535 unless one is written, and an `add @set` that fails ends the rule as a
# condition that is not met: what follows it, `counter accept` here, does not happen. Packets of the other 34,465 clients go on to the
# next rule. Nothing counts or logs it. A test of many clients sees some 65 % of them treated as the rules say. Write a size, or the
# counter first.
#
# Needs root, for a network namespace of its own. Uses nftables and libnftables1 1.0.6-2+deb12u2 of Debian 12; seen with Linux 6.18. No
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/nft --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import struct
import subprocess
import sys

CLIENTS = 100_000


def checksum(data):
    total = sum(struct.unpack("!10H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def frame(client):
    """A datagram from a client's address to 10.0.0.1."""
    source = struct.pack("!I", 0x0A000000 + 256 + client)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 29, 0, 0, 64, 17, 0, source, bytes([10, 0, 0, 1]))
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return bytes.fromhex("020000000001 020000000002 0800") + header + struct.pack("!HHHH", 1000, 9, 9, 0) + b"x"


rules = """add table ip t; add set ip t clients { type ipv4_addr; flags dynamic; }
    add chain ip t c { type filter hook input priority 0; }
    add rule ip t c udp dport 9 add @clients { ip saddr } counter accept
    add rule ip t c udp dport 9 counter"""
subprocess.run(["usr/sbin/nft", rules], check=True)
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("far", 0))
for client in range(CLIENTS):
    sender.send(frame(client))
shown = subprocess.run("usr/sbin/nft list chain ip t c".split(), capture_output=True, text=True, check=True).stdout
adding, next_rule = map(int, re.findall(r"counter packets (\d+)", shown))
print(f"one packet each of {CLIENTS} clients: the rule that adds counts {adding}, the next one {next_rule}")
sys.exit((adding, next_rule) != (65_535, CLIENTS - 65_535))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.rp_filter=0
ip link add near address 02:00:00:00:00:01 type veth peer name far
ip address add 10.0.0.1/8 dev near
for end in near far; do ip link set $end up; done
exec python3 try.py
END
unshare -n sh try.sh
