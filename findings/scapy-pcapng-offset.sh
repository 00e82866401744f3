#!/bin/sh
# Scapy and python-pcapng ignore `if_tsoffset`: packets are as many seconds too early as the interface's offset says.
#
# One would guess: a reader of pcapng adds the interface's offset to each time, as the format says and Wireshark and dpkt do.
# So it is: both leave it out. A capture of an interface that counts from its own start, with the start as offset, is dated 1970,
# and does not match captures of other interfaces in the same file.
#
# Uses Scapy 2.8.0, python-pcapng 2.1.1 and dpkt 1.9.8 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 python-pcapng==2.1.1 dpkt==1.9.8 || exit 2
venv/bin/python - <<'END'
import logging
import struct
import sys
from importlib.metadata import version

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
from pcapng import FileScanner
from pcapng.blocks import EnhancedPacket
from scapy.all import rdpcap


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


START = 1_700_000_000  # seconds: option 14 of the interface
with open("offset.pcapng", "wb") as file:
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    file.write(block(1, struct.pack("<HHIHHqI", 1, 0, 65535, 14, 8, START, 0)))
    file.write(block(6, struct.pack("<IIIII", 0, 0, 5_000_000, 60, 60) + bytes(60)))
seen = {}
with open("offset.pcapng", "rb") as file:
    seen["dpkt"] = [float(time) for time, _ in dpkt.pcapng.Reader(file)]
with open("offset.pcapng", "rb") as file:
    seen["python-pcapng"] = [float(found.timestamp) for found in FileScanner(file) if isinstance(found, EnhancedPacket)]
seen["scapy"] = [float(packet.time) for packet in rdpcap("offset.pcapng")]
print(f"a packet 5 s after the interface's offset of {START:,} s")
for name, times in seen.items():
    print(f"{name} {version(name)}: {times[0]:,}")
sys.exit(seen != {"dpkt": [START + 5.0], "python-pcapng": [5.0], "scapy": [5.0]})
END
