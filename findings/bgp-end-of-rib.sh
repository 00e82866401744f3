#!/bin/sh
# GoBGP by default sends no End-of-RIB, FRR and OpenBGPD only to neighbors that offer graceful restart, and BIRD to all.
#
# One would guess: each daemon ends its first routes with an End-of-RIB marker, as RFC 4724 recommends even for those without graceful
# restart, so a tester that waits for it knows when a table is complete.
# So it is: of 1,000 routes each daemon sends all within four seconds. OpenBGPD and FRR put the marker right behind them, if the
# neighbor's OPEN has the capability 64; without it none comes. BIRD sends it with and without. GoBGP, without graceful restart in
# its configuration, sends none. A tester that waits for the marker waits for ever with GoBGP, and with two more unless it offers
# graceful restart: take the time of the last route, and a pause behind it.
#
# Needs root, for namespaces of its own. Uses frr 8.4.4-1.1~deb12u2, libyang2 2.1.30-2, libjson-c5 0.16-2, bird2 2.0.12-7, gobgpd
# 3.10.0-1+b4, libssh-gcrypt-4 0.10.6-0+deb12u3, openbgpd 7.7-2, libevent-2.1-7 2.1.12-stable-8+deb12u1 and iproute2 6.1.0-3 of Debian 12;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download frr=8.4.4-1.1~deb12u2 libyang2=2.1.30-2 libjson-c5=0.16-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download bird2=2.0.12-7 gobgpd=3.10.0-1+b4 libssh-gcrypt-4=0.10.6-0+deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download openbgpd=7.7-2 libevent-2.1-7=2.1.12-stable-8+deb12u1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/usr/lib/$(uname -m)-linux-gnu/frr"
cat > bird.conf <<END
router id 10.0.0.1;
protocol device {}
template bgp both { local 10.0.0.1 port 1790 as 65010; passive; ipv4 { import all; export all; }; }
protocol bgp west from both { neighbor 10.0.0.2 as 65001; }
protocol bgp east from both { neighbor 10.0.0.3 as 65003; }
END
cat > frr.conf <<END
router bgp 65010
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65001
 neighbor 10.0.0.2 passive
 neighbor 10.0.0.3 remote-as 65003
 neighbor 10.0.0.3 passive
END
cat > gobgp.toml <<END
[global.config]
as = 65010
router-id = "10.0.0.1"
port = 1790
local-address-list = ["10.0.0.1"]
END
cat > openbgpd.conf <<END
AS 65010
router-id 10.0.0.1
listen on 10.0.0.1 port 1790
fib-update no
allow from any
allow to any
END
for number in 2 3; do
    as=$((65000 + 2 * number - 3))
    cat >> gobgp.toml <<END
[[neighbors]]
[neighbors.config]
peer-as = $as
neighbor-address = "10.0.0.$number"
[neighbors.transport.config]
passive-mode = true
END
    printf 'neighbor 10.0.0.%s {\n remote-as %s\n passive\n}\n' $number $as >> openbgpd.conf
done
cat > bgp.py <<'END'
import os
import signal
import socket
import struct
import subprocess
import threading
import time

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
FRR = "-n -Z -f frr.conf -i /run/frr/bgpd.pid --vty_socket /run/frr -P 0 -u frr -g frr -p 1790"
DAEMONS = {
    "BIRD 2.0.12": "usr/sbin/bird -f -c bird.conf -s /run/bird.ctl",
    "FRR 8.4.4": f"usr/lib/frr/bgpd {FRR}",
    "GoBGP 3.10.0": "usr/bin/gobgpd -f gobgp.toml --api-hosts 127.0.0.1:50051",
    "OpenBGPD 7.7": "usr/sbin/bgpd -d -f openbgpd.conf",
}


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


def attribute(kind, value):
    return struct.pack("!BBB", 0x40, kind, len(value)) + value


def encoded(prefixes):
    return b"".join(b"\x18" + socket.inet_aton(prefix)[:3] for prefix in prefixes)


def decoded(prefixes):
    while prefixes:
        size = 1 + (prefixes[0] + 7) // 8
        yield socket.inet_ntoa(prefixes[1:size].ljust(4, b"\0"))
        prefixes = prefixes[size:]


