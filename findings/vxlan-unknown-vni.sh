#!/bin/sh
# Linux drops VXLAN packets of a VNI that it does not have without counting them: UDP says that it has delivered them.
#
# One would guess: packets of an unknown VNI, a usual fault of configuration, raise a counter of drops or errors somewhere.
# So it is: no interface, neither the VXLAN device nor the one below it, has a drop or an error, and no counter of /proc/net/snmp or
# /proc/net/netstat does; Udp InDatagrams grows as if a program had read them. There is no ICMP message either. A test with a wrong VNI
# looks like a loss on the wire. What tells is that the device below received packets and the VXLAN device did not.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import struct
import subprocess
import sys
import time

PACKETS = 100
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sender.bind(("peer", 3))
sender.settimeout(0.3)
links = json.loads(subprocess.run("ip -j link".split(), capture_output=True, text=True, check=True).stdout)
macs = {link["ifname"]: bytes.fromhex(link["address"].replace(":", "")) for link in links}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def counters():
    """All counters of interfaces but those of bytes, and of the network's protocols."""
    found = {}
    for link in json.loads(subprocess.run("ip -s -s -j link".split(), capture_output=True, text=True, check=True).stdout):
        for way, values in link["stats64"].items():
            found |= {f"{link['ifname']} {way} {name}": value for name, value in values.items() if name != "bytes"}
    for name in ("snmp", "netstat"):
        lines = open(f"/proc/net/{name}").read().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            group = names.split()[0][:-1]
            found |= {f"{group} {key}": int(value) for key, value in zip(names.split()[1:], values.split()[1:]) if "Octets" not in key}
    return found


def send(vni):
    inner = macs["vxlan"] + bytes.fromhex("020000000001 0800") + bytes(50)
    udp = struct.pack("!HHHHBxxxI", 5555, 4789, 16 + len(inner), 0, 8, vni << 8) + inner
    ip = bytearray(struct.pack("!BBHHHBBHBBBBBBBB", 69, 0, 20 + len(udp), 1, 0, 64, 17, 0, 10, 0, 0, 2, 10, 0, 0, 1))
    struct.pack_into("!H", ip, 10, checksum(ip))
    before = counters()
    for _ in range(PACKETS):
        sender.send(macs["below"] + bytes.fromhex("020000000001 0800") + ip + udp)
    answers = 0
    time.sleep(0.3)
    try:
        while True:
            answers += sender.recvfrom(2000)[1][2] != socket.PACKET_OUTGOING
    except TimeoutError:
        pass
    after = counters()
    changed = sorted(name for name in after if after[name] - before[name] == PACKETS and "peer" not in name)
    print(f"{PACKETS} packets of VNI {vni}, {answers} answers; counted: {', '.join(changed)}")
    return answers, changed


known, unknown = send(100), send(200)
bad = [name for name in unknown[1] if any(word in name.lower() for word in ("drop", "err", "discard", "noport", "miss"))]
as_described = "vxlan rx packets" in known[1] and "Udp InDatagrams" in unknown[1] and "below rx packets" in unknown[1]
sys.exit(not (as_described and unknown[0] == 0 and not bad and not any("vxlan" in name for name in unknown[1])))
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add below type veth peer name peer
for end in below peer; do ip link set $end up; done
ip address add 10.0.0.1/24 dev below
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:01 dev below
ip link add vxlan type vxlan id 100 local 10.0.0.1 dstport 4789 dev below
ip link set vxlan up
python3 try.py
END
unshare -n sh try.sh
