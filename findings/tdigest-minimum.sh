#!/bin/sh
# tdigest's 1st percentile of the numbers from 1 to 10 is 0.6, less than any of them, and its 90th is 9.5.
#
# One would guess: a percentile lies between the smallest and the largest value; with ten values in ten centroids it is one of them, or
# between two neighbors.
# So it is: below the middle of the first centroid the line through the first two goes on to the left, so that p1 is below the minimum
# that percentile(0) shows. cdf(10), the share of values up to the largest, is 0.95. And of 99 latencies of 1 ms and one of 1 s the median
# is 10.99 ms, ten times what all but one had, as equal values are one centroid and a straight line leads to the next.
#
# Uses tdigest 0.5.2.2 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install tdigest==0.5.2.2 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from tdigest import TDigest

print("tdigest", version("tdigest"))
ten, groups = TDigest(), TDigest()
for value in range(1, 11):
    ten.update(value)
for value in [1] * 99 + [1000]:
    groups.update(value)
first, ninth, share = round(ten.percentile(1), 2), round(ten.percentile(90), 2), round(ten.cdf(10), 2)
print(f"1 to 10: percentile(0) {ten.percentile(0)}, percentile(1) {first}, percentile(90) {ninth}, cdf(10) {share}")
median, p90 = round(groups.percentile(50), 2), round(groups.percentile(90), 2)
print(f"99 times 1 and once 1000: percentile(50) {median}, percentile(90) {p90}")
sys.exit((first, ninth, share, median, p90) != (0.6, 9.5, 0.95, 10.99, 810.19))
END
