#!/bin/sh
# Kea and dnsmasq offer one address to two clients that have not requested it yet, ISC dhcpd does not: of twelve clients at once six are
# refused after they had an offer.
#
# One would guess: an address that is offered is set aside for its client for a while, and when a pool is used up there are no more offers.
# So it is: with a pool of six addresses and twelve clients that have sent a DISCOVER each, Kea and dnsmasq make twelve offers, each
# address twice. If all twelve request what they were offered, the first one of each pair has it and the other gets a NAK and starts
# again. ISC dhcpd makes six offers and leaves the other six clients without an answer. So with a pool that is about as large as the
# number of clients, a count of offers says nothing of leases, and NAKs are no fault of the clients.
#
# Needs root, for namespaces of its own. Uses kea-dhcp4-server and kea-common 2.2.0-6, liblog4cplus-2.0.5 2.0.8-1, dnsmasq-base
# 2.90-4~deb12u2 and isc-dhcp-server 4.4.3-P1-2 of Debian 12, and Scapy 2.8.0 from PyPI as client; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download kea-dhcp4-server=2.2.0-6 kea-common=2.2.0-6 liblog4cplus-2.0.5=2.0.8-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download dnsmasq-base=2.90-4~deb12u2 isc-dhcp-server=4.4.3-P1-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/kea-dhcp4 -v > version && usr/sbin/dnsmasq --version >> version && usr/sbin/dhcpd --version 2>> version || exit 2
grep -o -E '^[0-9.]+$|Dnsmasq version [^ ]*|isc-dhcpd-.*' version
cat > kea.conf <<'END'
{
    "Dhcp4": {
        "interfaces-config": { "interfaces": ["server"] },
        "lease-database": { "type": "memfile", "persist": false },
        "subnet4": [{ "subnet": "192.0.2.0/24", "pools": [{ "pool": "192.0.2.100 - 192.0.2.105" }] }]
    }
}
END
echo 'ping-check false; subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.100 192.0.2.105; }' > dhcpd.conf
: > leases
cat > client.py <<'END'
import collections
import logging
import os
import subprocess
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import BOOTP, DHCP, IP, UDP, Ether, conf, srp1

conf.checkIPaddr = False
DISCOVER, REQUEST, ACK, NAK = 1, 3, 5, 6
CLIENTS = range(1, 13)
DNSMASQ = "--no-ping --port=0 --interface=server --dhcp-range=192.0.2.100,192.0.2.105,1h --pid-file= --user=root --conf-file=/dev/null"
SERVERS = {
    "Kea": "usr/sbin/kea-dhcp4 -c kea.conf",
    "dnsmasq": f"usr/sbin/dnsmasq -k {DNSMASQ} --dhcp-leasefile={os.getcwd()}/dnsmasq.leases",
    "dhcpd": "usr/sbin/dhcpd -4 -f -cf dhcpd.conf -lf leases -pf dhcpd.pid server",
}


def exchange(client, kind, *options):
    """The address, message type and server of the answer, or None."""
    mac = bytes([2, 0, 0, 0, 1, client])
    packet = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
    packet /= BOOTP(chaddr=mac, xid=16 * client + kind, flags=0x8000) / DHCP(options=[("message-type", kind), *options, "end"])
    answer = srp1(packet, iface="client", timeout=2, verbose=False)
    if answer is None:
        return None
    found = dict(option[:2] for option in answer[DHCP].options if isinstance(option, tuple))
    return answer[BOOTP].yiaddr, found["message-type"], found["server_id"]


def load():
    """Offers made, addresses in them, and the answers to requests for them."""
    offers = {client: offer for client in CLIENTS if (offer := exchange(client, DISCOVER))}
    answers = collections.Counter()
    for client, (address, _, server) in offers.items():
        answer = exchange(client, REQUEST, ("requested_addr", address), ("server_id", server))
        answers[answer and answer[1]] += 1
    return len(offers), len({address for address, _, _ in offers.values()}), answers[ACK], answers[NAK]


seen = {}
for name, command in SERVERS.items():
    with open("log", "w") as log:
        server = subprocess.Popen(command.split(), stdout=log, stderr=log)
    time.sleep(3)
    try:
        seen[name] = load()
    finally:
        server.terminate()
        server.wait()
    offers, addresses, acks, naks = seen[name]
    print(f"{name}: {offers} offers of {addresses} addresses to {len(CLIENTS)} clients; then {acks} ACKs and {naks} NAKs")
sys.exit(not (seen["Kea"] == seen["dnsmasq"] == (12, 6, 6, 6) and seen["dhcpd"] == (6, 6, 6, 0)))
END
cat > try.sh <<'END'
mount -t tmpfs none /run
mkdir -p /run/kea /run/lock/kea
ip link add name server type veth peer name client
for end in server client; do ip link set $end up; done
ip addr add 192.0.2.1/24 dev server
sleep 1
exec venv/bin/python client.py
END
unshare -nm sh try.sh
