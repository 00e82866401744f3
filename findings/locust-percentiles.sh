#!/bin/sh
# Locust's percentiles are those of rounded response times: p99 can exceed the maximum, and p50 of 1,234 ms is 1,200.
#
# One would guess: percentiles are as exact as minimum, average and maximum beside them.
# So it is: before a response time is counted it is rounded: above 100 ms to tens of ms, above 1 s to hundreds, above 10 s to whole
# seconds. 1,234 ms become 1,200, and 58,760 become 59,000. Runs whose medians are 1,151 and 1,249 ms show the same p50.
#
# Uses locust 2.47.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install locust==2.47.0 || exit 2
"$folder/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version

from locust.stats import RequestStats

seen = {}
for time_ms in (1_151, 1_234, 1_249, 58_760):
    stats = RequestStats()
    for _ in range(100):
        stats.log_request("GET", "/", time_ms, 100)
    entry = stats.total
    seen[time_ms] = entry.get_response_time_percentile(0.5), entry.get_response_time_percentile(0.99), entry.max_response_time
print("locust", version("locust"))
for time_ms, (p50, p99, highest) in seen.items():
    print(f"100 responses of {time_ms} ms: p50 {p50}, p99 {p99}, max {highest}")
expected = {time_ms: (1_200, 1_200, time_ms) for time_ms in (1_151, 1_234, 1_249)} | {58_760: (59_000, 59_000, 58_760)}
sys.exit(seen != expected)
END
