#!/bin/sh
# A client that releases its address and comes back gets the next one from Kea, and the old one from dnsmasq and ISC dhcpd: one client in
# a loop walks through the whole pool.
#
# One would guess: a server remembers the address of a client's last lease, as RFC 2131 recommends, and gives it the same one as long as it
# is free.
# So it is: dnsmasq and ISC dhcpd do. With Kea the address moves on by one each time: a release deletes the lease, and the next one
# comes from where the server's counter is. In a test that binds and releases in a loop each round has other addresses, so
# what was set up for the first one (routes, ARP, filters, streams) fits no longer, and a conflict with a host in the pool comes later.
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
        "subnet4": [{ "subnet": "192.0.2.0/24", "pools": [{ "pool": "192.0.2.100 - 192.0.2.150" }] }]
    }
}
END
echo 'ping-check false; subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.100 192.0.2.150; }' > dhcpd.conf
: > leases
cat > client.py <<'END'
import logging
import os
import subprocess
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import BOOTP, DHCP, IP, UDP, Ether, conf, sendp, srp1

conf.checkIPaddr = False
DISCOVER, REQUEST, ACK, RELEASE = 1, 3, 5, 7
MAC = bytes([2, 0, 0, 0, 1, 1])
DNSMASQ = "--no-ping --port=0 --interface=server --dhcp-range=192.0.2.100,192.0.2.150,1h --pid-file= --user=root --conf-file=/dev/null"
SERVERS = {
    "Kea": "usr/sbin/kea-dhcp4 -c kea.conf",
    "dnsmasq": f"usr/sbin/dnsmasq -k {DNSMASQ} --dhcp-leasefile={os.getcwd()}/dnsmasq.leases",
    "dhcpd": "usr/sbin/dhcpd -4 -f -cf dhcpd.conf -lf leases -pf dhcpd.pid server",
}


def exchange(kind, *options, address="0.0.0.0"):
    """The address, message type and server of the answer; a release has none."""
    packet = Ether(src=MAC, dst="ff:ff:ff:ff:ff:ff") / IP(src=address, dst="255.255.255.255") / UDP(sport=68, dport=67)
    packet /= BOOTP(ciaddr=address, chaddr=MAC, xid=kind, flags=0x8000) / DHCP(options=[("message-type", kind), *options, "end"])
    if kind == RELEASE:
        sendp(packet, iface="client", verbose=False)
        return None
    answer = srp1(packet, iface="client", timeout=5, verbose=False)
    found = dict(option[:2] for option in answer[DHCP].options if isinstance(option, tuple))
    return answer[BOOTP].yiaddr, found["message-type"], found["server_id"]


def leases():
    """The addresses of five leases, each one released before the next."""
    addresses = []
    for _ in range(5):
        offered, _, server = exchange(DISCOVER)
        address, answer, _ = exchange(REQUEST, ("requested_addr", offered), ("server_id", server))
        assert answer == ACK
        addresses.append(address)
        exchange(RELEASE, ("server_id", server), address=address)
        time.sleep(1)
    return addresses


seen = {}
for name, command in SERVERS.items():
    with open("log", "w") as log:
        server = subprocess.Popen(command.split(), stdout=log, stderr=log)
    time.sleep(3)
    try:
        seen[name] = leases()
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: five leases of one client, each released:", *seen[name])
different = {name: len(set(addresses)) for name, addresses in seen.items()}
sys.exit(different != {"Kea": 5, "dnsmasq": 1, "dhcpd": 1})
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
