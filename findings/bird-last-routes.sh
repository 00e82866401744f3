#!/bin/sh
# The last routes for a new neighbor wait three seconds in BIRD, unless something else wakes it: 200 routes arrive after 3.0 s, of 1,000
# three quarters at once.
#
# One would guess: a new neighbor is sent the table at once, as fast as the connection takes it.
# So it is: the last UPDATE stays behind when nothing else happens in the daemon: its main loop goes to sleep for three seconds with work
# left. Of 200 routes, which are one UPDATE, none comes before 3.0 s; of 1,000 the first 768 come at once. Any message wakes it: if the
# neighbor sends a KEEPALIVE after 1 s, the routes come then. FRR, GoBGP and OpenBGPD need at most 1.2 s. On a busy router the wait does
# not show; in a lab with two neighbors a measured convergence is 3 s of it. Send a KEEPALIVE once the session is there.
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

from bgp import KEEPALIVE, UPDATE, Peer, attribute, decoded, encoded, message, socket, with_each

EACH = 200


def seconds(peer, start):
    """When the first and the last of the routes came, and how many the first second had."""
    times = []
    for at, kind, body in list(peer.received):
        if kind == UPDATE:
            (length,) = struct.unpack("!H", body[2:4])
            times += [at - start] * len(list(decoded(body[4 + length :])))
    return len(times), times[0], times[-1], sum(at < 0.8 for at in times)


def waits(name):
    """Of 200 routes, of 1,000, and of 200 with a KEEPALIVE of the neighbor after a second."""
    first, seen, number = Peer("10.0.0.2", 65001), [], 0
    attributes = attribute(1, b"\0") + attribute(2, b"\x02\x01" + struct.pack("!I", 65001)) + attribute(3, socket.inet_aton("10.0.0.2"))
    for count, keepalive in ((EACH, False), (EACH, True), (5 * EACH, False)):
        while number < count:
            body = struct.pack("!HH", 0, len(attributes)) + attributes
            first.socket.sendall(message(UPDATE, body + encoded(f"20.{n >> 8}.{n & 255}.0" for n in range(number, number + EACH))))
            number += EACH
        time.sleep(4)
        start = time.monotonic()
        second = Peer("10.0.0.3", 65003)
        time.sleep(1)
        if keepalive:
            second.socket.sendall(message(KEEPALIVE))
        time.sleep(4)
        complete, earliest, last, soon = seconds(second, start)
        seen.append((complete == count, last, soon))
        how = " and a KEEPALIVE after 1 s" if keepalive else ""
        print(f"{name}: {count} routes{how}: first after {earliest:.1f} s, last after {last:.1f} s, {soon} at once")
        second.socket.shutdown(2)
        second.socket.close()
        time.sleep(8)
    return seen


bird, *others = with_each(waits).values()
woken = [1 < last < 1.5 for _, last, _ in bird]
late = [2.5 < last < 3.5 for _, last, _ in bird]
quick = all(last < 2 for daemon in others for _, last, _ in daemon)
complete = all(all_there for daemon in (bird, *others) for all_there, _, _ in daemon)
print("BIRD's last routes are late:", *late)
sys.exit(not (complete and quick and late == [True, False, True] and woken[1] and bird[0][2] == 0 and bird[2][2] > 500))
END
unshare -nm sh try.sh
