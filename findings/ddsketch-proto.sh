#!/bin/sh
# A DDSketch that was sent to another process as protobuf has a sum and an average of 0, and a minimum of infinity.
#
# One would guess: what to_proto writes and from_proto reads is the same sketch: count, sum, average, quantiles.
# So it is: the message has the buckets alone. Count and quantiles come back, the sum and the average are 0, the extremes infinite,
# and merging such sketches, which is what they are sent for, adds up zeros. No error says that these numbers are not known. The
# library for JavaScript does the same. Send the sum and the extremes beside the sketch.
#
# Uses ddsketch 3.0.1 and protobuf 6.33.5 from PyPI, and @datadog/sketches-js 2.1.1 with protobufjs 7.6.6 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ddsketch==3.0.1 protobuf==6.33.5 || exit 2
npm init -y > init.log && npm install --silent @datadog/sketches-js@2.1.1 protobufjs@7.6.6 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from ddsketch import DDSketch
from ddsketch.pb.proto import DDSketchProto

print("ddsketch", version("ddsketch"))
sketch = DDSketch(0.01)
for value in range(1, 101):
    sketch.add(value)
read = DDSketchProto.from_proto(DDSketchProto.to_proto(sketch))
for name, found in (("made", sketch), ("read", read)):
    print(f"{name}: count {found.count:.0f}, median {found.get_quantile_value(0.5):.1f}, sum {found.sum}, average {found.avg}")
sys.exit((sketch.sum, read.count, read.sum, read.avg) != (5050, 100, 0, 0) or not 49 < read.get_quantile_value(0.5) < 51)
END
cat > try.js <<'END'
const { DDSketch } = require("@datadog/sketches-js");

console.log("sketches-js", require("@datadog/sketches-js/package.json").version);
const sketch = new DDSketch({ relativeAccuracy: 0.01 });
for (let value = 1; value <= 100; value++) sketch.accept(value);
const read = DDSketch.fromProto(sketch.toProto());
console.log("made: count", sketch.count, "sum", sketch.sum, "maximum", sketch.max);
console.log("read: count", read.count, "sum", read.sum, "maximum", read.max);
process.exit(read.count === 100 && read.sum === 0 && read.max === -Infinity ? 0 : 1);
END
node try.js
