#!/bin/sh
# pyshark's len() of a capture is 0 until it has been read through, and stays 0 without `keep_packets`.
#
# One would guess: `len(FileCapture("file"))` is the number of packets, or a TypeError as for other iterators.
# So it is: it is the number of packets kept so far. A check such as `sent - len(capture)` makes all packets lost, and an assertion that
# nothing arrived always holds. After `load_packets()` it is right; with `keep_packets=False`, as large files need it, never.
#
# Uses pyshark 0.6 from PyPI, and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pyshark==0.6 || exit 2
tshark --version 2> log | head -1 || exit 2
"$folder/venv/bin/python" - 2> log <<'END'
import struct
import sys
from importlib.metadata import version

import pyshark

PACKETS = 20
print("pyshark", version("pyshark"))
with open("in.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second in range(PACKETS):
        file.write(struct.pack("<IIII", 1000 + second, 0, 60, 60) + bytes(60))
capture = pyshark.FileCapture("in.pcap")
opened = len(capture)
capture.load_packets()
loaded = len(capture)
capture.close()
passing = pyshark.FileCapture("in.pcap", keep_packets=False)
counted = sum(1 for _ in passing)
passed = len(passing)
passing.close()
print(f"{PACKETS} packets: len() is {opened}, and {loaded} after load_packets(); keep_packets=False: {counted} read, len() is {passed}")
sys.exit((opened, loaded, counted, passed) != (0, PACKETS, PACKETS, 0))
END
