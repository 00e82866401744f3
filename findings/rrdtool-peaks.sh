#!/bin/sh
# A round-robin database does not keep the values it is given: a latency of 110 ms between ones of 10 ms becomes 60 ms twice, also as MAX.
#
# One would guess: a GAUGE is stored as it is, and an archive of maxima has 110 ms.
# So it is: a value stands for the time since the last update, and steps begin at multiples of their length. A value that comes in the
# middle of a step of 10 s is split over two steps, each with half of its neighbors, before any archive sees it; MAX is the maximum of
# such means. Peaks of less than a step are flattened by where they fall in it: here by half. Updated on the step it is 110. Graphs of
# latencies and of rates of counters (smokeping, collectd, munin, LibreNMS) are made of such values.
#
# Uses rrdtool 1.7.2-4+b8, librrd8 1.7.2-4+b8 and libdbi1 0.9.0-6 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download rrdtool=1.7.2-4+b8 librrd8=1.7.2-4+b8 libdbi1=0.9.0-6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/rrdtool --version > version || exit 2
head -n 1 version
cat > try.py <<'END'
import re
import subprocess
import sys

START, STEP = 1_000_000_000, 10


def rrdtool(*arguments):
    return subprocess.run(["usr/bin/rrdtool", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def stored(offset):
    """Values of the archive of maxima, when the times of updates are so many seconds behind the steps."""
    archive = f"{offset}.rrd"
    rrdtool("create", archive, "--start", START, "--step", STEP, "DS:latency:GAUGE:30:0:U", "RRA:MAX:0.5:1:100")
    for number, latency in enumerate((10, 10, 10, 110, 10, 10, 10), 1):
        rrdtool("update", archive, f"{START + number * STEP + offset}:{latency}")
    output = rrdtool("fetch", archive, "MAX", "--start", START + STEP, "--end", START + 6 * STEP)
    values = [round(float(value), 3) for value in re.findall(r"^\d+: (\S+)$", output, re.MULTILINE)]
    print(f"10, 10, 10, 110, 10, 10, 10 ms, {offset} s behind a step of {STEP} s: maxima {values}")
    return values


on, behind = stored(0), stored(5)
sys.exit(not (max(on) == 110 and max(behind) == 60 and behind.count(60) == 2))
END
python3 try.py
