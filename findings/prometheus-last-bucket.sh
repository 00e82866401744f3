#!/bin/sh
# Prometheus' histogram_quantile() never exceeds the last bound: calls that all take 30 s have a median of 10 s, and a p99 of 10 s.
#
# One would guess: a quantile in the last bucket, which has no upper bound, is unknown or infinite.
# So it is: it is the lower bound of that bucket, the largest one configured: 10 s with the usual buckets, 5 s for some libraries. A
# server that stalls looks as if it had become 10 s slow and no more, and a straight line in a graph is the only sign. Within a bucket
# values lie on a straight line from bound to bound: calls of 1.1 s with bounds of 1 and 2.5 s have a median of 1.75 s.
#
# Uses prometheus 2.42.0+ds-5+deb12u1 of Debian 12 (promtool), and prometheus_client 0.26.0 from PyPI for the usual buckets; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download prometheus=2.42.0+ds-5+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install prometheus_client==0.26.0 || exit 2
usr/bin/promtool --version > version || exit 2
head -n 1 version
cat > try.py <<'END'
import json
import subprocess
import sys

from prometheus_client import Histogram


def quantile(share, seconds):
    """What promtool makes of a minute of calls that all take so long, with the default buckets."""
    histogram = Histogram(f"calls_{str(seconds).replace('.', '_')}_{int(share * 100)}", "Calls", registry=None)
    for _ in range(10):
        histogram.observe(seconds)
    samples = [sample for sample in histogram.collect()[0].samples if sample.name.endswith("_bucket")]
    series = [{"series": f'calls_bucket{{le="{one.labels["le"]}"}}', "values": f"0+{int(one.value)}x8"} for one in samples]
    expected = {"expr": f"histogram_quantile({share}, rate(calls_bucket[1m]))", "eval_time": "100s", "exp_samples": []}
    test = {"rule_files": [], "tests": [{"interval": "15s", "input_series": series, "promql_expr_test": [expected]}]}
    with open("try.yaml", "w") as file:
        json.dump(test, file)
    output = subprocess.run(["usr/bin/promtool", "test", "rules", "try.yaml"], capture_output=True, text=True)
    found = float((output.stdout + output.stderr).split("got:")[1].split()[-1])
    print(f"calls of {seconds} s: quantile {share} is {found} s")
    return round(found, 2)


sys.exit([quantile(0.5, 30), quantile(0.99, 30), quantile(0.5, 1.1)] != [10, 10, 1.75])
END
venv/bin/python try.py
