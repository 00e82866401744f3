#!/bin/sh
# HdrHistogram for JavaScript cuts fractions: latencies of 0.4 and 0.9 ms count as 0, with a maximum of 0.9 beside them.
#
# One would guess: recordValue takes a JavaScript number, such as the milliseconds of performance.now(), and keeps three significant
# digits of it; or it refuses what it cannot keep, as the histogram of Node.js does.
# So it is: values are cut to integers before they are counted. Of a server that answers within 0.9 ms all percentiles and the mean are 0;
# the maximum alone is exact, so the report shows p100 far below it. Python's hdrhistogram (0.10.8) does the same with the mean, the
# percentiles and the maximum. Record microseconds.
#
# Uses hdr-histogram-js 3.0.1 from npm, and hdrhistogram 0.10.8 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent hdr-histogram-js@3.0.1 || exit 2
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install hdrhistogram==0.10.8 || exit 2
cat > try.js <<'END'
const hdr = require("hdr-histogram-js");
const { createHistogram } = require("perf_hooks");

console.log("hdr-histogram-js", require("hdr-histogram-js/package.json").version, "Node.js", process.version);
const histogram = hdr.build();
for (const latency of [0.4, 0.6, 0.9]) histogram.recordValue(latency);
const seen = [histogram.getValueAtPercentile(50), histogram.getValueAtPercentile(100), histogram.mean, histogram.maxValue];
console.log("0.4, 0.6 and 0.9 recorded: p50, p100, mean, maximum", ...seen);
let refused = false;
try {
  createHistogram().record(0.4);
} catch (error) {
  refused = true;
  console.log("Node.js:", error.message);
}
process.exit(seen.join() === "0,0,0,0.9" && refused ? 0 : 1);
END
node try.js
"$folder/venv/bin/python" - <<'END'
import sys

from hdrh.histogram import HdrHistogram

histogram = HdrHistogram(1, 3_600_000_000, 3)
for latency in (0.4, 0.6, 0.9):
    histogram.record_value(latency)
seen = histogram.get_value_at_percentile(100), histogram.get_mean_value(), histogram.get_max_value()
print("Python: p100, mean, maximum", *seen)
sys.exit(any(seen))
END
