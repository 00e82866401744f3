#!/bin/sh
# jc leaves lost probes of a traceroute out: a hop that answered one of three has one probe, and one that answered none has none.
#
# One would guess: each hop has three probes, and one without an answer (`*`) is null, so that the loss of a hop can be counted.
# So it is: each `*` vanishes. Hop 2 of the script lost two of its three probes and has a single one, with a time: a loss of 0 %. Hop 3
# lost all three, and its list is empty. Hop 4 lost the second, and the third one's time is where the second's should be. Six of twelve
# probes were lost, and the six that are left all have times. Count against the number of probes that traceroute was given (`-q`).
#
# Uses jc 1.26.1 from PyPI, which reads an output that the script writes; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install jc==1.26.1 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

import jc

OUTPUT = """traceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets
 1  10.0.0.1 (10.0.0.1)  1.012 ms  1.103 ms  1.214 ms
 2  * 10.0.1.1 (10.0.1.1)  5.005 ms *
 3  * * *
 4  192.0.2.9 (192.0.2.9)  12.015 ms *  12.514 ms
"""
print("jc", version("jc"))
print(OUTPUT, end="")
seen = []
for hop in jc.parse("traceroute", OUTPUT, quiet=True)["hops"]:
    times = [probe["rtt"] for probe in hop["probes"]]
    print(f"hop {hop['hop']}: {len(times)} probes, times {times}")
    seen.append(times)
sys.exit(seen != [[1.012, 1.103, 1.214], [5.005], [], [12.015, 12.514]])
END
