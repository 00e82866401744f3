#!/bin/sh
# nping measures an answer from the latest probe it sent: with an RTT of 300 ms and a probe every 200 ms it shows about 100 ms.
#
# One would guess: each answer is matched to its probe, by the identifier and sequence number of the echo.
# So it is: the RTT of an answer is the time since the latest probe. It is right only while the RTT is shorter than the time
# between two probes. Answers still on their way when nping ends are counted as lost.
#
# Needs root, for a network namespace of its own with a TUN device on which the script answers after 300 ms. Uses nmap
# 7.93+dfsg1-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nmap=7.93+dfsg1-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/nping --version > version || exit 2
grep version version
cat > try.py <<'END'
import fcntl
import os
import re
import struct
import subprocess
import sys
import threading

RTT = 0.3
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
for command in ("link set lo up", "addr add 192.0.2.1/24 dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *command.split()], check=True)


def answer():
    """Answers each ICMP echo request after the round-trip time. An echo reply's checksum differs by that of its type only."""
    while True:
        packet = bytearray(os.read(tun, 2048))
        if packet[0] >> 4 == 4 and packet[9] == 1 and packet[20] == 8:
            checksum = struct.unpack_from("!H", packet, 22)[0] + 0x0800
            struct.pack_into("!BBH", packet, 20, 0, 0, (checksum & 0xFFFF) + (checksum >> 16))
            packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
            threading.Timer(RTT, os.write, (tun, bytes(packet))).start()


threading.Thread(target=answer, daemon=True).start()
seen = {}
for delay_ms in (1000, 200, 100):
    command = f"usr/bin/nping --icmp --count 8 --delay {delay_ms}ms 192.0.2.2"
    shown = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
    average, lost = float(re.search(r"Avg rtt: ([\d.]+)ms", shown)[1]), int(re.search(r"Lost: (\d+)", shown)[1])
    seen[delay_ms] = average, lost
    print(f"RTT {RTT * 1000:.0f} ms, a probe every {delay_ms} ms: average RTT {average} ms, {lost} of 8 lost")
    threading.Event().wait(0.5)
sys.stdout.flush()
as_described = seen[1000][0] > 280 and seen[1000][1] == 0 and seen[200][0] < 200 and seen[100][0] < 100 and seen[100][1] > 0
os._exit(not as_described)
END
unshare -n python3 try.py
