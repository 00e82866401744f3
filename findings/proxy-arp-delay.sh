#!/bin/sh
# A proxy ARP router of Linux takes up to 0.8 s for each reply, and of 200 requests at once it leaves two thirds unanswered.
#
# One would guess: with `proxy_arp` a router replies to an ARP request at once, as it does for an address of its own, to any number of them.
# So it is: a reply for another host waits for a random time of up to 0.8 s (`proxy_delay`), so that the host itself may be first, and at
# most 65 wait at a time (`proxy_qlen` 64). Further requests are dropped, without a count. Clients that start at once behind such a router
# resolve in rounds of 65, and the first packet to each address has a latency of half a second. `proxy_delay=0` makes it reply at once.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

REQUESTS = 200


def ip(line):
    subprocess.run(["ip", *line.split()], check=True)


def setting(name, value):
    with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
        file.write(value)


def trial(name):
    """Replies to requests for as many addresses, and when the last one comes."""
    start, times = time.monotonic(), {}
    for number in range(REQUESTS):
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + bytes([10, 0, 0, 1]) + bytes(6) + bytes([10, 5, 0, number + 2])
        wire.send(b"\xff" * 6 + mac + b"\x08\x06" + body)
    while time.monotonic() < start + 2.5:
        try:
            frame = wire.recv(2000)
        except TimeoutError:
            continue
        if frame[20:22] == b"\0\2":
            times[frame[28:32]] = time.monotonic() - start
    ordered = sorted(times.values())
    print(f"{name}: {REQUESTS} requests at once: {len(times)} replies, the median after {ordered[len(ordered) // 2]:.2f} s")
    return len(times), ordered[len(ordered) // 2]


ip("link add host type veth peer name router")
ip("link set host up")
ip("link set router up")
ip("address add 10.0.0.254/24 dev router")
ip("link add far type veth peer name far-end")
ip("link set far up")
ip("link set far-end up")
ip("address add 10.5.0.1/16 dev far")
setting("ip_forward", "1")
setting("conf/router/proxy_arp", "1")
home = os.open("/proc/self/ns/net", os.O_RDONLY)
unshare, setns = ctypes.CDLL(None).unshare, ctypes.CDLL(None).setns
assert unshare(0x40000000) == 0
here = os.open("/proc/self/ns/net", os.O_RDONLY)
assert setns(home, 0) == 0
ip(f"link set host netns /proc/{os.getpid()}/fd/{here}")
assert setns(here, 0) == 0
ip("link set host up")
time.sleep(1)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
wire.bind(("host", 0x0806))
wire.settimeout(0.2)
mac = wire.getsockname()[4]
count, median = trial("proxy_arp=1")
assert setns(home, 0) == 0
setting("neigh/router/proxy_delay", "0")
assert setns(here, 0) == 0
all_of_them, quick = trial("and proxy_delay=0")
sys.exit(not (60 <= count <= 130 and median > 0.1 and all_of_them == REQUESTS and quick < 0.1))
END
unshare -n python3 try.py
