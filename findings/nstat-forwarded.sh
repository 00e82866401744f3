#!/bin/sh
# IpForwDatagrams counts packets that a router could not send on, and IpExtInOctets the padding of short frames.
#
# One would guess: "forwarded" packets have left the router, and the octets received are those of IP packets, as those sent are.
# So it is: a packet counts as forwarded when its route is found. 100 packets that are too long for the outgoing link and may not be
# fragmented are 100 forwarded ones, though all came back as ICMP errors (IpFragFails has them, too). And InOctets are counted before the
# frame's padding is cut off: 100 packets of 29 bytes in frames of 60 are 4,600 octets in and 2,900 out, a loss of 37 % by octets of a
# router that loses nothing. Compare IpExtOutOctets with the sender's, and interfaces with interfaces.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nstat -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import struct
import subprocess
import sys
import time

PACKETS = 100
NAMES = ("IpInReceives", "IpForwDatagrams", "IpFragFails", "IpExtInOctets", "IpExtOutOctets")
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("west-host", 0))


def run(command):
    return json.loads(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)


def counters():
    return run("nstat -asz -j")["kernel"] | {"left": run("ip -s -j link show dev east")[0]["stats64"]["tx"]["packets"]}


def frame(size):
    """A frame of 60 bytes or more with an IP packet of the size given that may not be fragmented."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, 0, 0x4000, 8, 17, 0, bytes([10, 1, 0, 2]), bytes([10, 2, 0, 2]))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + header[12:]
    packet = header + struct.pack("!HHHH", 1000, 2000, size - 20, 0) + bytes(size - 28)
    return (bytes.fromhex("020000000001 020000000002 0800") + packet).ljust(60, b"\0")


def change(size):
    before = counters()
    for _ in range(PACKETS):
        sender.send(frame(size))
    time.sleep(0.5)
    after = counters()
    changed = {name: after[name] - before[name] for name in (*NAMES, "left")}
    print(f"{PACKETS} packets of {size} bytes: {changed['left']} have left;", {name: changed[name] for name in NAMES})
    return changed


long, short = change(1000), change(29)
sys.exit(not (
    (long["left"], long["IpForwDatagrams"], long["IpFragFails"]) == (0, PACKETS, PACKETS)
    and (short["left"], short["IpForwDatagrams"], short["IpExtInOctets"], short["IpExtOutOctets"]) == (PACKETS, PACKETS, 4600, 2900)
))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_forward=1
ip link add west address 02:00:00:00:00:01 type veth peer name west-host
ip link add east type veth peer name east-host
for end in west west-host east east-host; do ip link set $end up; done
ip address add 10.1.0.1/24 dev west
ip address add 10.2.0.1/24 dev east
ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev west
ip neigh replace 10.2.0.2 lladdr 02:00:00:00:00:03 dev east
ip link set east mtu 600
exec python3 try.py
END
unshare -n sh try.sh
