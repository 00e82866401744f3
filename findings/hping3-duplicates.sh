#!/bin/sh
# hping3 counts duplicates as replies: half of the answers lost and half doubled is a loss of 0 %.
#
# One would guess: `-c 10` sends ten packets, and the loss is the part of them that got no answer; duplicates are shown apart, as ping
# does (5 received, +5 duplicates, 50 % loss).
# So it is: a duplicate is marked DUP!, but counts as a packet received, in the loss and in the average RTT. `-c` counts what was
# received, too: with each answer doubled hping3 stops after five packets, with a loss of -100 %. Count the lines without DUP!.
#
# Needs root, for a network namespace of its own with a TUN device on which the script answers. Uses hping3 3.a2.ds2-10, libtcl8.6
# 8.6.13+dfsg-2 and libpcap0.8 1.10.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download hping3=3.a2.ds2-10 libtcl8.6=8.6.13+dfsg-2 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
hping3 --version 2>&1 | head -n 1 | grep version || exit 2
cat > try.py <<'END'
import fcntl
import os
import re
import struct
import subprocess
import sys
import threading

tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
for command in ("link set lo up", "addr add 192.0.2.1/24 dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *command.split()], check=True)
requests, copies = 0, None


def answer():
    """Answers ICMP echo requests as often as it is told. An echo reply's checksum differs by that of its type only."""
    global requests
    while True:
        packet = bytearray(os.read(tun, 2048))
        if packet[0] >> 4 == 4 and packet[9] == 1 and packet[20] == 8:
            checksum = struct.unpack_from("!H", packet, 22)[0] + 0x0800
            struct.pack_into("!BBH", packet, 20, 0, 0, (checksum & 0xFFFF) + (checksum >> 16))
            packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
            for copy in range(copies(requests)):
                threading.Timer(0.01 + 0.02 * copy, os.write, (tun, bytes(packet))).start()
            requests += 1


threading.Thread(target=answer, daemon=True).start()
seen = []
for what, copies in (("every second one is answered twice", lambda n: n % 2 * 2), ("each one is answered twice", lambda n: 2)):
    requests = 0
    # A second run of hping3 has other sequence numbers than the first, so no answer of the one counts in the other.
    ran = subprocess.run("hping3 --icmp --interval u200000 -c 10 192.0.2.2".split(), capture_output=True, text=True)
    output = ran.stdout + ran.stderr
    marked = output.count("DUP!")
    first = len(re.findall(r"^len=", output, re.MULTILINE))
    statistics = re.search(r"(\d+) packets transmitted, (\d+) packets received, (-?\d+)% packet loss", output)
    sent, received, loss = map(int, statistics.groups())
    print(f"-c 10, {what}: {statistics[0]}; {requests} requests arrived, {first} of them have an answer, {marked} lines say DUP!")
    seen.append((sent, received, loss, requests, first, marked))
sys.stdout.flush()
os._exit(seen != [(10, 10, 0, 10, 5, 5), (5, 10, -100, 5, 5, 5)])
END
unshare -n python3 try.py
