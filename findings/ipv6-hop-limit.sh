#!/bin/sh
# IPv6 packets of dpkt and pypacker have a hop limit of 0, where their IPv4 packets have a TTL of 64: no router forwards them.
#
# One would guess: a library that sets a TTL of 64 unless told otherwise does so for both versions.
# So it is: IP() has 64 and IP6() has 0, in both libraries. Over a switch such packets arrive, so a script works on the table; the first
# router discards them, and answers "time exceeded" to the source. dpkt leaves the payload length at 0, too, where its IPv4 has 20
# until it is set. Set `hlim`, and with dpkt `plen`.
#
# Needs root, for network namespaces of its own. Uses dpkt 1.9.8 and pypacker 5.4 from PyPI; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install dpkt==1.9.8 pypacker==5.4 || exit 2
cat > try.py <<'END'
import socket
import struct
import sys
from importlib.metadata import version

import dpkt
from pypacker.layer3 import ip, ip6
from pypacker.layer4 import udp

SOURCE, TARGET = (socket.inet_pton(socket.AF_INET6, address) for address in ("2001:db8:1::2", "2001:db8:2::2"))
old = dpkt.udp.UDP(sport=1000, dport=2000, data=b"hello")
old.ulen = len(old)
packets = {
    "dpkt": dpkt.ip6.IP6(src=SOURCE, dst=TARGET, nxt=17, plen=len(old), data=old),
    "pypacker": ip6.IP6(src=SOURCE, dst=TARGET, nxt=17) + udp.UDP(sport=1000, dport=2000, body_bytes=b"hello"),
}
ttls = dpkt.ip.IP().ttl, ip.IP().ttl
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("near", 0))
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(0x86DD))
receiver.bind(("far", 0))
receiver.settimeout(2)
router = bytes.fromhex(sys.argv[1])


def forwarded(packet):
    """Whether the router passes the packet on."""
    sender.send(router + bytes.fromhex("02000000000186dd") + packet)
    try:
        while True:
            if receiver.recv(2000)[14 + 24 : 14 + 40] == TARGET:
                return True
    except TimeoutError:
        return False


seen = []
for (name, packet), ttl in zip(packets.items(), ttls):
    limit, plain = packet.hlim, bytes(packet) if name == "dpkt" else packet.bin()
    raised = plain[:7] + struct.pack("B", 64) + plain[8:]
    seen.append((ttl, limit, forwarded(plain), forwarded(raised)))
    print(f"{name} {version(name)}: IPv4 TTL {ttl}, IPv6 hop limit {limit};", end=" ")
    print(f"forwarded: {seen[-1][2]}, with a hop limit of 64: {seen[-1][3]}")
sys.exit(seen != [(64, 0, False, True)] * 2)
END
cat > try.sh <<'END'
set -e
ip link add near type veth peer name in
ip link add out type veth peer name far
for device in near in out far; do ip link set $device up; done
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
ip address add 2001:db8:1::1/64 dev in nodad
ip address add 2001:db8:2::1/64 dev out nodad
ip neigh add 2001:db8:2::2 lladdr 02:00:00:00:00:02 dev out
sleep 2
"$1" try.py "$(ip -br link show in | awk '{print $3}' | tr -d :)"
END
unshare -n sh try.sh "$folder/venv/bin/python"
