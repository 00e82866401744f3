#!/bin/sh
# Reading an attribute of a snappi flow changes the flow: a look at `rate.percentage` turns 5 packets/s into 100% of the line rate.
#
# One would guess: reading an attribute, in a debugger or to ask whether it is set, changes nothing.
# So it is: reading one of several alternatives chooses it and drops what was set: `percentage` where `pps` was set has its default
# of 100, and `increment` of a field counts up from 0.0.0.0 instead of the value. No warning. Ask `.choice` first.
#
# Uses snappi 1.62.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install snappi==1.62.0 || exit 2
"$folder/venv/bin/python" - 2> "$folder/log" <<'END'
import sys
from importlib.metadata import version

import snappi

flow = snappi.Config().flows.flow(name="f")[-1]
_, ip = flow.packet.ethernet().ipv4()
ip.dst.value, flow.rate.pps = "192.0.2.1", 5
before = [part.serialize("dict") for part in (ip.dst, flow.rate)]
ip.dst.increment, flow.rate.percentage
after = [part.serialize("dict") for part in (ip.dst, flow.rate)]
print("snappi", version("snappi"))
print("ipv4.dst.value = '192.0.2.1', rate.pps = 5:", *before)
print("after reading ipv4.dst.increment and rate.percentage:", *after)
as_described = before[0].get("value") == "192.0.2.1" and before[1].get("pps") == "5"
as_described = as_described and after[0]["choice"] == "increment" and after[1] == {"choice": "percentage", "percentage": 100}
sys.exit(not as_described)
END
