#!/bin/sh
# nfstream cuts the times of packets to milliseconds before it takes their gaps: an even stream with gaps of 0.7 ms varies from 0 to 1 ms.
#
# One would guess: the mean, the smallest, the largest and the standard deviation of gaps, which are decimal numbers in milliseconds, come
# from the capture's microseconds: 0.7, 0.7, 0.7 and 0.
# So it is: each packet's time is cut to whole milliseconds first. Gaps are 0 or 1, their standard deviation is 0.46 ms, and of 10,000
# packets a second nine gaps out of ten are 0. A feature that shall show jitter shows the rounding, for all streams of more than some
# hundred packets a second. The mean alone is right.
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
from scapy.all import IP, UDP, Ether, wrpcap

if __name__ == "__main__":
    print("nfstream", version("nfstream"))
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000, dport=2000)
    seen = {}
    for gap in (20_000, 700, 100):
        frames = [frame / bytes(58) for _ in range(1000)]
        for number, packet in enumerate(frames):
            packet.time = 1_700_000_000 + number * gap / 1_000_000
        wrpcap("even.pcap", frames)
        [flow] = NFStreamer(source="even.pcap", n_meters=1, statistical_analysis=True)
        seen[gap] = [
            round(value, 2)
            for value in (
                flow.bidirectional_mean_piat_ms, flow.bidirectional_min_piat_ms, flow.bidirectional_max_piat_ms,
                flow.bidirectional_stddev_piat_ms,
            )
        ]
        print(f"1,000 packets, each {gap / 1000} ms after the last: mean, min, max, standard deviation of gaps in ms: {seen[gap]}")
    sys.exit(not (seen[20_000] == [20, 20, 20, 0] and seen[700] == [0.7, 0, 1, 0.46] and seen[100][1:] == [0, 1, 0.3]))
END
venv/bin/python try.py
