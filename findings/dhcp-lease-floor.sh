#!/bin/sh
# A lease of 60 s lasts 120 s with dnsmasq and 300 s with ISC dhcpd, though both are configured for 60 s.
#
# One would guess: a server with a lease time of 60 s gives leases of 60 s, or refuses the setting.
# So it is: dnsmasq raises everything below two minutes to 120 s, ISC dhcpd everything below `min-lease-time`, 300 s unless set.
# dnsmasq only logs "lease time 2m" when it starts, dhcpd nothing. Clients renew half as often, or a fifth as often, as a test of
# renewals expects.
#
# Needs root, for a network namespace of its own. Uses dnsmasq-base 2.90-4~deb12u2 and isc-dhcp-server 4.4.3-P1-2 of Debian 12,
# and Scapy 2.8.0 from PyPI as client; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dnsmasq-base=2.90-4~deb12u2 isc-dhcp-server=4.4.3-P1-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
usr/sbin/dnsmasq --version > version && usr/sbin/dhcpd --version 2>> version || exit 2
grep -o -E 'Dnsmasq version [^ ]*|isc-dhcpd-.*' version
cat > dhcpd.conf <<'END'
default-lease-time 60;
ping-check false;
subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.100 192.0.2.200; }
END
: > leases
cat > offer.py <<'END'
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import BOOTP, DHCP, IP, UDP, Ether, conf, srp1

conf.checkIPaddr = False
mac = "02:00:00:00:00:01"
discover = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
discover /= BOOTP(chaddr=bytes.fromhex(mac.replace(":", "")), xid=7, flags=0x8000) / DHCP(options=[("message-type", "discover"), "end"])
offer = srp1(discover, iface="client", timeout=5, verbose=False)
print(next((option[1] for option in offer[DHCP].options if option[0] == "lease_time"), None) if offer else None)
END
cat > try.sh <<'END'
ip link add name server type veth peer name client
for end in server client; do ip link set $end up; done
ip addr add 192.0.2.1/24 dev server
sleep 1
usr/sbin/dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --no-ping --user=root --interface=server \
    --dhcp-range=192.0.2.100,192.0.2.200,60s --dhcp-leasefile="$PWD/dnsmasq.leases" 2> dnsmasq.log &
daemon=$!
sleep 2
venv/bin/python offer.py > dnsmasq.seen
kill $daemon
wait $daemon || true
usr/sbin/dhcpd -4 -f -cf dhcpd.conf -lf leases -pf dhcpd.pid server 2> dhcpd.log &
daemon=$!
sleep 2
venv/bin/python offer.py > dhcpd.seen
kill $daemon
wait $daemon || true
END
unshare -n sh try.sh
echo "lease of dnsmasq, set to 60 s: $(cat dnsmasq.seen) s"
echo "lease of ISC dhcpd, set to 60 s: $(cat dhcpd.seen) s"
test "$(cat dnsmasq.seen) $(cat dhcpd.seen)" = "120 300"
