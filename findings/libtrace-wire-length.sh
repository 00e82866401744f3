#!/bin/sh
# libtrace's tools count four bytes more for each packet of a pcap file than are in it: ten frames of 1,000 bytes are 10,040.
#
# One would guess: bytes are those of the capture, as with capinfos and tcpstat: its "length on the wire" is 1,000.
# So it is: libtrace adds the length of the frame check sequence to Ethernet frames, whatever format they come from, since some of its
# formats have it. A rate of small frames is 7 % higher than that of other tools, and sums of bytes never agree. Compare packets.
#
# Uses libtrace-tools 3.0.22-0.1, libtrace3 3.0.22-0.1, libpacketdump3 3.0.22-0.1 and libwandio1 3.0.22-0.1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download libtrace-tools=3.0.22-0.1 libtrace3=3.0.22-0.1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpacketdump3=3.0.22-0.1 libwandio1=3.0.22-0.1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/usr/lib"
echo libtrace-tools 3.0.22-0.1
python3 - <<'END'
import re
import struct
import subprocess
import sys

PACKETS, LENGTH = 10, 1000
with open("capture", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second in range(PACKETS):
        packet = b"\2" * 12 + b"\x88\xb5" + bytes(LENGTH - 14)
        file.write(struct.pack("<IIII", 1_000_000 + second, 0, LENGTH, LENGTH) + packet)
output = subprocess.run(["tracestats", "pcapfile:capture"], check=True, capture_output=True, text=True).stdout
packets, octets = map(int, re.search(r"Total:\s+(\d+)\s+(\d+)", output).groups())
print(f"{PACKETS} frames of {LENGTH} bytes: tracestats counts {packets} packets and {octets} bytes")
sys.exit((packets, octets) != (PACKETS, PACKETS * (LENGTH + 4)))
END
