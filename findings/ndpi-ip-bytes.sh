#!/bin/sh
# ndpiReader's "IP bytes" are those of whole frames: 100 IP packets of 986 bytes are 100,000, and its "Ethernet bytes" have 24 more for
# each.
#
# One would guess: "IP bytes" are the bytes of IP packets, and "Ethernet bytes" those of frames.
# So it is: "IP bytes", the "avg pkt size" beside it and the bytes of each flow have the Ethernet header in them, 14 bytes; "Ethernet
# bytes" are frames with FCS, preamble and gap, as on the wire. Neither is layer 3. Compared with NetFlow of the same traffic, a flow of
# small packets has a third more bytes. The throughput shown is that of the frames.
#
# Uses libndpi-bin and libndpi4.2 4.2-2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download libndpi-bin=4.2-2 libndpi4.2=4.2-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
cat > try.py <<'END'
import re
import struct
import subprocess
import sys

PACKETS, SIZE = 100, 986
datagram = struct.pack("!HHHH", 1000, 2000, SIZE - 20, 0) + bytes(SIZE - 28)
header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, SIZE, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
frame = bytes.fromhex("020000000002 020000000001 0800") + header + datagram
with open("even.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(PACKETS):
        capture.write(struct.pack("<IIII", 1000, number * 10_000, len(frame), len(frame)) + frame)
shown = subprocess.run("usr/bin/ndpiReader -i even.pcap -v 1".split(), capture_output=True, text=True, check=True).stdout
print(f"{PACKETS} IP packets of {SIZE} bytes")
for line in shown.splitlines():
    if re.search("IP bytes|Ethernet bytes|Using nDPI|bytes -> ", line):
        print(line[:150].strip())
ethernet = int(re.search(r"Ethernet bytes: +(\d+)", shown)[1])
ip, average = map(int, re.search(r"IP bytes: +(\d+) +\(avg pkt size (\d+)", shown).groups())
flow = int(re.search(r"\[100 pkts/(\d+) bytes", shown)[1])
sys.exit((ethernet, ip, average, flow) != (102_400, 100_000, 1000, 100_000))
END
usr/bin/ndpiReader -h > help 2>&1 || [ -s help ] || exit 2
grep -q ndpiReader help || exit 2
python3 try.py
