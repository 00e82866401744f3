#!/bin/sh
# FRR that is stopped closes its sessions without a NOTIFICATION if the neighbor offers graceful restart, even without `bgp
# graceful-restart` in its own configuration.
#
# One would guess: a daemon that is stopped in order sends a Cease, "administrative shutdown" (RFC 4486), so a neighbor's log shows an
# orderly stop.
# So it is: with BIRD and OpenBGPD it is a Cease of subcode 2, and with GoBGP one of 3, "peer de-configured". FRR sends a Cease only to
# neighbors without the capability for graceful restart. To those with it, it just closes the connection, as a crash does. By
# default the capability in FRR's own OPEN has a restart time of 120 s and no family. With `bgp graceful-restart` it lists IPv4 unicast,
# and RFC 4724 lets a neighbor keep such a family's routes for the restart time when a connection closes without a NOTIFICATION.
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
sed 's/^ no bgp ebgp/ bgp graceful-restart\n&/' frr.conf > frr-restart.conf
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
    "FRR 8.4.4": f"usr/lib/frr/bgpd {FRR} -f frr.conf",
    "FRR 8.4.4 with `bgp graceful-restart`": f"usr/lib/frr/bgpd {FRR} -f frr-restart.conf",
    "GoBGP 3.10.0": "usr/bin/gobgpd -f gobgp.toml --api-hosts 127.0.0.1:50051",
    "OpenBGPD 7.7": "usr/sbin/bgpd -d -f openbgpd.conf",
}


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


class Peer:
    """A BGP session with the daemon, and what came over it: time, kind, body."""

    def __init__(self, address, number, hold=90, more=b""):
        self.address, self.received = address, []
        self.established, self.closed = threading.Event(), threading.Event()
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
        self.closed.set()

    def capability(self, code):
        """Value of a capability in the OPEN of the daemon, or None."""
        options = next(body for _, kind, body in self.received if kind == OPEN)[10:]
        while options:
            kind, size = options[:2]
            capabilities, options = options[2 : 2 + size], options[2 + size :]
            while kind == 2 and capabilities:
                if capabilities[0] == code:
                    return capabilities[2 : 2 + capabilities[1]]
                capabilities = capabilities[2 + capabilities[1] :]
        return None


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
            results[name] = action(name, daemon)
        finally:
            if daemon.poll() is None:
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

from bgp import NOTIFICATION, Peer, signal, with_each

GRACEFUL_RESTART = b"\x40\x06\x00\x78\x00\x01\x01\x00"


def restart(value):
    """Restart time and families (AFI and SAFI) of a capability for graceful restart."""
    if value is None:
        return None
    return int.from_bytes(value[:2], "big") & 0xFFF, [value[at : at + 3].hex() for at in range(2, len(value), 4)]


def farewell(name, daemon):
    """The daemon's capability for graceful restart, and code and subcode of the NOTIFICATIONs that neighbors with graceful restart and
    without get when it is stopped."""
    peers = Peer("10.0.0.2", 65001, more=GRACEFUL_RESTART), Peer("10.0.0.3", 65003)
    time.sleep(3)
    offered = restart(peers[0].capability(64))
    print(f"{name}:", "restart time {} s, families {}".format(*offered) if offered else "no capability for graceful restart")
    daemon.send_signal(signal.SIGTERM)
    daemon.wait()
    time.sleep(1)
    assert all(peer.closed.is_set() for peer in peers)
    seen = [sorted({body[:2].hex() for _, kind, body in peer.received if kind == NOTIFICATION}) for peer in peers]
    print("  is stopped. NOTIFICATION to the neighbor with graceful restart:", *seen[0] or ["none"], "and without:", *seen[1] or ["none"])
    return offered, *seen


bird, frr, restarting, gobgp, openbgpd = with_each(farewell).values()
others = [daemon[1:] for daemon in (bird, openbgpd, gobgp)] == [(["0602"],) * 2] * 2 + [(["0603"],) * 2]
silent = all(with_it == [] and without and all(code.startswith("06") for code in without) for _, with_it, without in (frr, restarting))
sys.exit(not (others and silent and frr[0] == (120, []) and restarting[0] == (120, ["000101"])))
END
unshare -nm sh try.sh
