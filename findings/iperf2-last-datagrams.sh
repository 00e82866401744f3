#!/bin/sh
# iperf 2 sends 200 more datagrams of full size behind the ten it was told to send over UDP, if no server answers.
#
# One would guess: `-u -n 14700 -l 1470` sends ten datagrams, and one more that marks the end, a few times if it is not acknowledged.
# So it is: the last one is repeated until the server's report comes, for some two seconds, each time with the next sequence number,
# negative, and of full length. To a receiver that is not iperf, or over a path that is one-way, 211 datagrams leave, of which iperf
# counts 12 as sent. A counter of the device shows twenty times what was to be sent; a longer test has a tail of 200 packets.
#
# Uses iperf 2.1.8+dfsg-1 of Debian 12, with a silent server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf=2.1.8+dfsg-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/iperf -v 2>&1 | head -1
python3 - <<'END'
import re
import socket
import struct
import subprocess
import sys

DATAGRAMS, SIZE = 10, 1470
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
server.bind(("127.0.0.1", 0))
server.settimeout(5)
command = f"usr/bin/iperf -u -c 127.0.0.1 -p {server.getsockname()[1]} -n {DATAGRAMS * SIZE} -l {SIZE} -b 10m"
output = subprocess.run(command.split(), capture_output=True, text=True).stdout
numbers = []
try:
    while True:
        datagram = server.recv(4096)
        assert len(datagram) == SIZE
        numbers.append(struct.unpack("!i", datagram[:4])[0])
except TimeoutError:
    pass
data, ends = [number for number in numbers if number >= 0], [number for number in numbers if number < 0]
print(f"{DATAGRAMS} datagrams to be sent: {len(data)} arrive, and {len(ends)} of the end, numbered {max(ends)} to {min(ends)}")
print(f"iperf: Sent {re.search(r'Sent (.*)', output)[1]}")
sys.exit(not (len(data) <= DATAGRAMS + 1 and len(ends) > 50 and len(set(ends)) == len(ends)))
END
