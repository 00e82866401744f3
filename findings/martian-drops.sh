#!/bin/sh
# A Linux router drops packets whose source is one of its own addresses, or that come in broadcast frames, without counting them as
# dropped.
#
# One would guess: such packets are errors, discards or drops of IP ("IpInAddrErrors", "IpInDiscards") or of the interface, or counted as
# not routed, as packets without a route are.
# So it is: IpInReceives and the interface's received packets grow, and nothing else does. Sources 127.0.0.1, 0.0.0.0, a multicast group
# and the router's own address are "martians", which the kernel logs if `log_martians` is set; a unicast packet in a broadcast frame is
# not even that. In a test a generator that uses the gateway's address by mistake, or the broadcast address for want of ARP, sees a loss
# of 100 % and a device without a fault.
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
ROUTER, BROADCAST = "020000000001", "ffffffffffff"
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("west-host", 0))


def run(command):
    return json.loads(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)


def counters():
    """All counters of the kernel, and those of the router's two interfaces."""
    found = run("nstat -asz -j")["kernel"]
    for name in ("west", "east"):
        for way, values in run(f"ip -s -s -j link show dev {name}")[0]["stats64"].items():
            found |= {f"{name} {way} {key}": value for key, value in values.items()}
    return found


def frame(to, source, target):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 128, 0, 0, 8, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + header[12:]
    return bytes.fromhex(to + "020000000002 0800") + header + struct.pack("!HHHH", 1000, 2000, 108, 0) + bytes(100)


def change(what, *packet):
    """The counters that a burst changes, without octets and ECN's packets."""
    before = counters()
    for _ in range(PACKETS):
        sender.send(frame(*packet))
    time.sleep(0.3)
    after = counters()
    changed = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    changed = {name: value for name, value in changed.items() if not name.lower().endswith(("octets", "ectpkts", "bytes"))}
    print(f"{what}: {changed}")
    return changed


forwarded = change("from a host", ROUTER, "10.1.0.2", "10.2.0.2")
no_route = change("to nowhere", ROUTER, "10.1.0.2", "192.0.2.1")
silent = [
    change("from the router's own address", ROUTER, "10.1.0.1", "10.2.0.2"),
    change("from 127.0.0.1", ROUTER, "127.0.0.1", "10.2.0.2"),
    change("from 0.0.0.0", ROUTER, "0.0.0.0", "10.2.0.2"),
    change("from a group", ROUTER, "224.0.0.1", "10.2.0.2"),
    change("in broadcast frames", BROADCAST, "10.1.0.2", "10.2.0.2"),
]
received = {"IpInReceives": PACKETS, "west rx packets": PACKETS}
sys.exit(not (
    all(changed == received for changed in silent)
    and (forwarded["east tx packets"], no_route["IpExtInNoRoutes"]) == (PACKETS, PACKETS)
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
exec python3 try.py
END
unshare -n sh try.sh
