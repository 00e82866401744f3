#!/bin/sh
# tc's tbf with `burst 1500` passes no full-size packet: 1,500 bytes of IP are 1,514 for it, and what exceeds the burst is dropped.
#
# One would guess: a burst of an MTU is the least that a shaper needs, as pages on tbf advise, and tc refuses less than it needs.
# So it is: tbf counts Ethernet's header, and drops each packet that is larger than its bucket, at any rate. tc takes `burst 1500` without
# a word. Ping and small packets pass, and of those of 1,500 bytes and header none, which looks like a fault of the MTU. `burst 1600`
# passes all.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
tc -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import time

PACKETS = 50
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
receiver.bind(("far", 0x0800))
receiver.settimeout(0.5)


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True)


def arrived(size):
    """How many of the packets of so many bytes of IP arrive, with long pauses between them."""
    for _ in range(PACKETS):
        try:
            sender.sendto(bytes(size - 28), ("10.0.0.2", 9))
        except OSError:
            pass  # what the queue drops at once is said to the sender on the same machine
        time.sleep(0.005)
    count = 0
    try:
        while True:
            count += len(receiver.recv(2000)) == size + 14
    except TimeoutError:
        return count


seen = []
for burst in (1500, 1600):
    said = run(f"tc qdisc replace dev near root tbf rate 100mbit burst {burst} latency 50ms")
    counts = [arrived(size) for size in (84, 1486, 1487, 1500)]
    dropped = json.loads(run("tc -s -j qdisc show dev near").stdout)[0]["drops"]
    run("tc qdisc delete dev near root")
    words = (said.stdout + said.stderr).strip() or "nothing"
    print(f"burst {burst}: tc says {words}; of {PACKETS} IP packets of 84, 1486, 1487, 1500 bytes each arrive", *counts, end="; ")
    print(dropped, "are dropped")
    seen.append((said.returncode, words, counts))
sys.exit(seen != [(0, "nothing", [PACKETS, PACKETS, 0, 0]), (0, "nothing", [PACKETS] * 4)])
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
ip address add 10.0.0.1/24 dev near
for end in near far; do ip link set $end up; done
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near
python3 try.py
END
unshare -n sh try.sh
