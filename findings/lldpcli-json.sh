#!/bin/sh
# lldpcli's JSON has an object where there is one neighbor and a list where there are two, and numbers are texts.
#
# One would guess: `lldpcli -f json show neighbors` has a list of interfaces with as many elements as there are neighbors.
# So it is: with one neighbor "interface" is an object, with two a list of objects, and with none it is missing. Each element has the
# interface's name as its only key, as the chassis has the neighbor's; an only capability, or an only management address, is no list
# either. The time to live is "120" and the age "0 day, 00:00:01". A script that was written with two links fails with one.
# `-f json0` has lists throughout.
#
# Needs root, for a network namespace of its own, and the user _lldpd (as from Debian's package). Uses lldpd 1.0.16-1+deb12u1 of
# Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download lldpd=1.0.16-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
getent passwd _lldpd > user && usr/sbin/lldpd -v > version || exit 2
echo lldpd "$(cat version)"
cat > try.py <<'END'
import json
import os
import socket
import struct
import subprocess
import sys
import time


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def announce(interface, number):
    """A neighbor that is a router, with one management address."""
    mac = bytes([2, 0, 0, 0, 0, number])
    parts = [
        (1, b"\4" + mac), (2, b"\5eth%d" % number), (3, struct.pack("!H", 120)), (5, b"switch%d" % number), (7, bytes([0, 16, 0, 16])),
        (8, bytes([5, 1, 10, 0, 0, number, 2, 0, 0, 0, 1, 0])), (0, b""),
    ]
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    link.send(bytes.fromhex("0180c200000e") + mac + b"\x88\xcc" + b"".join(tlv(*part) for part in parts))


def shown(form):
    found = None
    for _ in range(50):
        run = subprocess.run(f"usr/sbin/lldpcli -u socket -f {form} show neighbors".split(), capture_output=True, text=True)
        if run.returncode == 0:
            found = json.loads(run.stdout)["lldp"]
            break
        time.sleep(0.1)
    return found


daemon = subprocess.Popen("usr/sbin/lldpd -d -u socket -r -I near1,near2".split(), stderr=open("log", "w"))
seen = []
try:
    while not os.path.exists("socket"):
        time.sleep(0.1)
    for number in range(3):
        if number:
            announce(f"far{number}", number)
            time.sleep(1)
        found = shown("json")
        interfaces = found.get("interface") if isinstance(found, dict) else found
        seen.append(type(interfaces).__name__)
        print(f"{number} neighbors: lldp is {json.dumps(found)[:420]}")
    first = interfaces[0]["near1"]["chassis"]["switch1"]
    seen += [type(first["capability"]).__name__, type(first["mgmt-ip"]).__name__]
    ttl = interfaces[0]["near1"]["port"]["ttl"]
    lists = shown("json0")[0]["interface"]
finally:
    daemon.terminate()
    daemon.wait()
print(seen, "time to live", repr(ttl), "json0:", type(lists).__name__, len(lists))
sys.exit(not (seen[:3] == ["NoneType", "dict", "list"] and seen[4] == "str" and ttl == "120" and len(lists) == 2))
END
cat > try.sh <<'END'
set -e
ip link add near1 type veth peer name far1
ip link add near2 type veth peer name far2
for port in near1 near2 far1 far2; do ip link set $port up; done
sleep 1
python3 try.py
END
unshare -n sh try.sh
