#!/bin/sh
# cicflowmeter writes an empty file for a capture, and ends with 0: what pip installs beside it is a Scapy that it does not work with.
#
# One would guess: `cicflowmeter -f FILE -c OUT` writes a row for each flow of the capture: here one flow of 100 packets.
# So it is: the rows are written by a method that Scapy called at the end of a capture until 2.5.0. By 2.6.1 and 2.8.0 it is not called, and
# cicflowmeter, which asks for no version, gets the newest. It reads all packets, writes no line, not even the heading, and reports
# success; the data set looks like one of a link without traffic. With Scapy 2.5.0 beside it the flow is there. Pin that version.
#
# Uses cicflowmeter 0.2.0, the newest one for Python 3.11, with scapy 2.8.0 and 2.5.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile cicflowmeter==0.2.0 scapy==2.8.0 || exit 2
cat > make.py <<'END'
from scapy.all import IP, UDP, Ether, wrpcap

frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000, dport=2000)
packets = [frame / bytes(958) for _ in range(100)]
for number, packet in enumerate(packets):
    packet.time = 1_700_000_000 + number / 100
wrpcap("flow.pcap", packets)
END
venv/bin/python make.py
flows() {
    echo "cicflowmeter 0.2.0 with scapy $(venv/bin/pip list 2> log | sed -n 's/^scapy *//p')"
    venv/bin/cicflowmeter -f flow.pcap -c "$1" 2> log || { cat log; exit 1; }
    echo "exit code 0, lines in $1: $(wc -l < "$1")"
}
flows newer.csv
"$folder/venv/bin/pip" -q install --no-compile scapy==2.5.0 || exit 2
flows older.csv
[ "$(wc -l < newer.csv)" -eq 0 ] && [ "$(wc -l < older.csv)" -eq 2 ]
