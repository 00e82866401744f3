#!/bin/sh
# A UDP socket with Linux's receive buffer of 212,992 bytes holds 256 datagrams of one byte, and 92 of 1,472.
#
# One would guess: SO_RCVBUF is filled by payload, or by packets: 208 KiB hold thousands of small datagrams, and 144 of full size.
# So it is: it is filled by the memory that packets take, with their structures and rounded up: 832 bytes for one byte of payload, 2,304
# for 1,000. A receiver that does not read for a moment loses datagrams after 256 bytes of payload, and its buffer looks empty in every
# count of bytes. At 100,000 datagrams a second 2.6 ms are enough. Raise SO_RCVBUF (up to net.core.rmem_max), and count by datagrams.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && uname -sr || exit 2

cat > try.py <<'END'
import socket
import sys

SENT = 1000

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9))
receiver.setblocking(False)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
size = receiver.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
kept = {}
for payload in (1, 100, 500, 1000, 1472):
    for _ in range(SENT):
        sender.sendto(bytes(payload), ("127.0.0.1", 9))
    kept[payload] = 0
    try:
        while receiver.recv(2000):
            kept[payload] += 1
    except BlockingIOError:
        pass
    bytes_kept = kept[payload] * payload
    print(f"buffer of {size} bytes, {SENT} datagrams of {payload} bytes: {kept[payload]} are kept, {bytes_kept} bytes")
sys.exit(not (size == 212992 and 200 < kept[1] == kept[100] < 300 and 60 < kept[1000] == kept[1472] < 144))
END
cat > try.sh <<'END'
set -e
ip link set lo up
python3 try.py
END
unshare -n sh try.sh
