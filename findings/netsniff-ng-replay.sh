#!/bin/sh
# netsniff-ng replays a capture without its pauses: ten packets of 0.9 s leave at once.
#
# One would guess: `netsniff-ng --in file.pcap --out eth0` sends packets at the times of the capture, as tcpreplay and bittwist do.
# So it is: it fills its ring with them and sends what is there, as fast as the interface takes it. The times of the file do not count
# (`-k` is the time between two looks at the ring). A recorded load of 10 packets a second is a burst, which policers and queues treat
# otherwise. bittwist and tcpreplay keep the pauses.
#
# Needs root, for namespaces of its own. Uses netsniff-ng 0.6.8-3, libgeoip1 1.6.12-10, bittwist 2.0-15, libpcap0.8 1.10.3-1 and iproute2
# 6.1.0-3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download netsniff-ng=0.6.8-3 libgeoip1=1.6.12-10 bittwist=2.0-15 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpcap0.8=1.10.3-1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/netsniff-ng --version | head -n 1 || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

FRAME = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5]) + bytes(86)
COMMANDS = {
    "netsniff-ng": "usr/sbin/netsniff-ng --in ten.pcap --out near --silent --ring-size 1MiB",
    "bittwist": "usr/bin/bittwist -i near ten.pcap",
}
with open("ten.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(10):
        file.write(struct.pack("<IIII", 1000, number * 100_000, len(FRAME), len(FRAME)) + FRAME)
for command in ("link add near type veth peer name far", "link set near up", "link set far up"):
    subprocess.run(["ip", *command.split()], check=True)
time.sleep(1)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
wire.bind(("far", 0x88B5))
wire.settimeout(5)
seen = {}
for name, command in COMMANDS.items():
    sender = subprocess.Popen(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    times = []
    for _ in range(10):
        wire.recv(2000)
        times.append(time.monotonic())
    sender.terminate()
    sender.wait()
    seen[name] = times[-1] - times[0]
    print(f"{name}: ten packets, 0.1 s apart in the capture, arrive within {seen[name]:.3f} s")
sys.exit(not (seen["netsniff-ng"] < 0.3 and 0.8 < seen["bittwist"] < 1.5))
END
unshare -n python3 try.py
