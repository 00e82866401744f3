#!/bin/sh
# packets that trafgen sends are not shaped by the interface's qdisc, and a capture on that interface shows none of them.
#
# One would guess: what leaves an interface passes its queueing discipline, so a tbf of 1 Mbit/s there limits it, and tcpdump on it shows
# what was sent.
# So it is: trafgen hands packets to the driver behind the qdisc (PACKET_QDISC_BYPASS), unless `--qdisc-path` is given. Of 1,000 packets
# through a tbf of 1 Mbit/s with room for a dozen all arrive within milliseconds, the qdisc's counters stay 0, and tcpdump on the sending
# interface captures none; only the interface's own counter has them. A missing packet there does not show that it was not sent. With
# `--qdisc-path` they take half a second, and tcpdump has them all.
#
# Needs root, for a network namespace of its own. Uses netsniff-ng 0.6.8-3 and libraries, tcpdump 4.99.3-1 and iproute2 6.1.0-3 of
# Debian 12, Linux 6.18; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download netsniff-ng=0.6.8-3 libnl-3-200=3.7.0-0.2+b1 libnl-genl-3-200=3.7.0-0.2+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/sbin:$folder/usr/bin:$folder/sbin:$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
trafgen --version | head -1 || exit 2
cat > packet <<'END'
{ fill(0x02, 12), c16(0x88b5), fill(0x11, 46) }
END
cat > try.py <<'END'
import json
import re
import subprocess
import sys
import time

PACKETS = 1000


def run(command):
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def counter(device):
    """Packets received by a device."""
    return json.loads(run(f"ip -j -s link show dev {device}"))[0]["stats64"]["rx"]["packets"]


def trial(option):
    """Packets that arrive, that the qdisc has sent, and that a capture on the sending interface shows."""
    run("tc qdisc replace dev west root tbf rate 1mbit burst 1600 limit 1600")
    before = counter("east")
    # Without a snapshot length its buffer has room for few packets.
    tcpdump = subprocess.Popen("tcpdump -i west -n -s 128 -B 8192 -w capture".split(), stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    start = time.monotonic()
    run(f"trafgen -i packet -o west -n {PACKETS} -P 1 {option}")
    taken = time.monotonic() - start
    time.sleep(1)
    tcpdump.terminate()
    seen = int(re.search(r"(\d+) packets captured", tcpdump.communicate()[1])[1])
    passed = int(re.search(r"bytes (\d+) pkt", run("tc -s qdisc show dev west"))[1])
    run("tc qdisc delete dev west root")
    arrived = counter("east") - before
    print(f"trafgen {option or '(no option)'}: {PACKETS} packets sent through a tbf of 1 Mbit/s, {arrived} arrive, after {taken:.2f} s; the "
          f"qdisc counts {passed} sent; tcpdump on the sending interface captures {seen}")
    return arrived, passed, seen


run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
run("ip link add west type veth peer name east")
run("ip link set west up")
run("ip link set east up")
around, through = trial(""), trial("--qdisc-path")
sys.exit(not (around == (PACKETS, 0, 0) and through == (PACKETS, PACKETS, PACKETS)))
END
unshare -n python3 try.py
