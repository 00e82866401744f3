#!/bin/sh
# parse-prometheus-text-format makes one histogram of two that differ in a label, with the buckets of the last, without sum and count.
#
# One would guess: a histogram or summary has a metric for each set of labels, as a counter has: buckets, sum, count and labels.
# So it is: all series of a family with labels besides `le` end in one metric without labels. Each bucket is that of the series which
# comes last, and sum and count are missing. Of streams "a" with 2 calls and "b" with 6 nothing is left of "a". Without labels
# the sum and the count are there. Counters and gauges are right. Numbers are texts: "1e3".
#
# Uses parse-prometheus-text-format 1.1.1 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent parse-prometheus-text-format@1.1.1 || exit 2
cat > try.js <<'END'
const parse = require("parse-prometheus-text-format");
const assert = require("assert");

const series = (labels, first, all, sum) => {
    const with_le = (le) => `{${labels ? labels + "," : ""}le="${le}"}`;
    const rest = labels ? `{${labels}}` : "";
    return `latency_bucket${with_le("0.1")} ${first}\nlatency_bucket${with_le("+Inf")} ${all}\nlatency_sum${rest} ${sum}\nlatency_count${rest} ${all}\n`;
};
const type = "# HELP latency seconds\n# TYPE latency histogram\n";
console.log("parse-prometheus-text-format", require("parse-prometheus-text-format/package.json").version);
const plain = parse(type + series("", 1, 2, 3))[0].metrics;
const labels = parse(type + series('stream="a"', 1, 2, 3) + series('stream="b"', 5, 6, 7))[0].metrics;
const counters = parse('# HELP sent packets\n# TYPE sent counter\nsent{stream="a"} 1e3\nsent{stream="b"} 2\n')[0].metrics;
console.log("one histogram without labels:", JSON.stringify(plain));
console.log("streams a (1, 2, sum 3) and b (5, 6, sum 7):", JSON.stringify(labels));
console.log("counters:", JSON.stringify(counters));
assert.deepEqual(plain, [{ buckets: { 0.1: "1", "+Inf": "2" }, count: "2", sum: "3" }]);
assert.deepEqual(labels, [{ buckets: { 0.1: "5", "+Inf": "6" } }]);
assert.deepEqual(counters, [{ value: "1e3", labels: { stream: "a" } }, { value: "2", labels: { stream: "b" } }]);
END
node try.js
