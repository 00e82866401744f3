#!/bin/sh
# Of the first packets of a multicast source Linux keeps four while the routing daemon decides: of a burst of 1,000 nearly all are lost,
# without a count.
#
# One would guess: a configured static route, `mroute … group 239.1.1.0/24`, is in the kernel when the stream begins, and forwards from
# the first packet on; or what waits is kept and forwarded.
# So it is: the kernel has routes for a source and a group only. A route for any source is a rule of the daemon, which learns of each new
# source by its first packet. Until its answer the kernel keeps the first four packets of a source and drops the others. Neither an
# interface nor the group's counters show them as lost, and each new source of each group loses its beginning again. (This script holds
# the daemon for the length of the burst, so that the number is the same on each machine.) Send a packet ahead and wait, or name the
# source in the route: then it is there at the start.
#
# Needs root, for a network namespace of its own. Uses smcroute 2.5.6-1 and iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in smcroute=2.5.6-1 iproute2=6.1.0-3; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/sbin:$folder/usr/bin:$folder/sbin:$folder/bin:$PATH"
smcrouted -v && uname -sr || exit 2
cat > smcroute.conf <<'END'
phyint west enable
phyint east enable
mroute from west group 239.1.1.0/24 to east
mroute from west group 239.2.2.2 source 10.1.0.2 to east
END
cat > try.py <<'END'
import json
import socket
import struct
import subprocess
import sys
import time

BURST = 1000
daemon = subprocess.Popen(["smcrouted", "-n", "-N", "-f", "smcroute.conf", "-P", "pid", "-u", "socket", "-l", "err"])
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("west-host", 0))


def run(command):
    return json.loads(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)


def forwarded(source, group):
    """How many packets of a burst leave the router."""
    addresses = socket.inet_aton(source) + (target := socket.inet_aton(group))
    header = struct.pack("!BBHHHBBH8s", 0x45, 0, 128, 0, 0, 8, 17, 0, addresses)
    header = header[:10] + checksum(header) + header[12:]
    mac = bytes.fromhex("01005e") + bytes([target[1] & 0x7F]) + target[2:]
    frame = mac + bytes.fromhex("020000000002 0800") + header + struct.pack("!HHHH", 1000, 2000, 108, 0) + bytes(100)
    before = run("ip -s -j link show dev east")[0]["stats64"]["tx"]["packets"]
    # The daemon's turn comes after the burst, as on a router with one busy core.
    daemon.send_signal(19)
    for _ in range(BURST):
        sender.send(frame)
    daemon.send_signal(18)
    time.sleep(1)
    return run("ip -s -j link show dev east")[0]["stats64"]["tx"]["packets"] - before


def drops():
    links = run("ip -s -j link")
    return sum(way["dropped"] + way["errors"] for link in links for way in link["stats64"].values())


try:
    time.sleep(2)
    before = drops()
    seen = []
    for name, source, group in (
        ("first burst of a source", "10.1.0.2", "239.1.1.1"),
        ("second burst", "10.1.0.2", "239.1.1.1"),
        ("first burst of another source", "10.1.0.3", "239.1.1.1"),
        ("first burst of a source named in its route", "10.1.0.2", "239.2.2.2"),
    ):
        seen.append(forwarded(source, group))
        print(f"{name}: {seen[-1]} of {BURST} packets are forwarded")
    dropped = drops() - before
    print("drops and errors of all interfaces:", dropped)
finally:
    daemon.terminate()
    daemon.wait()
sys.exit((seen, dropped) != ([4, BURST, 4, BURST], 0))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.rp_filter=0
ip link set lo up
for side in west east; do
    ip link add $side type veth peer name $side-host
    ip link set $side up
    ip link set $side-host up
done
ip address add 10.1.0.1/24 dev west
ip address add 10.2.0.1/24 dev east
exec python3 try.py
END
unshare -n sh try.sh
