#!/bin/sh
# `tcpdump --immediate-mode` keeps 32 packets of a burst, and drops the others.
#
# One would guess: immediate mode delivers each packet as it comes, instead of waiting for a full buffer, and keeps as many as without it:
# the buffer has 2 MiB either way, and a packet of 60 bytes needs little of that.
# So it is: in immediate mode libpcap gives each packet a place of a fixed size, which is that of the longest packet. With the usual
# snapshot length that is 64 KiB where the interface has segmentation offload, as a veth or most network cards: 32 places. Of 1,000 small
# packets that come while tcpdump is not running for a moment 968 are dropped; without immediate mode, or with `-s 128`, none. Programs that
# use libpcap's immediate mode to see packets in time meet the same: set a snapshot length, or a larger buffer (`-B`).
#
# Needs root, for a network namespace of its own. Uses tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12, Linux 6.18; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
tcpdump --version || exit 2
cat > try.py <<'END'
import re
import signal
import socket
import subprocess
import sys
import time

PACKETS = 1000


def run(command):
    subprocess.run(command.split(), check=True)


def captured(options):
    """How many packets of a burst are captured, and how many tcpdump says were dropped."""
    tcpdump = subprocess.Popen(f"tcpdump -i east -n {options} -w capture".split(), stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    tcpdump.send_signal(signal.SIGSTOP)  # as if the processor were busy otherwise
    for _ in range(PACKETS):
        sender.send(b"\2" * 12 + b"\x88\xb5" + bytes(46))
    tcpdump.send_signal(signal.SIGCONT)
    time.sleep(1)
    tcpdump.terminate()
    log = tcpdump.communicate()[1]
    seen, dropped = (int(re.search(rf"(\d+) packets {word}", log)[1]) for word in ("captured", "dropped by kernel"))
    print(f"tcpdump {options or '(no options)'}: {seen} of {PACKETS} packets of 60 bytes captured, {dropped} dropped")
    return seen


run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
run("ip link add west type veth peer name east")
run("ip link set west up")
run("ip link set east up")
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("west", 0))
seen = captured(""), captured("--immediate-mode"), captured("--immediate-mode -s 128"), captured("--immediate-mode -B 65536")
sys.exit(not (seen == (PACKETS, 32, PACKETS, PACKETS)))
END
unshare -n python3 try.py
