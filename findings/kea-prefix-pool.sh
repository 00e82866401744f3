#!/bin/sh
# Of a pool that is written as a prefix Kea offers the network's own address first, then the server's.
#
# One would guess: the pool 192.0.2.0/24 in the subnet 192.0.2.0/24 means all hosts of it: a server leaves out the network's address, the
# broadcast address, and its own.
# So it is: the first client is offered 192.0.2.0, the second one 192.0.2.1, where Kea itself listens. They are acknowledged, too. Kea
# takes a pool as it is written, and does not probe. Clients that set 192.0.2.0 cannot be reached by all hosts, and the second one takes
# away the server's address. Write the pool as a range of hosts, "192.0.2.10 - 192.0.2.250".
#
# Needs root, for namespaces of its own. Uses kea-dhcp4-server and kea-common 2.2.0-6 and liblog4cplus-2.0.5 2.0.8-1 of Debian 12, and
# Scapy 2.8.0 from PyPI as client; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download kea-dhcp4-server=2.2.0-6 kea-common=2.2.0-6 liblog4cplus-2.0.5=2.0.8-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/kea-dhcp4 -v > version || exit 2
echo Kea "$(cat version)"
cat > kea.conf <<'END'
{
    "Dhcp4": {
        "interfaces-config": { "interfaces": ["server"] },
        "lease-database": { "type": "memfile", "persist": false },
        "subnet4": [{ "subnet": "192.0.2.0/24", "pools": [{ "pool": "192.0.2.0/24" }] }]
    }
}
END
cat > client.py <<'END'
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import BOOTP, DHCP, IP, UDP, Ether, conf, srp1

conf.checkIPaddr = False
DISCOVER, REQUEST, ACK = 1, 3, 5


def exchange(client, kind, *options):
    mac = bytes([2, 0, 0, 0, 0, client])
    packet = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
    packet /= BOOTP(chaddr=mac, xid=16 * client + kind, flags=0x8000) / DHCP(options=[("message-type", kind), *options, "end"])
    answer = srp1(packet, iface="client", timeout=5, verbose=False)
    found = dict(option[:2] for option in answer[DHCP].options if isinstance(option, tuple))
    return answer[BOOTP].yiaddr, found["message-type"], found["server_id"]


seen = []
for client in (1, 2):
    offered, _, server = exchange(client, DISCOVER)
    address, answer, _ = exchange(client, REQUEST, ("requested_addr", offered), ("server_id", server))
    seen.append((address, answer))
    print(f"client {client}: {address} of the server {server}, acknowledged: {answer == ACK}")
sys.exit(seen != [("192.0.2.0", ACK), ("192.0.2.1", ACK)])
END
cat > try.sh <<'END'
mount -t tmpfs none /run
mkdir -p /run/kea /run/lock/kea
ip link add name server type veth peer name client
for end in server client; do ip link set $end up; done
ip addr add 192.0.2.1/24 dev server
sleep 1
usr/sbin/kea-dhcp4 -c kea.conf > kea.log 2>&1 &
daemon=$!
sleep 3
venv/bin/python client.py && code=0 || code=$?
kill $daemon
wait $daemon || true
exit $code
END
unshare -nm sh try.sh
