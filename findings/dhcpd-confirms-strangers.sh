#!/bin/sh
# ISC dhcpd confirms the address of a client it has never seen, even if it is not authoritative.
#
# One would guess: a server that knows nothing of a client stays silent when the client asks to keep its old address; RFC 2131,
# section 4.3.2, says it must.
# So it is: an ACK comes at once if the address is free and in the server's range. A test that moves clients from one server to
# another, or restarts a server without its leases, sees all of them keep their addresses.
#
# Needs root, for a network namespace of its own. Uses isc-dhcp-server 4.4.3-P1-2 of Debian 12, and Scapy 2.8.0 from PyPI as
# client; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download isc-dhcp-server=4.4.3-P1-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
usr/sbin/dhcpd --version 2> version || exit 2
cat version
echo 'subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.100 192.0.2.200; }' > dhcpd.conf
: > leases
cat > client.py <<'END'
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import BOOTP, DHCP, IP, UDP, Ether, conf, srp1

conf.checkIPaddr = False
seen = []
for xid, address in enumerate(("192.0.2.150", "198.51.100.7"), 1):
    request = Ether(src=f"02:00:00:00:00:0{xid}", dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255")
    request /= UDP(sport=68, dport=67) / BOOTP(chaddr=bytes([2, 0, 0, 0, 0, xid]), xid=xid, flags=0x8000)
    request /= DHCP(options=[("message-type", "request"), ("requested_addr", address), "end"])
    answer = srp1(request, iface="client", timeout=3, verbose=False)
    kind = dict(option[:2] for option in answer[DHCP].options if option[0] == "message-type")["message-type"] if answer else None
    seen.append({None: "no answer", 5: "ACK", 6: "NAK"}.get(kind, kind))
    print(f"a new client asks to keep {address}: {seen[-1]}")
sys.exit(seen != ["ACK", "no answer"])
END
cat > try.sh <<'END'
ip link add name server type veth peer name client
for end in server client; do ip link set $end up; done
ip addr add 192.0.2.1/24 dev server
sleep 1
usr/sbin/dhcpd -4 -f -cf dhcpd.conf -lf leases -pf dhcpd.pid server 2> dhcpd.log &
daemon=$!
sleep 2
venv/bin/python client.py && code=0 || code=$?
kill $daemon
wait $daemon || true
exit $code
END
unshare -n sh try.sh
