#!/bin/sh
# A histogram of 300 values with 8 bits a bucket has a median of 0: its counts wrap around, and the total does not.
#
# One would guess: `bitBucketSize` limits how much a bucket can count, and one value more is an error, or the bucket stays full.
# So it is: the counter of a bucket begins at 0 again. Of 300 times 5 ms and once 100 ms 45 are left in all, but the total count is 301,
# and percentiles that lie beyond those 45 are 0: the median and p90. With 16 bits that happens from 65,536 equal latencies on, as a load
# test has them, and with the usual 32 bits when counts are added up, by `recordValueWithCount` or `add`. No error, no warning.
# `bitBucketSize: 64` is exact.
#
# Uses hdr-histogram-js 3.0.1 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent hdr-histogram-js@3.0.1 || exit 2
cat > try.js <<'END'
const { build } = require("hdr-histogram-js");

console.log("hdr-histogram-js", require("hdr-histogram-js/package.json").version);
const seen = [];
for (const [bits, count] of [[8, 255], [8, 300], [16, 65_600], [32, 2 ** 32 + 10], [64, 2 ** 32 + 10]]) {
  const histogram = build({ bitBucketSize: bits });
  if (bits < 32) for (let i = 0; i < count; i++) histogram.recordValue(5);
  else histogram.recordValueWithCount(5, count);
  histogram.recordValue(100);
  const [median, p90] = [50, 90].map((percentile) => histogram.getValueAtPercentile(percentile));
  console.log(`${bits} bits: ${count} times 5 and once 100: total ${histogram.totalCount}, median ${median}, p90 ${p90}`);
  seen.push(histogram.totalCount, median, p90);
}
const right = (count) => [count + 1, 5, 5];
const wrapped = (count) => [count + 1, 0, 0];
const expected = [right(255), wrapped(300), wrapped(65_600), wrapped(2 ** 32 + 10), right(2 ** 32 + 10)];
process.exit(seen.join() === expected.flat().join() ? 0 : 1);
END
node try.js
