#!/bin/sh
# tshark's `-z io,stat,1` leaves out the packets of the very last instant: of five packets a second apart it counts four.
#
# One would guess: the intervals together have all packets of the capture, as with an interval of 0.
# So it is: the table ends at the capture's duration, and a packet that is exactly there begins an interval of its own, which is not
# shown. Of packets 1 s apart from 0 to 4 s intervals of 1 or 2 s show four, one of 0 shows five. Where times lie on a grid, as those of
# generators and computed captures do, a sum over intervals has a loss of one packet, or of all that share the last time.
#
# Uses tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download wireshark-common=4.0.17-0+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
tshark --version 2> log | head -1 || exit 2
python3 - <<'END'
import re
import struct
import subprocess
import sys

PACKETS, SIZE = 5, 100
with open("seconds.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second in range(PACKETS):
        file.write(struct.pack("<IIII", 1000 + second, 0, SIZE, SIZE) + bytes(SIZE))
seen = {}
for interval in ("0", "1", "2", "0.5", "0.7"):
    shown = subprocess.run(f"tshark -q -r seconds.pcap -z io,stat,{interval}".split(), capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"<> *(?:\S+) *\| *(\d+) \|", shown)
    seen[interval] = sum(map(int, rows))
    print(f"io,stat,{interval}: {len(rows)} intervals with {seen[interval]} of {PACKETS} packets")
sys.exit(seen != {"0": 5, "1": 4, "2": 4, "0.5": 4, "0.7": 5})
END
