#!/bin/sh
# DataSketches' "floats" are of 32 bits in Python, too: a time of 1,000,000,001 ns is 1,000,000,000, and time stamps of two minutes are one.
#
# One would guess: kll_floats_sketch takes Python's float, which has 53 bits; "floats" and "ints" are the two kinds of numbers of Python.
# So it is: it has the 24 bits of C's float. Nanoseconds beyond 16.8 ms come in steps, of 64 ns at a second and of 137 s at today's Unix
# time: a hundred time stamps one microsecond apart are one value. kll_ints_sketch takes 32 bits, so that 3 s in nanoseconds are a
# TypeError. kll_doubles_sketch has what one expects. req_floats_sketch is of 32 bits, too.
#
# Uses datasketches 5.2.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install datasketches==5.2.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from datasketches import kll_doubles_sketch, kll_floats_sketch, kll_ints_sketch, req_floats_sketch

START = 1_700_000_000_000_000_000
print("datasketches", version("datasketches"))
seen = {}
for kind in (kll_floats_sketch, kll_doubles_sketch, req_floats_sketch):
    latency, stamps = kind(200 if kind is not req_floats_sketch else 12), kind(200 if kind is not req_floats_sketch else 12)
    latency.update(1_000_000_001)
    for i in range(100):
        stamps.update(START + i * 1000)
    span = stamps.get_max_value() - stamps.get_min_value()
    seen[kind.__name__] = int(latency.get_quantile(0.5)), span > 0
    print(f"{kind.__name__}: 1000000001 is {int(latency.get_quantile(0.5))}; 100 time stamps over 99 µs span {span / 1000:.0f} µs")
try:
    kll_ints_sketch(200).update(3_000_000_000)
    ints = "takes"
except TypeError:
    ints = "refuses"
print("kll_ints_sketch", ints, 3_000_000_000)
floats, doubles = (1_000_000_000, False), (1_000_000_001, True)
sys.exit(list(seen.values()) != [floats, doubles, floats] or ints != "refuses")
END
