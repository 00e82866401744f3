#!/bin/sh
# iperf 2 sends 1,048,576 bit/s for `-b 1M` and 1,000,000 for `-b 1m`; iperf3 takes both for a million.
#
# One would guess: a rate in bits has decimal prefixes, and iperf 2 and iperf3 send the same for the same option.
# So it is: iperf 2 reads capital letters as powers of 1,024, also for rates: `-b 100M` offers 4.86 % more than 100 Mbit/s. A policer or a
# line of 100 Mbit/s then loses 4.6 % of packets, and the comparison of both tools on one path is off by as much. Use small letters.
#
# Uses iperf3 and libiperf0 3.12-1+deb12u2, libsctp1 1.0.19+dfsg-2 and iperf 2.1.8+dfsg-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iperf=2.1.8+dfsg-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
iperf3 --version > version || exit 2
iperf --version >> version 2>&1 || grep -q 'iperf version' version || exit 2
grep -oE 'iperf (3|version 2)[.0-9]*' version
cat > try.py <<'END'
import json
import re
import subprocess
import sys
import time

LENGTH, SECONDS = 1250, 4


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def two(rate):
    server = subprocess.Popen("iperf -s -u -p 5501".split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    try:
        output = run(f"iperf -c 127.0.0.1 -p 5501 -u -b {rate} -l {LENGTH} -t {SECONDS}")
    finally:
        server.kill()
        server.wait()
    return int(re.search(r"Sent (\d+) datagrams", output)[1])


def three(rate):
    server = subprocess.Popen("iperf3 -s -1 -p 5502".split(), stdout=subprocess.DEVNULL)
    time.sleep(1)
    output = run(f"iperf3 -c 127.0.0.1 -p 5502 -u -b {rate} -l {LENGTH} -t {SECONDS} -J")
    server.wait()
    return json.loads(output)["end"]["sum"]["packets"]


seen = {}
for name, tool in (("iperf 2", two), ("iperf3", three)):
    for rate in ("10m", "10M"):
        seen[name, rate] = tool(rate) * LENGTH * 8 / SECONDS / 1e6
        print(f"{name} -b {rate}: {seen[name, rate]:.2f} Mbit/s of datagrams sent")
expected = {("iperf 2", "10m"): 10, ("iperf 2", "10M"): 10.48576, ("iperf3", "10m"): 10, ("iperf3", "10M"): 10}
capital, small = seen["iperf 2", "10M"], seen["iperf 2", "10m"]
sys.exit(not (capital / small > 1.03 and all(abs(seen[key] - expected[key]) < 0.2 for key in expected)))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
