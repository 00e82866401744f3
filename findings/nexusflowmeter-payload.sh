#!/bin/sh
# nexusflowmeter's "payload bytes" have the transport's header and the frame's padding in them: an acknowledgement without data has 26.
#
# One would guess: payload bytes are what TCP or UDP carries: 100 datagrams with 2 bytes each are 200 bytes, an acknowledgement is none.
# So it is: all behind the IP header counts, and what pads a short frame: the 100 datagrams are 2,600 bytes of payload, and 100 TCP
# acknowledgements without data as many. A goodput taken from the file is above the one of the program, most of all for small packets,
# and a flow that carries nothing has a payload.
#
# Uses nexusflowmeter 0.1.5 and scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile nexusflowmeter==0.1.5 scapy==2.8.0 || exit 2
cat > try.py <<'END'
import csv
import subprocess
import sys
from importlib.metadata import version

from scapy.all import IP, TCP, UDP, Ether, wrpcap

print("nexusflowmeter", version("nexusflowmeter"))
seen = {}
for name, transport, data in (
    ("UDP", UDP(sport=1000, dport=2000), 2),
    ("TCP", TCP(sport=1000, dport=2000, flags="A"), 0), ("TCP", TCP(sport=1000, dport=2000, flags="A"), 900),
):
    frames = []
    for number in range(100):
        frame = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / transport / bytes(data))
        frames.append(Ether(frame.ljust(60, bytes(1))))
        frames[-1].time = 1_700_000_000 + number / 100
    wrpcap("in.pcap", frames)
    log = subprocess.run(["venv/bin/nexusflowmeter", "in.pcap", "out.csv"], capture_output=True, text=True)
    [row] = csv.DictReader(open("out.csv"))
    seen[name, data] = int(row["total_payload_bytes"]) // 100
    print(f"{name}, 100 packets with {data} bytes of data each: payload of {seen[name, data]} bytes each")
sys.exit(seen != {("UDP", 2): 26, ("TCP", 0): 26, ("TCP", 900): 920})
END
venv/bin/python try.py
