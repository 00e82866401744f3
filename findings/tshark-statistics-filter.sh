#!/bin/sh
# tshark's statistics ignore `-Y`: of 20 packets, 10 of which the filter wants, `-Y FILTER -z conv,udp` shows all.
#
# One would guess: `-Y` chooses the packets that tshark looks at, in what it prints and what it counts.
# So it is: it chooses what is printed or written only. Counts, rates and conversations of `-z` are those of the whole file; "Filter:<No
# Filter>" above some of them hints at it, io,stat shows the filter nowhere. A test that counts its losses so has the packets of all
# streams. Give the filter to the statistic, `-z conv,udp,FILTER` and `-z io,stat,0,FILTER`, or write a filtered file first.
#
# Uses tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
cat > try.py <<'END'
import re
import struct
import subprocess
import sys

with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(20):
        ip = struct.pack("!BBHHHBBHBBBBBBBB", 69, 0, 86, number, 0, 64, 17, 0, 192, 0, 2, 1, 192, 0, 2, 2)
        packet = bytes(12) + b"\x08\0" + ip + struct.pack("!HHHH", 7 + number % 2, 9, 66, 0) + bytes(58)
        file.write(struct.pack("<IIII", 1000, number * 1000, len(packet), len(packet)) + packet)


def tshark(*options):
    command = ["usr/bin/tshark", "-r", "capture.pcap", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


WANTED = "udp.srcport==7"
printed = len(tshark("-Y", WANTED).splitlines())
# The frames that io,stat and plen count, with the filter beside them and in them.
beside = int(re.search(r"<>.*?\| +(\d+) \|", tshark("-q", "-Y", WANTED, "-z", "io,stat,0"))[1])
within = int(re.search(r"<>.*?\| +(\d+) \|", tshark("-q", "-z", f"io,stat,0,{WANTED}"))[1])
lengths = int(re.search(r"Packet Lengths +(\d+) ", tshark("-q", "-Y", WANTED, "-z", "plen,tree"))[1])
conversations = len(re.findall(r"<->", tshark("-q", "-Y", WANTED, "-z", "conv,udp")))
print(f"20 packets of two UDP flows; -Y {WANTED} prints {printed}")
print(f"-Y with io,stat,0: {beside} frames; with plen,tree: {lengths}; with conv,udp: {conversations} conversations")
print(f"io,stat,0,{WANTED}: {within} frames")
sys.exit((printed, beside, lengths, conversations, within) != (10, 20, 20, 2, 10))
END
python3 try.py
