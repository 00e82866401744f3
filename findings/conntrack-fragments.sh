#!/bin/sh
# One rule with `ct state` makes a Linux router reassemble fragments: a lost fragment takes the others along, and counters count
# datagrams.
#
# One would guess: a router forwards fragments as they come, with or without a firewall, and a counter in its forward chain counts
# packets.
# So it is: so it does until a rule of nftables or iptables needs connection tracking. From then on all fragments wait in the router until
# their datagram is whole, and are cut again behind the firewall. Of ten datagrams in three fragments each a counter counts 30 without,
# and 10 with such a rule. Where the last fragment is missing the others are forwarded without, and dropped half a minute later with it: a
# loss of one packet in three is one of three in three. The latency of all fragments is that of the last one.
#
# Needs root, for a network namespace of its own. Uses nftables, libnftables1 1.0.6-2+deb12u2, libnftnl11 1.2.4-2 and iproute2 6.1.0-3 of
# Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$folder/sbin:$folder/bin:$PATH"
nft --version && uname -sr || exit 2
cat > try.py <<'END'
import json
import re
import socket
import struct
import subprocess
import sys

DATAGRAMS, PART = 10, 600
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("host1", 0))
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
receiver.bind(("host2", 0x0800))
receiver.settimeout(0.5)
links = json.loads(subprocess.run("ip -j link".split(), capture_output=True, text=True, check=True).stdout)
router = next(bytes.fromhex(link["address"].replace(":", "")) for link in links if link["ifname"] == "router1")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def send(first, parts):
    """Sends so many of the three fragments of each datagram; the identifications count from `first`."""
    datagram = struct.pack("!HHHH", 5, 9, 3 * PART, 0) + bytes(3 * PART - 8)
    for number in range(first, first + DATAGRAMS):
        for part in range(parts):
            offset = part * PART // 8 | (0x2000 if part < 2 else 0)
            ip = bytearray(struct.pack("!BBHHHBBHBBBBBBBB", 69, 0, 20 + PART, number, offset, 64, 17, 0, 10, 0, 1, 2, 10, 0, 2, 2))
            struct.pack_into("!H", ip, 10, checksum(ip))
            sender.send(router + bytes.fromhex("020000000001 0800") + ip + datagram[part * PART : (part + 1) * PART])


def arrived():
    count = 0
    try:
        while True:
            count += receiver.recv(2000)[:6] == bytes.fromhex("020000000002")
    except TimeoutError:
        return count


seen, first = [], 1
for what, rule in (("a counter alone", ""), ("a counter and `ct state new accept`", "add rule ip t f ct state new accept;")):
    rules = f"flush ruleset; add table ip t; add chain ip t f {{ type filter hook forward priority 0; }}; add rule ip t f counter; {rule}"
    subprocess.run(["nft", rules], check=True)
    counts = []
    for parts in (3, 2):
        send(first, parts)
        first += DATAGRAMS
        received = arrived()
        listed = subprocess.run("nft list chain ip t f".split(), capture_output=True, text=True, check=True).stdout
        counts += [received, int(re.search(r"packets (\d+)", listed)[1])]
        print(f"{what}: {DATAGRAMS} datagrams, {parts} of 3 fragments of each sent: {received} fragments arrive, {counts[-1]} counted")
    seen.append(counts)
sys.exit(seen != [[30, 30, 20, 50], [30, 10, 0, 10]])
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv4.ip_forward=1
for number in 1 2; do
    ip link add router$number type veth peer name host$number
    for end in router host; do ip link set $end$number up; done
    ip address add 10.0.$number.1/24 dev router$number
    ip neigh add 10.0.$number.2 lladdr 02:00:00:00:00:0$number dev router$number
done
python3 try.py
END
unshare -n sh try.sh
