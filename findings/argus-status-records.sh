#!/bin/sh
# argus makes a record of each five seconds of a flow: a flow of a minute is twelve lines of `ra`.
#
# One would guess: a record is a flow, from its first packet to its last, so a capture with one UDP flow of a minute has one record, and the
# number of lines is that of the flows.
# So it is: argus reports each flow that is alive every 5 s (`-S`), and `ra` prints the reports. A count of lines is twelve times too high,
# a duration is never longer than 5 s, and the packets of a record are those of its part. `racluster` puts flows together again.
#
# Uses argus-server 2:3.0.8.2-2.2, argus-client 1:3.0.8.2-6.1+b3 and libgeoip1 1.6.12-10 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download argus-server=2:3.0.8.2-2.2 argus-client=1:3.0.8.2-6.1+b3 libgeoip1=1.6.12-10 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/sbin:$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
ra -h 2>&1 | grep -m 1 -i version || exit 2
python3 - <<'END'
import struct
import subprocess
import sys

PACKETS = 60
with open("capture", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second in range(PACKETS):
        packet = b"\2" * 12 + b"\x08\0" + bytes.fromhex("4500003c0000000040110000c0000201c0000202")
        packet += struct.pack(">HHHH", 1000, 2000, 40, 0) + bytes(32)
        file.write(struct.pack("<IIII", 1_000_000 + second, 0, len(packet), len(packet)) + packet)
subprocess.run("argus -r capture -w records".split(), check=True)
seen = {}
for name in ("ra", "racluster"):
    command = f"{name} -n -r records -s dur pkts - udp"
    rows = [line.split() for line in subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout.splitlines()]
    rows = [(float(row[0]), int(row[1])) for row in rows if row[0][0].isdigit()]
    seen[name] = len(rows), max(row[0] for row in rows), sum(row[1] for row in rows)
    print(f"{name}: {PACKETS} packets of one flow, a second apart, are {seen[name][0]} records of at most {seen[name][1]} s "
          f"with {seen[name][2]} packets")
sys.exit(not (seen["ra"][0] >= 10 and seen["ra"][1] <= 5 and seen["racluster"][0] == 1 and seen["ra"][2] == seen["racluster"][2] == PACKETS))
END
