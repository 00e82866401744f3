#!/bin/sh
# A connected UDP socket sends each second datagram only while its server is down, and loses the first one after the server is back.
#
# One would guess: a UDP sender goes on sending whether the server is there or not, and an error that send() returns is that of this
# datagram.
# So it is: the ICMP error (port unreachable) of one datagram is returned by the next send(), which sends nothing. Of nine sends five leave and
# four fail. When the server is back, the first send() fails with the old error though the server would have had it, and a sender that
# only counts errors and goes on has half of its rate. After ECONNREFUSED send the same datagram once more. An unconnected socket (sendto)
# sends all nine.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 and libbpf1 1:1.1.2-0+deb12u1 of Debian 12 and the Linux it runs on
# (seen with 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
nstat -V || exit 2
echo "Linux $(uname -r)"
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import time

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
    free.bind(("127.0.0.1", 0))
    server = free.getsockname()


def left():
    """Datagrams that have left any socket of this namespace."""
    return json.loads(subprocess.run(["nstat", "-aszj"], capture_output=True, check=True).stdout)["kernel"]["UdpOutDatagrams"]


def sends(send, count):
    """Whether each of some sends was without an error."""
    results = []
    for _ in range(count):
        try:
            send()
            results.append(True)
        except ConnectionRefusedError:
            results.append(False)
        time.sleep(0.02)
    return results


connected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
connected.connect(server)
loose = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = left()
results = sends(lambda: connected.send(b"down"), 9)
by_connected = left() - start
print(f"connected, no server: 9 sends, {results.count(False)} refused, {by_connected} datagrams left")
start = left()
others = sends(lambda: loose.sendto(b"down", server), 9)
by_loose = left() - start
print(f"unconnected, no server: 9 sends, {others.count(False)} refused, {by_loose} datagrams left")
back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
back.bind(server)
back.settimeout(0.5)
after = sends(lambda: connected.send(b"up"), 3)
received = 0
try:
    while back.recv(100):
        received += 1
except TimeoutError:
    pass
print(f"connected, server back: 3 sends, the first {'sent' if after[0] else 'refused'}, {received} received")
sys.exit(not (by_connected == results.count(True) == 5 and by_loose == 9 and all(others) and after == [False, True, True] and received == 2))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
