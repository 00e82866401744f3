#!/bin/sh
# pmacctd makes a record of each packet if flows shall have their times: a flow of 100 packets is 100 records, which all end at 0.
#
# One would guess: `timestamp_start` and `timestamp_end` in `aggregate` add the times of a flow's first and last packet to its record.
# So it is: they are a part of the flow's key. With them each packet has another key and so its own record, of one packet, from its time to
# 0. `pmacctd_stitching: true` without them makes one record with timestamp_min and timestamp_max; the latter is the time of the clock
# when the capture was read, not that of the last packet: a flow of one second in 2023 has lasted for years.
#
# Uses pmacct 1.7.7-1+b1 with libraries of Debian 12, and scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download pmacct=1.7.7-1+b1 libgeoip1=1.6.12-10 librabbitmq4=0.11.0-1+deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download librdkafka1=2.0.2-1 libzmq5=4.3.4-6 libnorm1=1.5.9+dfsg-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpgm-5.3-0=5.3.128~dfsg-2 libsodium23=1.0.18-1+deb12u1 libmaxminddb0=1.7.1-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/pmacctd -V > version || exit 2
head -1 version
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile scapy==2.8.0 || exit 2
cat > try.py <<'END'
import csv
import subprocess
import sys
import time

from scapy.all import IP, UDP, Ether, wrpcap

frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000, dport=2000)
packets = [frame / bytes(958) for _ in range(100)]
for number, packet in enumerate(packets):
    packet.time = 1_700_000_000 + number / 100
wrpcap("flow.pcap", packets)
seen = {}
for name, aggregate, more in (
    ("plain", "", ""), ("with times", ", timestamp_start, timestamp_end", ""), ("stitched", "", "pmacctd_stitching: true\n"),
):
    with open("conf", "w") as file:
        file.write(f"""pcap_savefile: flow.pcap
plugins: print
aggregate: src_host, dst_host, src_port, dst_port, proto{aggregate}
{more}timestamps_since_epoch: true
print_output: csv
print_refresh_time: 3600
print_output_file: {name}.csv
""")
    subprocess.run(["usr/sbin/pmacctd", "-f", "conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    rows = list(csv.DictReader(open(f"{name}.csv")))
    times = [(row.get("TIMESTAMP_START") or row.get("TIMESTAMP_MIN"), row.get("TIMESTAMP_END") or row.get("TIMESTAMP_MAX")) for row in rows]
    seen[name] = len(rows), sum(int(row["PACKETS"]) for row in rows), times[-1]
    print(f"{name}: {seen[name][0]} records of {seen[name][1]} packets; times of the last one: {times[-1]}")
last = "1700000000.990000"
sys.exit(not (
    seen["plain"][:2] == (1, 100) and seen["with times"] == (100, 100, (last, "0.000000"))
    and seen["stitched"][:2] == (1, 100) and abs(float(seen["stitched"][2][1]) - time.time()) < 600
))
END
venv/bin/python try.py
