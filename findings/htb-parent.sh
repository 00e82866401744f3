#!/bin/sh
# An HTB class with `rate 1mbit ceil 1mbit` passes 4 Mbit/s if a child's rate is 4 Mbit/s: a parent does not limit what is guaranteed
# below it.
#
# One would guess: a class's ceiling holds for all traffic below it, as a link's bandwidth does; a child's larger rate is refused or cut.
# So it is: a child sends at its `rate` without a look at its parents; only what it borrows above that rate is limited by their ceilings.
# Children whose rates add up to more than the parent's exceed it, without a warning of tc. The parent's statistics count them all and
# show its "tokens" far below zero. A test of a device with such a hierarchy measures the sum of the children's rates. Keep that sum below
# the parent's.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
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

SIZE = 1000  # bytes of a frame


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def received():
    return json.loads(run("ip -s -j link show dev far"))[0]["stats64"]["rx"]["packets"]


def rate(child):
    """Mbit/s of frames that leave a parent class of 1 Mbit/s whose child has the rate and ceiling given."""
    run("tc qdisc add dev near root handle 1: htb default 10")
    run("tc class add dev near parent 1: classid 1:1 htb rate 1mbit ceil 1mbit")
    run(f"tc class add dev near parent 1:1 classid 1:10 htb {child}")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, 32, 8_000_000)  # SO_SNDBUFFORCE
    for _ in range(900):
        sender.sendto(bytes(SIZE - 42), ("10.0.0.2", 9))
    time.sleep(0.2)
    start, before = time.monotonic(), received()
    time.sleep(1)
    passed = (received() - before) * SIZE * 8 / 1e6 / (time.monotonic() - start)
    run("tc qdisc del dev near root")
    return passed


seen = []
for child in ("rate 500kbit ceil 1mbit", "rate 500kbit ceil 4mbit", "rate 4mbit ceil 4mbit"):
    seen.append(rate(child))
    print(f"parent rate 1mbit ceil 1mbit, child {child}: {seen[-1]:.2f} Mbit/s")
sys.exit(not (0.8 < seen[0] < 1.2 and 0.8 < seen[1] < 1.2 and 3.2 < seen[2] < 4.6))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
ip address add 10.0.0.1/24 dev near
for end in near far; do ip link set $end up; done
ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev near
exec python3 try.py
END
unshare -n sh try.sh
