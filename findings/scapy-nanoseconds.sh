#!/bin/sh
# Scapy reads nanoseconds and writes microseconds: wrpcap rounds them, wrpcapng cuts them, so the two copies differ.
#
# One would guess: a capture that is read and written again has the times it had, as packets keep them to the nanosecond; or both
# writers lose the same digits.
# So it is: wrpcap has microseconds unless `nano=True` is given, wrpcapng has them always. Four packets 672 ns apart, 64 bytes at a gigabit
# a second, have gaps of 0, 1 and 1 µs in one copy, and 1, 1 and 0 µs in the other. Nothing says so.
#
# Uses Scapy 2.8.0 from PyPI, and tshark 4.0.17-0+deb12u3 of Debian 12 to read; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
tshark --version 2> log | head -1 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import struct
import subprocess
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import scapy
from scapy.utils import rdpcap, wrpcap, wrpcapng

print("Scapy", scapy.__version__)
with open("in.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for number in range(4):
        file.write(struct.pack("<IIII", 1_700_000_000, 123_456_789 + 672 * number, 60, 60) + bytes(60))
packets = rdpcap("in.pcap")
wrpcap("out.pcap", packets)
wrpcapng("out.pcapng", packets)
wrpcap("nano.pcap", packets, nano=True)


def gaps(name):
    """Nanoseconds between the packets of a file."""
    command = f"tshark -r {name} -T fields -e frame.time_epoch"
    lines = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.split()
    times = [int(line.replace(".", "")) for line in lines]
    found = [later - earlier for earlier, later in zip(times, times[1:])]
    print(f"{name}: gaps of", *found, "ns")
    return found


seen = [gaps(name) for name in ("in.pcap", "nano.pcap", "out.pcap", "out.pcapng")]
sys.exit(seen != [[672] * 3, [672] * 3, [0, 1000, 1000], [1000, 1000, 0]])
END
