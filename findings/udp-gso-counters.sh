#!/bin/sh
# UdpOutDatagrams counts a send with UDP_SEGMENT as one: of 400 datagrams sent the sender counts 10, and the receiver 400.
#
# One would guess: UdpOutDatagrams counts the datagrams that leave, as UdpInDatagrams does those that come.
# So it is: a program that gives the kernel 40,000 bytes to be cut into datagrams of 1,000 (GSO, as servers of QUIC and HTTP/3 do) counts as
# one datagram, one IpOutRequests and one IpOutTransmits. A server's counter is up to 64 times below what a capture or the other end
# shows, and its packets a second look harmless. `ip -s link` of a veth counts the one as well; count at the receiver.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
cd "$folder"
trap '[ ! -s host.pid ] || kill "$(cat host.pid)" 2> /dev/null || true; rm -rf "$folder"' EXIT
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nstat -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys

SENDS, PARTS, SIZE = 10, 40, 1000
inside = ["nsenter", "-t", open("host.pid").read().strip(), "-n"]
SEND = f"""
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, 103, {SIZE})  # UDP_SEGMENT
for _ in range({SENDS}):
    sender.sendto(bytes({PARTS * SIZE}), ("10.0.0.1", 5000))
"""


def counters(prefix):
    return json.loads(subprocess.run([*prefix, "nstat", "-asz", "-j"], capture_output=True, text=True, check=True).stdout)["kernel"]


receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
receiver.bind(("10.0.0.1", 5000))
receiver.settimeout(2)
before = counters([]), counters(inside)
subprocess.run([*inside, "python3", "-c", SEND], check=True)
sizes = []
try:
    while True:
        sizes.append(len(receiver.recv(65535)))
except TimeoutError:
    pass
after = counters([]), counters(inside)
here, there = ({name: new[name] - old[name] for name in new} for old, new in zip(before, after))
print(f"received: {len(sizes)} datagrams of {max(sizes)} bytes, UdpInDatagrams {here['UdpInDatagrams']}")
print(f"the sender: UdpOutDatagrams {there['UdpOutDatagrams']}, IpOutRequests {there['IpOutRequests']}")
sys.exit(not (len(sizes) == here["UdpInDatagrams"] == SENDS * PARTS and set(sizes) == {SIZE} and there["UdpOutDatagrams"] == SENDS))
END
cat > host.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
echo $$ > host.pid
exec sleep 120
END
cat > try.sh <<'END'
set -eu
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
unshare -n sh host.sh &
while [ ! -s host.pid ]; do sleep 0.1; done
host="nsenter -t $(cat host.pid) -n"
ip link add west type veth peer name east
ip link set east netns "$(cat host.pid)"
ip address add 10.0.0.1/24 dev west
ip link set west up
$host ip address add 10.0.0.2/24 dev east
$host ip link set east up
sleep 1
python3 try.py
END
unshare -n sh try.sh