class Peer:
    """A BGP session with the daemon, and what came over it: time, kind, body."""

    def __init__(self, address, number, hold=90, more=b""):
        self.address, self.received, self.established = address, [], threading.Event()
        deadline = time.monotonic() + 15
        while True:
            self.socket = socket.socket()
            self.socket.bind((address, 0))
            try:
                self.socket.connect(("10.0.0.1", 1790))
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        capabilities = b"\x01\x04\0\x01\0\x01" + b"\x41\x04" + struct.pack("!I", number) + more
        options = bytes([2, len(capabilities)]) + capabilities
        body = struct.pack("!BHH4sB", 4, number, hold, socket.inet_aton(address), len(options)) + options
        self.socket.sendall(message(OPEN, body))
        threading.Thread(target=self.read, daemon=True).start()
        assert self.established.wait(15), "no session"

    def read(self):
        stream = self.socket.makefile("rb")
        while len(header := stream.read(19)) == 19:
            length, kind = struct.unpack("!HB", header[16:])
            self.received.append((time.monotonic(), kind, stream.read(length - 19)))
            if kind == OPEN:
                self.socket.sendall(message(KEEPALIVE))
            elif kind == KEEPALIVE:
                self.established.set()

    def routes(self):
        """Prefixes that the peer has been given and not lost again, and the next hop of each."""
        routes = {}
        for _, kind, body in list(self.received):
            if kind != UPDATE:
                continue
            (withdrawn,) = struct.unpack("!H", body[:2])
            (length,) = struct.unpack("!H", body[2 + withdrawn : 4 + withdrawn])
            attributes, announced = body[4 + withdrawn : 4 + withdrawn + length], body[4 + withdrawn + length :]
            next_hop = None
            while attributes:
                size, start = (int.from_bytes(attributes[2:4], "big"), 4) if attributes[0] & 0x10 else (attributes[2], 3)
                if attributes[1] == 3:
                    next_hop = socket.inet_ntoa(attributes[start : start + size])
                attributes = attributes[start + size :]
            for prefix in decoded(body[2 : 2 + withdrawn]):
                routes.pop(prefix, None)
            for prefix in decoded(announced):
                routes[prefix] = next_hop
        return routes


def with_each(action):
    """What `action` returns for each daemon."""
    results = {}
    for name, command in DAEMONS.items():
        # The daemons run where 10.0.0.1 is, in the namespace around this one.
        inside = ["nsenter", f"--net=/proc/{os.getppid()}/ns/net", *command.split()]
        with open("log", "w") as log:
            daemon = subprocess.Popen(inside, stdout=log, stderr=log)
        try:
            time.sleep(2)
            results[name] = action(name)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
    return results
END
cat > try.sh <<'END'
set -eu
(echo frr:x:64999:64999::/nonexistent:/usr/sbin/nologin; echo _openbgpd:x:64997:64997::/run/openbgpd:/usr/sbin/nologin) > passwd
(echo frr:x:64999:; echo frrvty:x:64998:frr; echo _openbgpd:x:64997:) > group
for file in passwd group; do cat /etc/$file >> $file && mount --bind $file /etc/$file; done
mount -t tmpfs none /run
mkdir /run/frr /run/openbgpd
chown 64999:64999 /run/frr
chmod 755 .
ip netns add peers
ip link add near type veth peer name far netns peers
ip address add 10.0.0.1/24 dev near
ip link set near up
ip link set lo up
for number in 2 3; do ip -n peers address add 10.0.0.$number/24 dev far; done
ip -n peers link set far up
ip netns exec peers python3 try.py
END
usr/sbin/bird --version 2> version || exit 2
cat version && usr/lib/frr/bgpd --version | head -n 1 && usr/bin/gobgpd --version && usr/sbin/bgpd -V 2>&1 || exit 2
cat > try.py <<'END'
import struct
import sys
import time

from bgp import Peer, UPDATE, encoded, attribute, message, socket, with_each

GRACEFUL_RESTART = b"\x40\x06\x00\x78\x00\x01\x01\x00"
COUNT, END_OF_RIB = 1000, bytes(4)


def times(name):
    """Seconds from the session to the last route and to the End-of-RIB, with the capability and without."""
    first, seen = Peer("10.0.0.2", 65001), []
    attributes = attribute(1, b"\0") + attribute(2, b"\x02\x01" + struct.pack("!I", 65001)) + attribute(3, socket.inet_aton("10.0.0.2"))
    for third in range(0, COUNT, 200):
        body = struct.pack("!HH", 0, len(attributes)) + attributes
        body += encoded(f"20.{number >> 8}.{number & 255}.0" for number in range(third, third + 200))
        first.socket.sendall(message(UPDATE, body))
    time.sleep(4)
    for capability in (GRACEFUL_RESTART, b""):
        start = time.monotonic()
        second = Peer("10.0.0.3", 65003, more=capability)
        time.sleep(6)
        updates = [(at - start, body) for at, kind, body in second.received if kind == UPDATE]
        routes = max(at for at, body in updates if body != END_OF_RIB)
        ends = [at for at, body in updates if body == END_OF_RIB]
        complete = len(second.routes())
        seen.append((complete, routes, ends[0] if ends else None))
        print(name, "with" if capability else "without", "graceful restart:", f"{complete} routes after {routes:.2f} s, End-of-RIB",
              f"after {ends[0]:.2f} s" if ends else "never")
        second.socket.shutdown(2)
        second.socket.close()
        time.sleep(8)
    return seen


bird, frr, gobgp, openbgpd = with_each(times).values()
complete = all(routes == COUNT and last < 4 for daemon in (bird, frr, gobgp, openbgpd) for routes, last, _ in daemon)
behind = all(end is not None and 0 <= end - last < 0.5 for _, last, end in (*bird, frr[0], openbgpd[0]))
none = all(end is None for _, _, end in (*gobgp, frr[1], openbgpd[1]))
sys.exit(not (complete and behind and none))
END
unshare -nm sh try.sh
