#!/bin/sh
# nfstream leaves out all fragments but the first: ten datagrams of 4,000 bytes, 30 packets, are 10 packets and a third of the bytes.
#
# One would guess: a flow's packets and bytes are those of the capture, whether or not datagrams are fragmented, or the fragments are a
# flow without ports.
# So it is: a packet whose fragment offset is not 0 is skipped, in no flow and without a count or a warning. 30 frames of 41,100 bytes are
# one flow of 10 packets and 14,340 bytes. Nothing shows that the rest is missing: compared with what was sent it is a loss of two thirds.
# IPv6 fragments are skipped the same way.
#
# Uses nfstream 6.6.0 and scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile nfstream==6.6.0 scapy==2.8.0 || exit 2
cat > try.py <<'END'
import sys
from importlib.metadata import version

from nfstream import NFStreamer
from scapy.all import IP, UDP, Ether, IPv6, IPv6ExtHdrFragment, fragment, fragment6, wrpcap

if __name__ == "__main__":
    print("nfstream", version("nfstream"))
    ethernet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    seen = {}
    for name in ("IPv4", "IPv6"):
        frames = []
        for number in range(10):
            udp = UDP(sport=1000, dport=2000) / bytes(4000)
            if name == "IPv4":
                parts = fragment(IP(src="10.0.0.1", dst="10.0.0.2", id=1 + number) / udp, fragsize=1400)
            else:
                parts = fragment6(IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrFragment(id=1 + number) / udp, 1400)
            for part in parts:
                frames.append(ethernet / part)
                frames[-1].time = 1_700_000_000 + number / 100
        wrpcap(f"{name}.pcap", frames)
        flows = [
            (flow.src_port, flow.dst_port, flow.bidirectional_packets, flow.bidirectional_bytes)
            for flow in NFStreamer(source=f"{name}.pcap", n_meters=1)
        ]
        seen[name] = len(frames), sum(map(len, frames)), sum(flow[2] for flow in flows), sum(flow[3] for flow in flows)
        print(f"{name}: {seen[name][0]} frames of {seen[name][1]} bytes; flows (ports, packets, bytes):", *flows)
    sys.exit(seen != {"IPv4": (30, 41100, 10, 14340), "IPv6": (30, 41940, 10, 14140)})
END
venv/bin/python try.py
