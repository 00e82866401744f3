#!/bin/sh
# Frames of an EtherType that a host does not know count as dropped at its interface, but not while tcpdump runs.
#
# One would guess: RX "dropped" of `ip -s link` are frames that the host had no room for, so they mean overload. Looking on with tcpdump
# changes no counter of losses.
# So it is: Linux counts each frame there that no protocol takes: 100 test frames with the EtherType 0x88b5 (local experiments) are 100
# drops at a rate of nothing. LLDP, LACP or spanning tree without a daemon are, too. A capture takes each frame, so that while one runs
# the count stays as it is, and whoever looks for the drops finds that they have ended. A receiver that reads by a packet socket has none.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3, tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12; seen with
# Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
ip -V && tcpdump --version 2>&1 | head -1 && uname -r || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import time

FRAMES = 100


def dropped():
    (link,) = json.loads(subprocess.run("ip -j -s link show host".split(), capture_output=True, check=True).stdout)
    return link["stats64"]["rx"]["dropped"]


def trial(name):
    """Drops that the host counts of frames of a local EtherType."""
    before = dropped()
    for _ in range(FRAMES):
        wire.send(b"\xff" * 6 + bytes([2, 0, 0, 0, 0, 9]) + b"\x88\xb5" + bytes(46))
    time.sleep(0.3)
    count = dropped() - before
    print(f"{name}: {FRAMES} frames of EtherType 0x88b5: {count} RX dropped")
    return count


for command in ("link add host type veth peer name wire", "link set host up", "link set wire up"):
    subprocess.run(["ip", *command.split()], check=True)
time.sleep(0.5)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire", 0))
alone = trial("no capture")
capture = subprocess.Popen("tcpdump -ni host -w /dev/null".split(), stderr=subprocess.PIPE, text=True)
while "listening" not in capture.stderr.readline():
    pass
watched = trial("tcpdump runs")
capture.terminate()
capture.wait()
again = trial("tcpdump has ended")
sys.exit((alone, watched, again) != (FRAMES, 0, FRAMES))
END
unshare -n python3 try.py
