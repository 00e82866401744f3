#!/bin/sh
# vegeta's percentiles are interpolated: with 99 responses of 1 ms and one of 1 s its p99 is 500.5 ms.
#
# One would guess: a percentile is a latency that a request had, or near one: p99 of these hundred is 1 ms (99 of 100 were not
# slower) or 1 s.
# So it is: between two neighboring latencies vegeta draws a straight line. With two groups, such as cached and uncached, or sent
# once and sent again, the report names a latency that no request had. Half of the requests at 1 ms and half at 1 s: p50 500.5 ms.
#
# Uses github.com/tsenart/vegeta/v12 v12.13.0, built with Go; it reads results that the script writes. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GOBIN="$folder" go install github.com/tsenart/vegeta/v12@v12.13.0 2> "$folder/log" || { cat "$folder/log" >&2; exit 2; }
cd "$folder"
go version -m vegeta | grep -o 'mod.github.com/tsenart/vegeta.*' | cut -f 2,3
python3 - <<'END'
import json
import subprocess
import sys


def report(latencies_ms):
    """vegeta's report of requests with these latencies, 10 ms apart."""
    results = [
        {"attack": "", "seq": seq, "code": 200, "timestamp": f"2026-01-01T00:00:{seq / 100:09.6f}Z", "latency": latency * 10**6,
         "bytes_out": 0, "bytes_in": 0, "error": "", "body": None, "method": "GET", "url": "http://a/", "headers": None}
        for seq, latency in enumerate(latencies_ms)
    ]
    text = "".join(json.dumps(result) + "\n" for result in results)
    done = subprocess.run(["./vegeta", "report", "-type", "json"], input=text, capture_output=True, text=True, check=True)
    return {name: latency / 10**6 for name, latency in json.loads(done.stdout)["latencies"].items()}


one_slow, halves = report([1] * 99 + [1000]), report([1, 1000] * 50)
print(f"99 of 1 ms and 1 of 1,000 ms: p50 {one_slow['50th']} p95 {one_slow['95th']} p99 {one_slow['99th']} max {one_slow['max']}")
print(f"50 of 1 ms and 50 of 1,000 ms: p50 {halves['50th']} p95 {halves['95th']} p99 {halves['99th']} max {halves['max']}")
sys.exit((one_slow["99th"], halves["50th"]) != (500.5, 500.5))
END
