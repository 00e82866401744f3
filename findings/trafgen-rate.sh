#!/bin/sh
# trafgen's `--rate 100pps` sends 100 packets at once, each second: the rate is right over seconds, and bursts go out at full speed.
#
# One would guess: 100 packets a second leave about 10 ms apart, as from other generators, and as from trafgen with `--gap 10ms`.
# So it is: a process sends what it has for a second, as fast as it can, and then waits for the next second. 300 packets leave in three
# bursts of 0.3 ms each. Whatever a device's queues are, they see 100 packets at the line's rate: a queue of 50 loses half at a mean load
# of next to nothing, a policer drops, and latencies are those of a full queue. For a rate in time use `--gap`, with one CPU.
#
# Needs root, for a network namespace of its own. Uses netsniff-ng 0.6.8-3, libnl-3-200 and libnl-genl-3-200 3.7.0-0.2+b1 of Debian 12; no
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download netsniff-ng=0.6.8-3 libnl-3-200=3.7.0-0.2+b1 libnl-genl-3-200=3.7.0-0.2+b1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/trafgen --version > version 2>&1 || grep -q trafgen version || exit 2
grep -m 1 -o 'trafgen [0-9.]*' version
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading

SO_TIMESTAMPNS = 35
PACKETS = 300
PACKET = "{ fill(0xff, 6), 2, 0, 0, 0, 0, 1, c16(0x88b5), fill(0, 50) }"


def gaps(pacing):
    """Times between packets, in milliseconds, by the kernel's time stamps."""
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    receiver.bind(("far", 0x88B5))
    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    receiver.settimeout(2)
    times = []

    def receive():
        while len(times) < PACKETS:
            _, [(_, _, stamp)], _, _ = receiver.recvmsg(2000, 100)
            seconds, nanoseconds = struct.unpack("qq", stamp)
            times.append(seconds * 10**9 + nanoseconds)

    thread = threading.Thread(target=receive)
    thread.start()
    command = f"usr/sbin/trafgen --out near --cpus 1 --num {PACKETS} {pacing}"
    subprocess.run([*command.split(), PACKET], check=True, capture_output=True)
    thread.join()
    return [(later - earlier) / 1e6 for earlier, later in zip(times, times[1:])]


seen = {}
for pacing in ("--rate 100pps", "--gap 10ms"):
    found = gaps(pacing)
    within = sum(gap < 1 for gap in found)
    bursts = [f"{gap:.0f}" for gap in found if gap > 100]
    print(f"{pacing}: of {len(found)} gaps between packets {within} are shorter than 1 ms; longer than 100 ms: {bursts or 'none'}")
    seen[pacing] = within, len(bursts)
(rate, rate_bursts), (gap, gap_bursts) = seen.values()
sys.exit(not (rate > 280 and rate_bursts == 2 and gap < 30 and gap_bursts == 0))
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
for end in near far; do ip link set $end up; done
python3 try.py
END
unshare -n sh try.sh
