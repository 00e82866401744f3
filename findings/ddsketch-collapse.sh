#!/bin/sh
# A bounded DDSketch that is asked for ten times the accuracy gets a median 17 times too large.
#
# One would guess: a relative accuracy of 0.1 % gives quantiles within 0.1 %, at the price of memory, and better ones than 1 %.
# So it is: LogCollapsingLowestDenseDDSketch keeps 2,048 buckets and pours all values below them into the lowest. With 1 % they reach down
# to 10^-18 of the largest value, with 0.1 % to a sixtieth: of latencies from 1 µs to 1 s everything below 16.7 ms is 16.7 ms, also the
# median of 1 ms. With 0.01 % p90 is wrong, too. Nothing says so: count, sum and maximum are right. The sketches for JavaScript (2.1.1) do
# the same. Raise `bin_limit`, or use DDSketch, which has no limit.
#
# Uses ddsketch 3.0.1 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ddsketch==3.0.1 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from ddsketch import DDSketch, LogCollapsingLowestDenseDDSketch

COUNT = 10_000
print("ddsketch", version("ddsketch"))
latencies = [10 ** (-6 * (1 - i / (COUNT - 1))) for i in range(COUNT)]  # 1 µs to 1 s, evenly on a logarithmic scale
median = latencies[COUNT // 2]
seen = {}
for kind in (DDSketch, LogCollapsingLowestDenseDDSketch):
    for accuracy in (0.01, 0.001, 0.0001):
        sketch = kind(accuracy)
        for latency in latencies:
            sketch.add(latency)
        p50, p90 = (sketch.get_quantile_value(quantile) for quantile in (0.5, 0.9))
        seen[kind, accuracy] = abs(p50 / median - 1) < 0.02, abs(p90 / latencies[COUNT * 9 // 10] - 1) < 0.02
        print(f"{kind.__name__}({accuracy}): p50 {p50 * 1000:.3f} ms, p90 {p90 * 1000:.1f} ms; right: {median * 1000:.3f} and "
              f"{latencies[COUNT * 9 // 10] * 1000:.1f} ms")
bounded = [seen[LogCollapsingLowestDenseDDSketch, accuracy] for accuracy in (0.01, 0.001, 0.0001)]
unbounded = [seen[DDSketch, accuracy] for accuracy in (0.01, 0.001, 0.0001)]
sys.exit(bounded != [(True, True), (False, True), (False, False)] or unbounded != [(True, True)] * 3)
END
