#!/bin/sh
# Scapy's SCTPChunkData(data=...) is the middle of a longer message, of which a receiver awaits the beginning and the end.
#
# One would guess: a DATA chunk with five bytes is a message of five bytes.
# So it is: the bits for "beginning" and "ending" (RFC 9260, section 3.3.1) are 0 unless they are set, so each chunk is a fragment between
# others. A receiver acknowledges it and keeps it: packets arrive, and no message. tshark shows "Message Fragment". Write
# SCTPChunkData(beginning=1, ending=1, data=...).
#
# Uses Scapy 2.8.0 from PyPI and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
tshark --version 2> log | grep -m 1 '^TShark' || exit 2
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
venv/bin/python - <<'END'
import subprocess
import sys
from importlib.metadata import version

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.utils import wrpcap

print("Scapy", version("scapy"))
below = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") / SCTP(sport=1000, dport=2000)
wrpcap("packets", [below / SCTPChunkData(tsn=1, data=b"hello"), below / SCTPChunkData(tsn=2, stream_seq=1, beginning=1, ending=1, data=b"hello")])
fields = "sctp.data_b_bit", "sctp.data_e_bit", "_ws.col.Info"
command = ["tshark", "-r", "packets", "-T", "fields", *(word for field in fields for word in ("-e", field))]
rows = [line.split("\t") for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]
for name, (begins, ends, info) in zip(("SCTPChunkData(data=...)", "with beginning=1, ending=1"), rows):
    print(f"{name}: beginning {begins}, ending {ends}; tshark: {info}")
sys.exit([[row[0], row[1], "Fragment" in row[2]] for row in rows] != [["0", "0", True], ["1", "1", False]])
END
