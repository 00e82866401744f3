#!/bin/sh
# prometheus_client reads a native histogram from text and writes its family without any sample, and without an error.
#
# One would guess: what `text_string_to_metric_families` has read, `generate_latest` writes again: it is how proxies, filters and tests
# pass metrics on.
# So it is: in OpenMetrics 1.0.0, the version that is written unless another is asked for, the histogram's TYPE line is there and nothing
# else: count, sum and buckets are gone, and the reader sees no series. With the version 2.0.0 they are there. The classic text format
# raises a TypeError instead. A relay of metrics loses those histograms only, and a check of its output, which is valid, finds nothing. Ask
# for 2.0.0, or pass the text on as it is.
#
# Uses prometheus-client 0.26.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install prometheus-client==0.26.0 || exit 2

"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

BUCKETS = "schema:0,zero_threshold:0.001,zero_count:4,positive_spans:[0:2,1:2],positive_deltas:[2,1,-2,3]"
TEXT = "# TYPE latency histogram\nlatency {count:24,sum:100," + BUCKETS + "}\n# EOF\n"


class Relay:
    """What was read, to be written."""

    def collect(self):
        return text_string_to_metric_families(TEXT)


registry = CollectorRegistry()
registry.register(Relay())
print("prometheus_client", version("prometheus-client"))
samples = {}
for name in ("1.0.0", "2.0.0"):
    lines = generate_latest(registry, version=name).decode().splitlines()
    samples[name] = [line for line in lines if not line.startswith("#")]
    print(f"OpenMetrics {name}: {len(lines)} lines, samples: {samples[name]}")
default = generate_latest(registry) == generate_latest(registry, version="1.0.0")
try:
    exposition.generate_latest(registry)
    raised = False
except TypeError:
    raised = True
print(f"1.0.0 is the default: {default}; the classic format raises a TypeError: {raised}")
sys.exit(not (samples["1.0.0"] == [] and len(samples["2.0.0"]) == 1 and default and raised))
END
