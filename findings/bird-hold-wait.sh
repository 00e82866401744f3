#!/bin/sh
# After a hold timer has expired BIRD refuses its BGP neighbor for a minute, after the next one for two, then for up to five.
#
# One would guess: a session that was lost to silence comes back when the neighbor does: BIRD accepts its connection, or connects within
# `connect retry time` (120 s) or `connect delay time` (5 s).
# So it is: BIRD takes a hold timer that expires for an error of the protocol and waits for `error wait time 60, 300` before it starts the
# session again. Meanwhile connections of the neighbor are reset. The wait doubles with each error that follows within `error forget time`
# (300 s). A test of convergence that cuts a path without BFD and mends it measures this minute, and two in its second round. GoBGP
# (3.10.0) takes the same neighbor back after five seconds. Set `error wait time 1, 1;` in the device.
#
# Takes about four minutes. Uses bird2 2.0.12-7, gobgpd 3.10.0-1+b4, libssh-gcrypt-4 0.10.6-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bird2=2.0.12-7 gobgpd=3.10.0-1+b4 libssh-gcrypt-4=0.10.6-0+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/bird --version 2> version || exit 2
cat version && usr/bin/gobgpd --version || exit 2
cat > bird.conf <<END
router id 10.0.0.1;
log stderr all;
protocol device {}
protocol bgp peer {
    local 127.0.0.1 port 1790 as 65001;
    neighbor 127.0.0.2 as 65002;
    multihop;
    passive;
    ipv4 { import all; export all; };
}
END
cat > gobgp.toml <<END
[global.config]
as = 65001
router-id = "10.0.0.1"
port = 1791
local-address-list = ["127.0.0.1"]
[[neighbors]]
[neighbors.config]
peer-as = 65002
neighbor-address = "127.0.0.2"
[neighbors.transport.config]
passive-mode = true
[neighbors.ebgp-multihop.config]
enabled = true
multihop-ttl = 10
END
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

OPEN, NOTIFICATION, KEEPALIVE = 1, 3, 4
HOLD_TIME = 3


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


def receive(stream):
    header = stream.read(19)
    if len(header) < 19:
        raise ConnectionError("closed")
    length, kind = struct.unpack("!HB", header[16:])
    return kind, stream.read(length - 19)


def establish(port):
    """A session with the daemon, or a ConnectionError."""
    peer = socket.socket()
    peer.settimeout(10)
    peer.bind(("127.0.0.2", 0))
    peer.connect(("127.0.0.1", port))
    capabilities = bytes([2, 6, 1, 4, 0, 1, 0, 1]) + bytes([2, 6, 65, 4]) + struct.pack("!I", 65002)
    peer.sendall(message(OPEN, struct.pack("!BHH4sB", 4, 65002, HOLD_TIME, bytes([10, 0, 0, 2]), len(capabilities)) + capabilities))
    stream = peer.makefile("rb")
    while True:
        kind, _ = receive(stream)
        if kind == OPEN:
            peer.sendall(message(KEEPALIVE))
        elif kind == KEEPALIVE:
            return peer, stream
        elif kind == NOTIFICATION:
            raise ConnectionError("refused")


def wait(port):
    """Connects each quarter of a second until a session is established; the session and the seconds that took."""
    start = time.monotonic()
    while True:
        try:
            return establish(port), time.monotonic() - start
        except OSError:
            if time.monotonic() - start > 200:
                return None, 200
            time.sleep(0.25)


def waits(command, port, rounds):
    """How long a neighbor that was silent for the hold time waits for its next session, in each round."""
    daemon = subprocess.Popen(command.split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
    try:
        time.sleep(1)
        session, _ = wait(port)
        times = []
        for _ in range(rounds):
            peer, stream = session
            while (got := receive(stream))[0] != NOTIFICATION:
                pass
            assert got[1][0] == 4, "Hold Timer Expired"
            peer.close()
            session, seconds = wait(port)
            times.append(seconds)
        return times
    finally:
        daemon.terminate()
        daemon.wait()


gobgp = waits("usr/bin/gobgpd -f gobgp.toml --api-hosts 127.0.0.1:5555", 1791, 2)
print("GoBGP: a session again after", *(f"{seconds:.0f}" for seconds in gobgp), "s")
bird = waits("usr/sbin/bird -c bird.conf -s control -f", 1790, 2)
print("BIRD: a session again after", *(f"{seconds:.0f}" for seconds in bird), "s")
sys.exit(not (max(gobgp) < 10 and 45 < bird[0] < 65 and 90 < bird[1] < 130))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
