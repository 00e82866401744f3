#!/bin/sh
# A Summary of aioprometheus has a median of 3 for the numbers from 1 to 10, and 275 for those from 1 to 1,000; its 0.99 quantile is 496.
#
# One would guess: the quantiles 0.5, 0.9 and 0.99 of 1 to 1,000 are 500, 900 and 990, each within the error of its rank that is set by
# default: 5 %, 1 % and 0.1 %.
# So it is: 275, 454 and 496, and 3, 6 and 6 for the numbers from 1 to 10. Values in order come out at half of their rank, whatever their
# number; in random order a thousand come out at 300, 595 and 655, and a hundred thousand about right, but for the median. Count and
# sum are right. A service whose latencies these are looks twice as fast as it is. The estimator is that of quantile-python. Use a
# Histogram.
#
# Uses aioprometheus 23.12.0 and quantile-python 1.1 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install aioprometheus==23.12.0 quantile-python==1.1 || exit 2
cat > try.py <<'END'
import random
import sys
from importlib.metadata import version

from aioprometheus import Summary

print("aioprometheus", version("aioprometheus"), "quantile-python", version("quantile-python"))
seen = []
for count, order in ((10, "in order"), (1000, "in order"), (1000, "shuffled"), (100_000, "shuffled")):
    values = list(range(1, count + 1))
    if order == "shuffled":
        random.Random(1).shuffle(values)
    summary = Summary(f"summary_{len(seen)}", "Numbers.")
    for value in values:
        summary.observe({}, value)
    found = summary.get({})
    print(f"1 to {count:,} {order}: " + ", ".join(f"{name} {value:g}" for name, value in found.items()))
    seen.append([found[quantile] for quantile in (0.5, 0.9, 0.99)])
few, ordered, shuffled, many = seen
sys.exit(not (few == [3, 6, 6] and ordered == [275, 454, 496] and max(shuffled) < 700 and abs(many[2] - 99_000) < 2000))
END
venv/bin/python try.py
