#!/bin/sh
# A field that snappi increments has one value: `count` is 1 unless set, so "start 10.0.0.1, step 0.0.0.1" is 10.0.0.1 in every packet.
#
# One would guess: a pattern with a start and a step goes on for all packets of the flow, or over the field's whole range, as other
# generators do. Its `size.increment`, which has an end, does.
# So it is: increment, decrement and random patterns of all header fields have `count: 1` in the JSON that goes to the generator; "random"
# with min 1 and max 100, too. The flow runs without a warning with a single address and port: one flow for the device's hash, its table
# of neighbors and its NAT. A test of 10,000 flows is one of 1. Set `count`.
#
# Uses snappi 1.62.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install snappi==1.62.0 || exit 2
cat > try.py <<'END'
import json
import sys
from importlib.metadata import version

import snappi

print("snappi", version("snappi"))
config = snappi.api(location="http://127.0.0.1:1").config()
config.ports.port(name="west", location="1").port(name="east", location="2")
flow = config.flows.flow(name="many")[-1]
flow.tx_rx.port.tx_name = "west"
flow.tx_rx.port.rx_names = ["east"]
ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
ethernet.dst.increment.start, ethernet.dst.increment.step = "02:00:00:00:00:01", "00:00:00:00:00:01"
ip.src.increment.start, ip.src.increment.step = "10.0.0.1", "0.0.0.1"
udp.src_port.random.min, udp.src_port.random.max = 1, 100
udp.dst_port.decrement.start, udp.dst_port.decrement.step = 2000, 1
flow.size.increment.start, flow.size.increment.end = 64, 1518
sent = json.loads(config.serialize())["flows"][0]
headers = {header["choice"]: header[header["choice"]] for header in sent["packet"]}
counts = {}
for header, fields in headers.items():
    for field, pattern in fields.items():
        values = pattern[pattern["choice"]]
        counts[f"{header}.{field} {pattern['choice']}"] = values.get("count")
        print(f"{header}.{field}: {pattern['choice']} {values}")
print("size:", sent["size"]["increment"])
sys.exit(len(counts) != 4 or set(counts.values()) != {1})
END
venv/bin/python try.py 2> log || { status=$?; cat log >&2; exit $status; }
