#!/bin/sh
# Of the same sampled NetFlow nfdump shows a hundred times the bytes that goflow2 shows: one multiplies by the sampling interval, one does
# not.
#
# One would guess: collectors show what the exporter sent, or all show what the traffic was.
# So it is: NetFlow 5 says in its header that one packet in 100 was looked at, and its record that ten packets of 100 bytes were. nfcapd
# stores 1,000 packets and 100,000 bytes, and says nothing of the 100. goflow2 writes 10 and 1,000, with a sampling_rate of 100 beside it.
# pmacct's nfacctd shows 10 and 1,000, too, without the rate, unless `nfacctd_renormalize` is set. Compare with what was sent only after
# looking whether the exporter samples, and what the collector makes of it.
#
# Uses nfdump 1.7.1-2+deb12u1 of Debian 12, and github.com/netsampler/goflow2/v2 v2.2.6 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nfdump=1.7.1-2+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
GOBIN=$folder GOFLAGS=-modcacherw go install github.com/netsampler/goflow2/v2/cmd/goflow2@v2.2.6 2> log || { cat log >&2; exit 2; }
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
nfdump -V && echo goflow2 v2.2.6 || exit 2
cat > try.py <<'END'
import json
import os
import socket
import struct
import subprocess
import sys
import time

SAMPLING = 100
UPTIME = 100_000
now = int(time.time())
header = struct.pack("!HHIIIIBBH", 5, 1, UPTIME, now, 0, 0, 0, 0, 1 << 14 | SAMPLING)
addresses = bytes([10, 0, 0, 1]) + bytes([10, 0, 0, 2]) + bytes(4)
counts = struct.pack("!HHIIII", 1, 2, 10, 1000, UPTIME - 10_000, UPTIME - 1000)
record = addresses + counts + struct.pack("!HHBBBBHHBBH", 1000, 2000, 0, 0, 17, 0, 0, 0, 24, 24, 0)
os.mkdir("flows")
collectors = [
    subprocess.Popen(command.split(), stdout=open(f"out{number}", "w"), stderr=open(f"err{number}", "w"))
    for number, command in enumerate((
        "nfcapd -w flows -l flows -b 127.0.0.1 -p 9001",
        "./goflow2 -listen netflow://127.0.0.1:9002 -addr 127.0.0.1:9003",
    ))
]
time.sleep(2)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (9001, 9002):
    sender.sendto(header + record, ("127.0.0.1", port))
time.sleep(2)
for collector in collectors:
    collector.terminate()
    collector.wait()
[file] = [name for name in os.listdir("flows") if name[-1].isdigit()]
shown = subprocess.run(f"nfdump -q -r flows/{file} -o fmt:%pkt|%byt".split(), capture_output=True, text=True).stdout
nfdump = tuple(map(int, shown.split("|")))
flow = json.loads(open("out1").read())
goflow2 = flow["packets"], flow["bytes"]
print(f"10 packets, 1000 bytes, one in {SAMPLING} sampled: nfdump shows", *nfdump, "and goflow2", *goflow2)
print("goflow2's sampling_rate:", flow["sampling_rate"])
sys.exit((nfdump, goflow2, flow["sampling_rate"]) != ((1000, 100_000), (10, 1000), SAMPLING))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
