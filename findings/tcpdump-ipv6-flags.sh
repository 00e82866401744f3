#!/bin/sh
# `tcpdump 'tcp[tcpflags] & tcp-syn != 0'` finds no SYN over IPv6: of 20 connections half of which are IPv6 it shows ten.
#
# One would guess: `tcp[...]` is a byte of the TCP header, whatever is below it, as `tcp port 80` finds both.
# So it is: `tcp[...]`, `udp[...]` and `icmp[...]` are read in IPv4 packets only, and an expression with them is false for all others.
# So is the other half of a comparison: `tcp[tcpflags] & tcp-syn == 0` does not find IPv6 segments either. There is no error. For
# IPv6 the offset has to be counted: `ip6[53] & 2 != 0`, if no extension header comes between.
#
# Uses tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tcpdump=4.99.3-1 libpcap0.8=1.10.3-1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tcpdump --version > version 2>&1 || exit 2
head -n 2 version
cat > try.py <<'END'
import struct
import subprocess
import sys

SYN, ACK = 2, 16
with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(10):
        for flags in (SYN, ACK):
            tcp = struct.pack("!HHIIBBHHH", 1024 + number, 80, 0, 0, 0x50, flags, 65535, 0, 0)
            four = b"\x08\0" + struct.pack("!BBHHHBBHII", 69, 0, 40, 0, 0, 64, 6, 0, 0xC0000201, 0xC0000202) + tcp
            six = b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, 20, 6, 64) + bytes.fromhex("20010db8" + "00" * 12) * 2 + tcp
            for packet in (bytes(12) + four, bytes(12) + six):
                file.write(struct.pack("<IIII", 1000, 0, len(packet), len(packet)) + packet)


def found(expression):
    command = ["usr/bin/tcpdump", "-n", "-r", "capture.pcap", expression]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


EXPECTED = {
    "tcp port 80": 40,
    "tcp[tcpflags] & tcp-syn != 0": 10,
    "tcp[tcpflags] & tcp-syn == 0": 10,
    "ip6[53] & 2 != 0": 10,
}
print("10 SYNs and 10 ACKs over IPv4, and as many over IPv6")
seen = {expression: found(expression) for expression in EXPECTED}
for expression, count in seen.items():
    print(f"'{expression}' finds {count}")
sys.exit(seen != EXPECTED)
END
python3 try.py
