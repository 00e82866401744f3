#!/bin/sh
# BIRD counts announced routes with its own AS number in their path as withdraws: of 8 routes announced it shows 5 updates, 3 withdraws.
#
# One would guess: routes refused for a loop are among the updates received, as rejected or filtered, or there is a counter for them.
# So it is: BIRD turns such an announcement into a withdraw of the prefix before it counts. "Import updates" has 5 received, 0 rejected, 0
# filtered; "Import withdraws" 3, for routes that nobody has withdrawn; the log has nothing. GoBGP 3.10.0 shows the same session as 8
# received and 5 accepted. A test that compares routes sent with routes received misses three, and one that counts withdraws to find flaps
# finds some. An AS number that generated paths share with the device is enough.
#
# Needs root, for a network namespace of its own. Uses bird2 2.0.12-7, gobgpd 3.10.0-1+b4, libssh-gcrypt-4 0.10.6-0+deb12u3 of Debian 12;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bird2=2.0.12-7 gobgpd=3.10.0-1+b4 libssh-gcrypt-4=0.10.6-0+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$folder/usr/bin:$PATH"
bird --version 2> version || exit 2
cat version && gobgpd --version || exit 2
cat > bird.conf <<END
router id 10.0.0.1;
log "bird.log" all;
protocol device {}
protocol bgp peer {
    local 10.0.0.1 port 1790 as 65001;
    neighbor 10.0.0.2 as 65002;
    multihop;
    passive;
    ipv4 { import all; export none; };
}
END
cat > gobgp.toml <<END
[global.config]
as = 65001
router-id = "10.0.0.1"
port = 1791
local-address-list = ["10.0.0.1"]
[[neighbors]]
[neighbors.config]
peer-as = 65002
neighbor-address = "10.0.0.2"
[neighbors.transport.config]
passive-mode = true
[neighbors.ebgp-multihop.config]
enabled = true
multihop-ttl = 10
END
cat > try.py <<'END'
import re
import socket
import struct
import subprocess
import sys
import time

OPEN, UPDATE, KEEPALIVE = 1, 2, 4


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


def update(path, prefixes):
    """An UPDATE (RFC 4271, section 4.3) of routes of 24 bits with a path of AS numbers of four bytes."""
    numbers = bytes([2, len(path)]) + b"".join(struct.pack("!I", number) for number in path)
    attributes = bytes([0x40, 1, 1, 0, 0x40, 2, len(numbers)]) + numbers + bytes([0x40, 3, 4, 10, 0, 0, 3])
    return message(UPDATE, struct.pack("!HH", 0, len(attributes)) + attributes + b"".join(bytes([24, *prefix]) for prefix in prefixes))


def announce(port):
    """A session in which 5 routes are announced, and 3 with the receiver's AS number in their path."""
    peer = socket.socket()
    peer.bind(("10.0.0.2", 0))
    for _ in range(50):
        try:
            peer.connect(("10.0.0.1", port))
            break
        except OSError:
            peer = socket.socket()
            peer.bind(("10.0.0.2", 0))
            time.sleep(0.2)
    capabilities = bytes([2, 6, 1, 4, 0, 1, 0, 1]) + bytes([2, 6, 65, 4]) + struct.pack("!I", 65002)
    peer.sendall(message(OPEN, struct.pack("!BHH4sB", 4, 65002, 90, bytes([10, 0, 0, 2]), len(capabilities)) + capabilities))
    peer.sendall(message(KEEPALIVE))
    time.sleep(2)
    peer.sendall(update([65002], [(20, 0, number) for number in range(5)]))
    peer.sendall(update([65002, 65001], [(20, 1, number) for number in range(3)]))
    time.sleep(2)
    return peer


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True).stdout


daemons = [
    subprocess.Popen(command.split(), stdout=open("log", "a"), stderr=subprocess.STDOUT)
    for command in ("bird -c bird.conf -s control -f", "gobgpd -f gobgp.toml --api-hosts 127.0.0.1:5555")
]
try:
    peers = [announce(1790), announce(1791)]
    shown = run("birdc -s control show protocols all peer")
    counts = {
        kind: re.findall(r"\d+|---", re.search(rf"Import {kind}: +(.*)", shown)[1]) for kind in ("updates", "withdraws")
    }
    gobgp = re.search(r"10\.0\.0\.2 .*\| +(\d+) +(\d+)", run("gobgp -p 5555 neighbor"))
finally:
    for daemon in daemons:
        daemon.terminate()
        daemon.wait()
print("8 routes announced, 3 of them with the receiver's AS number in their path")
print("BIRD (received, rejected, filtered, ignored, accepted):", counts)
print(f"GoBGP: {gobgp[1]} received, {gobgp[2]} accepted")
logged = [line for line in open("bird.log") if "20.1." in line or "oop" in line]
print("BIRD's log of the three:", logged)
sys.exit((counts, gobgp.groups(), logged) != (
    {"updates": ["5", "0", "0", "0", "5"], "withdraws": ["3", "0", "---", "3", "0"]}, ("8", "5"), []
))
END
cat > try.sh <<'END'
ip link set lo up
ip address add 10.0.0.1/24 dev lo
ip address add 10.0.0.2/24 dev lo
exec python3 try.py
END
unshare -n sh try.sh
