#!/bin/sh
# tayga drops IPv4 UDP datagrams without a checksum, and counts nothing.
#
# One would guess: a NAT64 computes the checksum that IPv6 needs. RFC 7915 (section 4.5) wants a setting: compute it, or drop the datagram
# and report its addresses and ports. Only fragments without a checksum are always dropped.
# So it is: of ten datagrams with a checksum ten reach the IPv6 host, of ten with a checksum of 0 none. tayga has no counter and writes no
# line; its interface shows both as sent. Many traffic generators leave the checksum out: a test of NAT64 has it computed.
#
# Needs root, for a network namespace of its own with a TUN device. Uses tayga 0.9.2-8 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tayga=0.9.2-8 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
dpkg-deb -f tayga_*.deb Package Version && usr/sbin/tayga --help > version 2>&1 || grep -qi usage version || exit 2
cat > tayga.conf <<END
tun-device nat64
ipv4-addr 192.168.255.1
ipv6-addr 2001:db8:2::1
prefix 2001:db8:64::/96
map 192.168.255.10 2001:db8:1::10
END
cat > try.py <<'END'
import socket
import sys

SO_NO_CHECK = 11
host = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
host.bind(("2001:db8:1::10", 9))
host.settimeout(0.5)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(("10.0.0.1", 0))


def arrived():
    count = 0
    for number in range(10):
        sender.sendto(b"%d" % number, ("192.168.255.10", 9))
        try:
            count += host.recv(100) == b"%d" % number
        except TimeoutError:
            pass
    return count


def written():
    """Packets that the kernel handed to tayga."""
    return int(next(line for line in open("/proc/net/dev") if "nat64" in line).split()[10])


arrived()  # the first packets may come before tayga reads
seen = []
for no_check in (0, 1):
    sender.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, no_check)
    before = written()
    seen.append((arrived(), written() - before >= 10))
    print(f"{'without' if no_check else 'with'} a checksum: 10 sent, {written() - before} packets to tayga, {seen[-1][0]} received")
log = open("log").read().splitlines()
print("tayga's log since its start:", log[-1] if log else "empty")
sys.exit(seen != [(10, True), (0, True)])
END
cat > try.sh <<'END'
set -eu
ip link set lo up
usr/sbin/tayga -c tayga.conf --mktun > /dev/null 2>&1
ip link set nat64 up
ip address add 10.0.0.1/24 dev lo
ip address add 2001:db8:1::10/128 dev lo
ip route add 192.168.255.0/24 dev nat64
ip route add 2001:db8:64::/96 dev nat64
sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
usr/sbin/tayga -c tayga.conf -d > log 2>&1 &
tayga=$!
sleep 1
code=0
python3 try.py || code=$?
kill $tayga
exit $code
END
unshare -n sh try.sh
