#!/bin/sh
# Of two equal routes FRR and GoBGP keep the older one, BIRD and OpenBGPD change to the one of the lower router ID: a path that comes back
# gets its traffic back only with the latter.
#
# One would guess: all daemons choose alike, as the decision process of RFC 4271 has it: equal routes of two external neighbors are
# decided by the lower BGP identifier.
# So it is: a neighbor with the identifier 10.0.0.3 announces a prefix, and 10.0.0.2 the same one four seconds later. BIRD and OpenBGPD
# change to the second neighbor. FRR and GoBGP stay with the first one, in the other order, too. So a test of failover that restores the
# preferred path sees a second change of paths with two of the daemons and none with the others, whose path depends on the order in
# which neighbors came up. `bgp bestpath compare-routerid` makes FRR choose by identifier, and `prefer older on` makes BIRD keep the
# older one.
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
sed 's/passive;/& prefer older on;/' bird.conf > bird-older.conf
sed 's/^ no bgp ebgp/ bgp bestpath compare-routerid\n&/' frr.conf > frr-identifier.conf
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
FRR = "-n -Z -i /run/frr/bgpd.pid --vty_socket /run/frr -P 0 -u frr -g frr -p 1790"
DAEMONS = {
    "BIRD 2.0.12": "usr/sbin/bird -f -c bird.conf -s /run/bird.ctl",
    "BIRD 2.0.12 with `prefer older on`": "usr/sbin/bird -f -c bird-older.conf -s /run/bird.ctl",
    "FRR 8.4.4": f"usr/lib/frr/bgpd {FRR} -f frr.conf",
    "FRR 8.4.4 with `bgp bestpath compare-routerid`": f"usr/lib/frr/bgpd {FRR} -f frr-identifier.conf",
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

    def __init__(self, address, number):
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
        capabilities = b"\x01\x04\0\x01\0\x01" + b"\x41\x04" + struct.pack("!I", number)
        options = bytes([2, len(capabilities)]) + capabilities
        body = struct.pack("!BHH4sB", 4, number, 90, socket.inet_aton(address), len(options)) + options
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

    def announce(self, prefix, path, next_hop=None, more=b""):
        path = bytes([2, len(path)]) + b"".join(struct.pack("!I", number) for number in path)
        attributes = attribute(1, b"\0") + attribute(2, path) + attribute(3, socket.inet_aton(next_hop or self.address)) + more
        self.socket.sendall(message(UPDATE, struct.pack("!HH", 0, len(attributes)) + attributes + encoded([prefix])))

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
    """What `action` returns for two peers, AS 65001 and AS 65003, of each daemon."""
    results = {}
    for name, command in DAEMONS.items():
        # The daemons run where 10.0.0.1 is, in the namespace around this one.
        inside = ["nsenter", f"--net=/proc/{os.getppid()}/ns/net", *command.split()]
        with open("log", "w") as log:
            daemon = subprocess.Popen(inside, stdout=log, stderr=log)
        try:
            time.sleep(2)
            results[name] = action(name, Peer("10.0.0.2", 65001), Peer("10.0.0.3", 65003))
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
import sys
import time

from bgp import UPDATE, encoded, with_each


def replaced(prefix, older, newer):
    """Whether the older neighbor's route is announced, and whether the newer neighbor's route replaces it four seconds later."""
    older[0].announce(prefix, [older[1]])
    time.sleep(4)
    announced = prefix in newer[0].routes()
    newer[0].announce(prefix, [newer[1]])
    time.sleep(4)
    # The neighbor whose route is not chosen gets the other's.
    updates = [body for _, kind, body in older[0].received if kind == UPDATE and encoded([prefix]) in body]
    paths = [body for body in updates if newer[1].to_bytes(4, "big") in body]
    change = f"replaced by {newer[0].address}'s" if paths else "kept"
    print(f"  the route of {older[0].address} is", "announced" if announced else "missing", "and then", change)
    assert announced
    return bool(paths)


def chosen(name, first, second):
    print(f"{name}:")
    first, second = (first, 65001), (second, 65003)
    return replaced("30.0.0.0", second, first), replaced("31.0.0.0", first, second)


seen = with_each(chosen)
IDENTIFIER, OLDER = (True, False), (False, False)
sys.exit(list(seen.values()) != [IDENTIFIER, OLDER, OLDER, IDENTIFIER, OLDER, IDENTIFIER])
END
unshare -nm sh try.sh
