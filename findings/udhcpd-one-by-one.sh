#!/bin/sh
# udhcpd of BusyBox serves clients one by one, two seconds each: of ten clients at once the last has its offer after 20 s.
#
# One would guess: a server without anything else to do answers within milliseconds, or, if it looks whether an address is in use, looks
# for many clients at a time.
# So it is: before each offer it waits 2 s for an answer to an ARP request, and reads nothing else meanwhile. Ten DISCOVER messages at
# once are answered after 2, 4, 6 … 20 s, so most clients have asked again, or given up, and their repetitions wait in the same queue. A
# rate of leases is half a client per second, for whatever processor; no setting switches the check off (`conflict_time` is another time).
# udhcpd is the DHCP server of many small devices.
#
# Needs root, for a network namespace of its own. Uses busybox 1:1.35.0-4+deb12u1+b1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download busybox=1:1.35.0-4+deb12u1+b1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
bin/busybox | head -n 1 || exit 2
cat > udhcpd.conf <<END
start 10.0.0.100
end 10.0.0.250
interface server
max_leases 150
lease_file $folder/leases
pidfile $folder/pid
option subnet 255.255.255.0
option lease 600
END
touch leases
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

CLIENTS = 10
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
link.bind(("clients", 0x0800))
link.settimeout(30)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def discover(number):
    """A client's DHCPDISCOVER; UDP has no checksum."""
    mac = bytes([2, 0, 0, 0, 1, number])
    options = bytes([99, 130, 83, 99, 53, 1, 1, 255])
    message = struct.pack("!BBBBIHH16s16s192x", 1, 1, 6, 0, 1000 + number, 0, 0x8000, b"", mac) + options
    message = message.ljust(300, b"\0")
    udp = struct.pack("!HHHH", 68, 67, 8 + len(message), 0) + message
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0, b"", b"\xff" * 4))
    struct.pack_into("!H", ip, 10, checksum(ip))
    return b"\xff" * 6 + mac + b"\x08\0" + ip + udp


server = subprocess.Popen(["bin/busybox", "udhcpd", "-f", "udhcpd.conf"], stderr=open("log", "w"))
time.sleep(1)
offers = {}
try:
    start = time.monotonic()
    for number in range(CLIENTS):
        link.send(discover(number))
    while len(offers) < CLIENTS:
        packet = link.recv(2000)
        if packet[34:36] == b"\0\x43" and packet[284:285] == b"\2":  # from port 67, an OFFER
            offers[struct.unpack_from("!I", packet, 46)[0] - 1000] = time.monotonic() - start
finally:
    server.terminate()
    server.wait()
print(CLIENTS, "DISCOVER messages at once; offers after", *(f"{after:.1f}" for after in offers.values()), "s")
times = list(offers.values())
gaps = [later - earlier for earlier, later in zip([0, *times], times)]
sys.exit(not all(1.8 < gap < 2.6 for gap in gaps))
END
cat > try.sh <<'END'
set -eu
ip link add server type veth peer name clients
for end in server clients lo; do ip link set dev $end up; done
ip address add 10.0.0.1/24 dev server
python3 try.py
END
unshare -n sh try.sh
