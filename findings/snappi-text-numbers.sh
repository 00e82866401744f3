#!/bin/sh
# snappi writes numbers of 64 bits as texts: a rate of 1,000 packets/s is "1000" in JSON, beside 10 packets that are 10.
#
# One would guess: an integer of the API is a number in its JSON, as the OpenAPI model says `integer`, and as it was set.
# So it is: fields of the format int64 or uint64 are texts, fields of 32 bits are numbers: `"pps": "1000"`, `"packets": 10`. It reads both.
# A script or a server that compares or adds what it finds has a text in some fields: "900" > "1000". Frames of flow metrics are of that
# kind, too. A number in a file that was written by hand is read as it should be.
#
# Uses snappi 1.62.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install snappi==1.62.0 || exit 2
"$folder/venv/bin/python" - 2> "$folder/log" <<'END'
import json
import sys
from importlib.metadata import version

import snappi

print("snappi", version("snappi"))
api = snappi.api(location="http://127.0.0.1:1")
config = api.config()
flow = config.flows.flow(name="f")[-1]
flow.tx_rx.port.tx_name = "a"
flow.rate.pps = 1000
flow.duration.fixed_packets.packets = 10
config.ports.port(name="a", location="x")
written = json.loads(config.serialize("json"))
[found] = written["flows"]
print("rate:", found["rate"], " packets:", found["duration"]["fixed_packets"]["packets"])
found["rate"]["pps"] = 900
read = api.config()
read.deserialize(json.dumps(written))
print("a number is read as", repr(read.flows[0].rate.pps))
response = api.metrics_response()
response.choice = response.FLOW_METRICS
response.flow_metrics.add(name="f", frames_tx=1000, frames_rx=900, loss=0.5)
metric = json.loads(response.serialize("json"))["flow_metrics"][0]
print("a metric is written as", metric)
seen = found["duration"]["fixed_packets"]["packets"], json.loads(config.serialize("json"))["flows"][0]["rate"]["pps"]
sys.exit((*seen, read.flows[0].rate.pps, metric["frames_tx"]) != (10, "1000", 900, "1000"))
END
