#!/bin/sh
# mausezahn's IPv6 packets have no UDP and a wrong TCP checksum: every receiver drops them.
#
# One would guess: `-6 -t udp` and `-6 -t tcp` compute checksums as their IPv4 forms do.
# So it is: UDP's is 0, which IPv6 forbids (RFC 8200, section 8.1), and TCP's is the wrong one. Routers forward the packets, so counters
# of interfaces show no loss; a host counts UDP's as errors (Udp6InErrors) and hands its programs none. Over IPv4 all
# arrive.
#
# Needs root, for a network namespace of its own. Uses netsniff-ng 0.6.8-3, libnet1 1.1.6+dfsg-3.2, libcli1.10 1.10.7-1+b1 and libpcap0.8
# 1.10.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download netsniff-ng=0.6.8-3 libnet1=1.1.6+dfsg-3.2 libcli1.10=1.10.7-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/mausezahn -h 2>&1 | grep -m 1 -i mausezahn > version || exit 2
dpkg-deb -f netsniff-ng_*.deb Package Version
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys

PACKETS = 10
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind(("far", 3))


def total(data):
    """The ones' complement sum, 0xffff if a checksum within is right."""
    data += bytes(len(data) % 2)
    value = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def errors():
    return sum(int(line.split()[1]) for line in open("/proc/net/snmp6") if line.startswith("Udp6InErrors"))


def send(options, family, kind):
    """Sends packets; the part of them whose checksum is right, and what a socket receives of UDP."""
    host = socket.socket(family, socket.SOCK_DGRAM)
    host.bind(("", 9))
    host.settimeout(0.3)
    wire.settimeout(0.5)
    before = errors()
    command = f"usr/sbin/mausezahn near -c {PACKETS} -b {sys.argv[1]} {options} -t {kind} sp=7,dp=9 -P test"
    subprocess.run(command.split(), check=True, capture_output=True)
    good, protocol, arrived = 0, {"udp": 17, "tcp": 6}[kind], 0
    try:
        while True:
            packet = wire.recv(2000)
            if packet[12:14] == b"\x86\xdd" and packet[20] == protocol:
                addresses, body = packet[22:54], packet[54:]
            elif packet[12:14] == b"\x08\0" and packet[23] == protocol:
                addresses, body = packet[26:34], packet[34 : 14 + struct.unpack_from("!H", packet, 16)[0]]
            else:
                continue
            checksum = struct.unpack_from("!H", body, 6 if kind == "udp" else 16)[0]
            good += checksum != 0 and total(addresses + struct.pack("!HH", protocol, len(body)) + body) == 0xFFFF
    except TimeoutError:
        pass
    try:
        while True:
            arrived += len(host.recv(100)) > 0
    except TimeoutError:
        pass
    return good, arrived, errors() - before


seen = {}
for name, options, family in (
    ("IPv4", "-A 10.0.0.1 -B 10.0.0.2", socket.AF_INET),
    ("IPv6", "-6 -A 2001:db8::1 -B 2001:db8::2", socket.AF_INET6),
):
    for kind in ("udp", "tcp"):
        seen[name, kind] = good, arrived, failed = send(options, family, kind)
        received = f", {arrived} received by a socket, Udp6InErrors +{failed}" if kind == "udp" else ""
        print(f"{kind} over {name}: of {PACKETS} packets {good} have the right checksum{received}")
expected = {("IPv4", "udp"): (10, 10, 0), ("IPv4", "tcp"): (10, 0, 0), ("IPv6", "udp"): (0, 0, 10), ("IPv6", "tcp"): (0, 0, 0)}
sys.exit(seen != expected)
END
cat > try.sh <<'END'
set -eu
ip link set lo up
ip link add near type veth peer name far
for end in near far; do ip link set $end up; done
ip address add 10.0.0.2/24 dev far
ip address add 2001:db8::2/64 dev far nodad
sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.far.rp_filter=0
sleep 2
python3 try.py "$(ip -br link show far | awk '{print $3}')"
END
unshare -n sh try.sh
