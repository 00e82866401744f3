#!/bin/sh
# Linux ignores a gratuitous ARP reply whose target MAC address is broadcast or 0 if its last news of the neighbor is less than a second
# old.
#
# One would guess: a gratuitous ARP moves an address at once, whatever its form: a request or a reply, with a target hardware address of
# zeros, ones or the sender's own, all of which are in use.
# So it is: to Linux a reply is gratuitous only if its target MAC address is that of the sender. Another one is a usual reply, and those
# are ignored for a second (`locktime`) after the last change, since the first of several replies shall count. A request moves the address
# always. So a failover soon after an ARP exchange of the old router is not seen, and traffic goes on to the old one until its entry ages.
# Announce by requests.
#
# Needs root, for namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12 (Linux 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

OLD, NEW = bytes([2, 0, 0, 0, 0, 10]), bytes([2, 0, 0, 0, 0, 11])
ALL, NONE = b"\xff" * 6, bytes(6)
FORMS = {
    "request, target 0": (1, NONE),
    "request, target broadcast": (1, ALL),
    "reply, target the sender": (2, NEW),
    "reply, target 0": (2, NONE),
    "reply, target broadcast": (2, ALL),
}


def arp(operation, sender, target, address):
    body = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, operation, sender, socket.inet_aton("10.0.0.50"), target, socket.inet_aton(address))
    return ALL + sender + b"\x08\x06" + body


def neighbor():
    shown = subprocess.run("ip neighbor show 10.0.0.50".split(), capture_output=True, text=True, check=True).stdout.split()
    return shown[shown.index("lladdr") + 1]


for command in (
    "link add host type veth peer name wire",
    "address add 10.0.0.1/24 dev host",
    "link set host up",
    "link set wire up",
):
    subprocess.run(["ip", *command.split()], check=True)
time.sleep(0.5)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire", 0))
seen = {}
for name, (operation, target) in FORMS.items():
    moved = []
    for pause in (0.3, 1.5):
        subprocess.run("ip neighbor flush all".split(), check=True)
        wire.send(arp(1, OLD, NONE, "10.0.0.1"))  # the old host asks for the router, and is known by it
        time.sleep(pause)
        assert neighbor() == OLD.hex(":")
        wire.send(arp(operation, NEW, target, "10.0.0.50"))
        time.sleep(0.1)
        moved.append(neighbor() == NEW.hex(":"))
    seen[name] = tuple(moved)
    print(f"gratuitous ARP {name}: after 0.3 s {'moved' if moved[0] else 'ignored'}, after 1.5 s {'moved' if moved[1] else 'ignored'}")
sys.exit(list(seen.values()) != [(True, True)] * 3 + [(False, True)] * 2)
END
unshare -n python3 try.py
