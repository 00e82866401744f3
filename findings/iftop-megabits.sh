#!/bin/sh
# A stream of 10 Mbit/s is 9.54Mb for iftop and 9900 Kbps for ifstat: their kilo is 1,024, and they count different bytes.
#
# One would guess: rates in bits have decimal prefixes, as those of interfaces, tc and iperf3: 10 Mbit/s is shown as 10.0 Mb.
# So it is: iftop counts IP packets and divides by 1,048,576, so a device that keeps its 10 Mbit/s looks 4.6 % too slow. ifstat's Kbps are
# 1,024 bits of Ethernet frames without FCS: the same stream of 1,250 packets/s of 1,000 bytes is 9,902 Kbps.
#
# Needs root, for a network namespace of its own. Uses iftop 1.0~pre4-9, ifstat 1.1-8.2, libpcap0.8 1.10.3-1 and libsnmp40
# 5.9.3+dfsg-2+deb12u1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iftop=1.0~pre4-9 ifstat=1.1-8.2 libpcap0.8=1.10.3-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libsnmp40=5.9.3+dfsg-2+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$folder/usr/sbin:$PATH"
iftop -h 2>&1 | grep -m 1 version > version || exit 2
cat version
ifstat -v | head -n 1 || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time

RATE, SIZE = 1250, 1000
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
stop = threading.Event()


def send():
    start, sent = time.monotonic(), 0
    while not stop.is_set():
        sender.sendto(bytes(SIZE - 28), ("10.0.0.2", 9))
        sent += 1
        time.sleep(max(0, start + sent / RATE - time.monotonic()))


threading.Thread(target=send, daemon=True).start()
time.sleep(0.5)
output = subprocess.run("iftop -i near -t -s 12 -n -N".split(), capture_output=True, text=True).stdout
megabits = float(re.search(r"^Total send rate: +[\d.]+Mb +([\d.]+)Mb", output, re.MULTILINE)[1])
output = subprocess.run("ifstat -i near -b 4 1".split(), capture_output=True, text=True).stdout
kilobits = float(output.split()[-1])
stop.set()
print(f"{RATE} packets/s of {SIZE} bytes are {RATE * SIZE * 8 / 1e6:.2f} Mbit/s of IP and {RATE * (SIZE + 14) * 8 / 1e6:.2f} of Ethernet")
print(f"iftop (10 s): {megabits}Mb; ifstat: {kilobits} Kbps")
sys.exit(not (abs(megabits - RATE * SIZE * 8 / 2**20) < 0.15 and abs(kilobits - RATE * (SIZE + 14) * 8 / 1024) < 120))
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
for end in near far; do ip link set dev $end up; done
ip address add 10.0.0.1/24 dev near
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near
python3 try.py
END
unshare -n sh try.sh
