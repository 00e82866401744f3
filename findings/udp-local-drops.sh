#!/bin/sh
# A UDP sender is not notified when the queue of its own interface drops: of 200 sends none fails, and eight packets leave.
#
# One would guess: sendto() fails with ENOBUFS, or blocks, when the host's own queue is full, so a send without an error has left the host.
# So it is: the kernel has that error at hand, and gives it to a UDP socket only if the socket has the option IP_RECVERR. Without it all
# sends succeed, and the drops are in the queue's counter alone. Of the same packets through a packet socket each drop is an ENOBUFS. A load
# tool that counts its sends reports a loss on the path that is one of its own host. With IP_RECVERR it sees each.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import errno
import json
import socket
import subprocess
import sys
import time

SENDS, IP_RECVERR = 200, 11


def queue():
    (shown,) = json.loads(subprocess.run("tc -j -s qdisc show dev host".split(), capture_output=True, check=True).stdout)
    return shown["packets"], shown["drops"]


def trial(name, send):
    """Sends that fail, and packets that the queue drops."""
    time.sleep(0.5)
    _, before = queue()
    failed = 0
    for _ in range(SENDS):
        try:
            send()
        except OSError as error:
            assert error.errno == errno.ENOBUFS
            failed += 1
    drops = queue()[1] - before
    print(f"{name}: of {SENDS} sends {failed} fail, {drops} packets are dropped by the queue")
    return failed, drops


for command in (
    "ip link add host type veth peer name wire",
    "ip address add 10.0.0.1/24 dev host",
    "ip link set host up",
    "ip link set wire up",
    "ip neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev host",
    "tc qdisc add dev host root tbf rate 100kbit burst 3000 limit 6000",
):
    subprocess.run(command.split(), check=True)
plain, errors = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
errors.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packet.bind(("host", 0))
frame = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]) + b"\x88\xb5" + bytes(1000)
seen = [
    trial("UDP socket", lambda: plain.sendto(bytes(1000), ("10.0.0.2", 9))),
    trial("UDP socket with IP_RECVERR", lambda: errors.sendto(bytes(1000), ("10.0.0.2", 9))),
    trial("packet socket", lambda: packet.send(frame)),
]
sys.exit(not (seen[0][0] == 0 and all(drops > 150 for _, drops in seen) and all(failed == drops for failed, drops in seen[1:])))
END
unshare -n python3 try.py
