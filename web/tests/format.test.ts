import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format";

function all(cases: [unknown, string][], to: (value: any) => string): void {
  for (const [value, text] of cases) assert.equal(to(value), text, String(value));
}

test("rates have SI prefixes and their layer", () => {
  all([[0, "0 pps"], [999, "999 pps"], [999.6, "1.00 kpps"], [1234, "1.23 kpps"], [99_960, "100 kpps"], [1_200_000, "1.20 Mpps"],
    [14_880_952, "14.9 Mpps"], [999_700_000, "1.00 Gpps"], [null, "–"], [NaN, "–"], [0.5, "0.50 pps"]], format.pps);
  all([[3.4e9, "3.40 Gbps L1"], [undefined, "–"]], format.bpsL1);
  all([[980, "980/s"], [1500, "1.50 k/s"]], format.perSecond);
});

test("times have the unit that fits", () => {
  all([[0, "0 ns"], [80, "80 ns"], [999, "999 ns"], [1200, "1.20 µs"], [999_600, "1.00 ms"], [2.5e6, "2.50 ms"], [3e9, "3.00 s"], [null, "–"]], format.time);
  all([[0.4, "0.4 s"], [12.3, "12 s"], [59.4, "59 s"], [185, "3:05 min"], [3723, "1:02:03 h"]], format.duration);
});

test("a loss that is not zero never looks like zero", () => {
  all([[0, "0%"], [1e-9, "< 0.0001%"], [1.23e-5, "0.0012%"], [0.00123, "0.123%"], [0.5, "50.0%"], [1, "100%"]], format.ratio);
  all([[0.0375, "+3.75%"], [-0.5, "−50.0%"], [0, "±0%"]], format.change);
});

test("marks of an axis have no zeros at their end", () => {
  all([["1.00 Mpps", "1 Mpps"], ["0.0040%", "0.004%"], ["10.0 µs", "10 µs"], ["100 ms", "100 ms"], ["1.25 k/s", "1.25 k/s"], ["0 pps", "0 pps"]], format.tidy);
});

test("counts are grouped and words agree", () => {
  assert.equal(format.count(1234567), "1,234,567");
  assert.deepEqual([format.several(1, "stream"), format.several(1000, "stream")], ["1 stream", "1,000 streams"]);
});
