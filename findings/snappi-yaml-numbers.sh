#!/bin/sh
# snappi reads the JSON of a server as YAML 1.1: a loss of 2e-7 arrives as a text and is refused, 0.0000002 is a number.
#
# One would guess: a client of a JSON API reads JSON; a server may write a number in any way that JSON allows.
# So it is: `deserialize` of a text, which every answer goes through, is `yaml.safe_load`. YAML 1.1 takes no number without a point
# in front of its exponent, so 2e-7 and 1e-5 are texts, and reading them fails with a TypeError about `float`; 1.5e-5 is a number.
# A server had better write small numbers without an exponent, and large ones, too.
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
api, seen = snappi.api(location="http://127.0.0.1:1"), {}
for number in ("2e-7", "1e-5", "0.0000002", "1.5e-5"):
    answer = '{"choice": "flow_metrics", "flow_metrics": [{"name": "f", "loss": %s}]}' % number
    try:
        read = api.metrics_response().deserialize(answer).flow_metrics[0].loss
    except TypeError as error:
        read = f"TypeError: {error}"
    seen[number] = read
    print(f"loss {number}: json has {json.loads(answer)['flow_metrics'][0]['loss']!r}, snappi {str(read)[:90]!r}")
refused = [number for number, read in seen.items() if str(read).startswith("TypeError")]
sys.exit(refused != ["2e-7", "1e-5"] or float(seen["0.0000002"]) != 2e-7)
END
