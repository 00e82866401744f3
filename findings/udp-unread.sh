#!/bin/sh
# UdpInDatagrams counts datagrams when a program reads them: those that arrived and were never read are counted by no UDP counter.
#
# One would guess: InDatagrams counts what UDP received and put into a socket's buffer ("delivered to UDP users"), and what it cannot put
# there is an error.
# So it is: it counts in the call that reads. Of 100 datagrams in the buffer of a slow server the counter shows none; after the server has
# read 40, it shows 40; and when the server ends, the other 60 vanish, without an error or a drop anywhere. Only IpInDelivers has the 100.
# A loss computed from UDP's counters at the end of a test, with nstat, snmpd or node_exporter, blames the network for the server's
# backlog.
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
import subprocess
import sys

NAMES = ("IpInDelivers", "UdpInDatagrams", "UdpInErrors", "UdpRcvbufErrors", "UdpNoPorts", "UdpMemErrors")


def counters():
    shown = subprocess.run("nstat -asz -j".split(), capture_output=True, text=True, check=True).stdout
    return json.loads(shown)["kernel"]


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 9))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
seen, before = [], counters()


def show(when):
    now = counters()
    changed = {name: now[name] - before[name] for name in NAMES if now.get(name, 0) != before.get(name, 0)}
    print(f"{when}: {changed}")
    seen.append(changed)


for _ in range(100):
    client.sendto(bytes(100), ("127.0.0.1", 9))
show("100 datagrams have arrived")
for _ in range(40):
    server.recv(1000)
show("40 have been read")
server.close()
show("the server has ended")
sys.exit(seen != [{"IpInDelivers": 100}, {"IpInDelivers": 100, "UdpInDatagrams": 40}, {"IpInDelivers": 100, "UdpInDatagrams": 40}])
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
