#!/bin/sh
# lldpd does not answer a new neighbor: who comes after its start waits up to 30 s to hear of it.
#
# One would guess: a new neighbor starts the "fast transmission" of IEEE 802.1AB-2009: the next LLDPDU comes within about a
# second.
# So it is: lldpd sends one LLDPDU when it starts and one every 30 s. A tester that comes up later and listens for ten seconds
# finds no neighbor.
#
# Needs root, for network and mount namespaces of its own, and the user _lldpd (as from Debian's package). Uses lldpd
# 1.0.16-1+deb12u1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download lldpd=1.0.16-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
getent passwd _lldpd > user && usr/sbin/lldpd -v > version || exit 2
echo lldpd "$(cat version)"
cat > try.py <<'END'
import select
import socket
import subprocess
import sys
import time

LLDP = 0x88CC
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(LLDP))
link.bind(("far", LLDP))
daemon = subprocess.Popen(["usr/sbin/lldpd", "-d", "-I", "near"], stderr=open("lldpd.log", "w"))
start, heard = time.monotonic(), []


def listen(until):
    """Notes when LLDPDUs of lldpd come, in seconds after its start."""
    while (left := start + until - time.monotonic()) > 0:
        if select.select([link], [], [], left)[0] and link.recvfrom(2000)[1][2] != socket.PACKET_OUTGOING:
            heard.append(time.monotonic() - start)


def tlv(kind, value):
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


listen(8)
chassis, port, ttl = tlv(1, b"\x04\x02\0\0\0\0\x01"), tlv(2, b"\x03\x02\0\0\0\0\x01"), tlv(3, b"\0\x78")
link.send((bytes.fromhex("0180c200000e 020000000001 88cc") + chassis + port + ttl + tlv(0, b"")).ljust(60, b"\0"))
asked = time.monotonic() - start
listen(45)
seconds = ["%.1f" % time for time in heard]
print(f"a new neighbor's LLDPDU at {asked:.1f} s; LLDPDUs of lldpd at", *seconds, "s after its start")
daemon.terminate()
daemon.wait()
sys.exit(not (len(heard) == 2 and heard[0] < asked and heard[1] > asked + 15))
END
cat > try.sh <<'END'
mount -t tmpfs none /run
mkdir /run/lldpd
ip link add name near type veth peer name far
for end in near far; do ip link set $end up; done
sleep 1
python3 try.py
END
unshare -n -m sh try.sh
