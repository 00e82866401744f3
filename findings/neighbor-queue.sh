#!/bin/sh
# While Linux resolves a neighbor it keeps the last packets of a burst, not the first: of 1,000 small ones the first 750 or so are gone.
#
# One would guess: the first packets wait, some or all of them, and what finds the queue full is dropped: the stream begins at number 0.
# So it is: the queue holds 212,992 bytes of memory, about 770 a packet, and each packet that finds it full pushes out the oldest one. The
# receiver sees the end of the burst. sendto() succeeds, and no counter of the interface, of IP or of UDP has an error or a drop: IP
# counts 1,000 as transmitted. A stream's first hundreds of packets to a new address look lost behind the first hop, and those of a device
# that has just forgotten its neighbors, too. Send one packet ahead, or set the neighbor.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nstat -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import struct
import subprocess
import sys

BURST = 1000


def dropped():
    links = json.loads(subprocess.run("ip -s -j link show dev near".split(), capture_output=True, text=True, check=True).stdout)
    return links[0]["stats64"]["tx"]["dropped"]


def counters():
    """The kernel's counters that are not 0."""
    return json.loads(subprocess.run("nstat -as -j".split(), capture_output=True, text=True, check=True).stdout)["kernel"]


receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
receiver.bind(("far", 0))
receiver.setsockopt(socket.SOL_SOCKET, 33, 16_000_000)  # SO_RCVBUFFORCE
receiver.settimeout(0.5)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
before = counters()
for number in range(BURST):
    sender.sendto(struct.pack("!I", number) + bytes(20), ("10.0.0.2", 9))
subprocess.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev near".split(), check=True)
numbers = []
try:
    while True:
        frame = receiver.recv(2000)
        if frame[12:14] == b"\x08\x00" and frame[23] == 17:
            numbers.append(struct.unpack_from("!I", frame, 42)[0])
except TimeoutError:
    pass
after = counters()
changed = {name: after[name] - before.get(name, 0) for name in after if name.startswith(("Ip", "Udp")) and "Octets" not in name}
packets = {name: value for name, value in changed.items() if value}
print(f"of {BURST} packets {len(numbers)} arrived: numbers {numbers[0]} to {numbers[-1]}")
print(f"dropped by the interface: {dropped()}; counters: {packets}")
errors = [name for name in packets if any(word in name for word in ("Err", "Discard", "Drop", "Fail", "NoRoutes"))]
sys.exit(not (numbers == list(range(BURST - len(numbers), BURST)) and 100 < len(numbers) < 500 and not dropped() and not errors
              and packets["IpOutTransmits"] >= BURST))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
ip address add 10.0.0.1/24 dev near
for end in near far; do ip link set $end up; done
exec python3 try.py
END
unshare -n sh try.sh
