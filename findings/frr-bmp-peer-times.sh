#!/bin/sh
# FRR's BMP dates each Peer Up at the start of the machine: a session that is a second old is an hour old if the host is.
#
# One would guess: the time in a Peer Up Notification is that of the session's start, and a collector can take the time of convergence
# from it.
# So it is: FRR writes the time at which the machine's monotonic clock was zero, its start. All sessions have the same one.
# Its Route Monitoring messages are dated right. GoBGP dates Peer Up right, in whole seconds. In a collector's list all sessions
# look as old as the host; take the time at which the message came.
#
# Needs root, for namespaces of its own. Uses frr 8.4.4-1.1~deb12u2, libyang2 2.1.30-2, libjson-c5 0.16-2, gobgpd 3.10.0-1+b4,
# libssh-gcrypt-4 0.10.6-0+deb12u3 and iproute2 6.1.0-3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download frr=8.4.4-1.1~deb12u2 libyang2=2.1.30-2 libjson-c5=0.16-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download gobgpd=3.10.0-1+b4 libssh-gcrypt-4=0.10.6-0+deb12u3 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
libraries="$folder/usr/lib/$(uname -m)-linux-gnu"
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH" LD_LIBRARY_PATH="$libraries:$libraries/frr"
usr/lib/frr/bgpd --version > version && usr/bin/gobgpd --version >> version || exit 2
grep version version
cat > frr.conf <<END
router bgp 65010
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65001
 neighbor 10.0.0.2 passive
 bmp targets lab
  bmp monitor ipv4 unicast pre-policy
  bmp connect 10.0.0.2 port 5000 min-retry 500 max-retry 1000
 exit
END
sed 's/^ bmp targets lab/ address-family ipv4 unicast\n  neighbor 10.0.0.2 soft-reconfiguration inbound\n exit-address-family\n&/' \
    frr.conf > frr-soft.conf
cat > gobgp.toml <<END
[global.config]
as = 65010
router-id = "10.0.0.1"
port = 1790
local-address-list = ["10.0.0.1"]
[[neighbors]]
[neighbors.config]
peer-as = 65001
neighbor-address = "10.0.0.2"
[neighbors.transport.config]
passive-mode = true
[[bmp-servers]]
[bmp-servers.config]
address = "10.0.0.2"
port = 5000
route-monitoring-policy = "pre-policy"
END
cat > bmp.py <<'END'
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

OPEN, UPDATE, KEEPALIVE = 1, 2, 4
FRR = "usr/lib/frr/bgpd -n -Z -i /run/frr/bgpd.pid --vty_socket /run/frr -P 0 -u frr -g frr -p 1790"
BMP = f"-M bmp --moduledir {sys.argv[1]}/frr/modules"
DAEMONS = {
    "FRR 8.4.4": f"{FRR} {BMP} -f frr.conf",
    "FRR 8.4.4 with soft-reconfiguration inbound": f"{FRR} {BMP} -f frr-soft.conf",
    "GoBGP 3.10.0": "usr/bin/gobgpd -f gobgp.toml --api-hosts 127.0.0.1:50051",
}
ROUTE, UP = 0, 3
station = socket.create_server(("10.0.0.2", 5000))
station.settimeout(20)


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


def announcement(prefix):
    attributes = b"\x40\x01\x01\0" + b"\x40\x02\x06\x02\x01" + struct.pack("!I", 65001) + b"\x40\x03\x04" + socket.inet_aton("10.0.0.2")
    return message(UPDATE, struct.pack("!HH", 0, len(attributes)) + attributes + prefix)


def neighbor():
    """A session with the daemon as AS 65001; what comes over it is not read."""
    deadline = time.monotonic() + 15
    while True:
        peer = socket.socket()
        peer.bind(("10.0.0.2", 0))
        try:
            peer.connect(("10.0.0.1", 1790))
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    capabilities = b"\x01\x04\0\x01\0\x01" + b"\x41\x04" + struct.pack("!I", 65001)
    options = bytes([2, len(capabilities)]) + capabilities
    peer.sendall(message(OPEN, struct.pack("!BHH4sB", 4, 65001, 90, socket.inet_aton("10.0.0.2"), len(options)) + options))
    time.sleep(1)
    peer.sendall(message(KEEPALIVE))
    time.sleep(1)
    return peer


def read(stream, messages):
    while len(header := stream.read(6)) == 6:
        _, size, kind = struct.unpack("!BIB", header)
        messages.append((time.time(), kind, stream.read(size - 6)))


def with_each(action):
    """What `action` returns for a session with each daemon, and the BMP messages about it."""
    results = {}
    for name, command in DAEMONS.items():
        # The daemons run where 10.0.0.1 is, in the namespace around this one.
        with open("log", "w") as log:
            daemon = subprocess.Popen(["nsenter", f"--net=/proc/{os.getppid()}/ns/net", *command.split()], stdout=log, stderr=log)
        try:
            messages = []
            stream = station.accept()[0].makefile("rb")
            threading.Thread(target=read, args=(stream, messages), daemon=True).start()
            time.sleep(3)
            results[name] = action(name, neighbor(), messages)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
    return results
END
cat > try.sh <<'END'
set -eu
echo frr:x:64999:64999::/nonexistent:/usr/sbin/nologin > passwd
(echo frr:x:64999:; echo frrvty:x:64998:frr) > group
for file in passwd group; do cat /etc/$file >> $file && mount --bind $file /etc/$file; done
mount -t tmpfs none /run
mkdir /run/frr
chown 64999:64999 /run/frr
chmod 755 .
ip netns add peers
ip link add near type veth peer name far netns peers
ip address add 10.0.0.1/24 dev near
ip link set near up
ip link set lo up
ip -n peers address add 10.0.0.2/24 dev far
ip -n peers link set far up
ip netns exec peers python3 try.py "$1"
END
cat > try.py <<'END'
import struct
import sys
import time

from bmp import ROUTE, UP, announcement, with_each


def dated(name, session, messages):
    """How old the times in the last Peer Up and the last Route Monitoring are when they arrive."""
    session.sendall(announcement(bytes([24, 30, 0, 0])))
    time.sleep(3)
    ages = {}
    for at, kind, body in messages:
        if kind in (UP, ROUTE):
            seconds, microseconds = struct.unpack("!II", body[34:42])
            ages[kind] = at - seconds - microseconds / 1e6
    print(f"{name}: Peer Up is {ages[UP]:.1f} s old, Route Monitoring {ages[ROUTE]:.1f} s")
    return ages[UP], ages[ROUTE]


started = time.monotonic()
if started < 120:
    sys.exit(2)
print(f"the machine is {started:.1f} s old")
plain, soft, gobgp = with_each(dated).values()
dates = all(abs(peer_up - started) < 60 and route < 3 for peer_up, route in (plain, soft))
sys.exit(not (dates and max(gobgp) < 3))
END
unshare -nm sh try.sh "$libraries"
