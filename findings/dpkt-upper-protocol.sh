#!/bin/sh
# dpkt's IP(data=UDP()) has the protocol number 0, and IP6(data=UDP()) the next header 0, hop-by-hop options: no host takes either as UDP.
#
# One would guess: the number of the protocol follows from the data, as lengths and checksums do, and as the EtherType of a frame does.
# So it is: dpkt fills in the length, both checksums and, in a frame, the EtherType of IPv6. The protocol is 0 unless `p` or `nxt` is given.
# A Linux host gives no such packet to a UDP socket, so that a stream made of them has a loss of 100 %, with checksums and lengths that
# are all right.
#
# Needs root, for a network namespace of its own. Uses dpkt 1.9.8 from PyPI and iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18.
# No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install dpkt==1.9.8 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

import dpkt

SENDS = 20
for command in (
    "link add host type veth peer name wire",
    "link set host address 02:00:00:00:00:01",
    "address add 10.0.0.1/24 dev host",
    "address add fd00::1/64 dev host nodad",
    "link set host up",
    "link set wire up",
):
    subprocess.run(["ip", *command.split()], check=True)
time.sleep(0.5)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire", 0))
sockets = {}
for version, family, to in ((4, socket.AF_INET, "10.0.0.1"), (6, socket.AF_INET6, "fd00::1")):
    sockets[version] = socket.socket(family, socket.SOCK_DGRAM)
    sockets[version].bind((to, 7000))
    sockets[version].settimeout(0.5)


def trial(version, named):
    """Datagrams that a host gets of those sent to it, and the protocol number of the packets."""
    udp = dpkt.udp.UDP(sport=7001, dport=7000, ulen=12, data=b"test")
    if version == 4:
        packet = dpkt.ip.IP(src=socket.inet_aton("10.0.0.2"), dst=socket.inet_aton("10.0.0.1"), data=udp)
        if named:
            packet.p = 17
    else:
        source, target = (socket.inet_pton(socket.AF_INET6, address) for address in ("fd00::2", "fd00::1"))
        packet = dpkt.ip6.IP6(src=source, dst=target, plen=12, hlim=64, data=udp)
        if named:
            packet.nxt = 17
    frame = bytes(dpkt.ethernet.Ethernet(src=b"\x02\0\0\0\0\2", dst=b"\x02\0\0\0\0\1", data=packet))
    for _ in range(SENDS):
        wire.send(frame)
    got = 0
    try:
        while got < SENDS:
            sockets[version].recv(100)
            got += 1
    except TimeoutError:
        pass
    number = frame[23] if version == 4 else frame[20]
    print(f"IPv{version}, {'given' if named else 'left out'}: protocol {number}, EtherType 0x{frame[12:14].hex()}: {got} of {SENDS} datagrams arrive")
    return number, got


print("dpkt", dpkt.__version__)
seen = [trial(version, named) for version in (4, 6) for named in (False, True)]
sys.exit(seen != [(0, 0), (17, SENDS)] * 2)
END
unshare -n venv/bin/python try.py
