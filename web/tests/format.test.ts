import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format";
import texts from "./texts.json";

test("figures read as in summaries and reports", () => {
  for (const [value, unit, text] of texts.quantities as [number, string, string][]) {
    assert.equal(format.inUnit(value, unit), text, `${value} ${unit}`);
  }
  for (const [value, text] of texts.ratios as [number, string][]) assert.equal(format.ratio(value), text);
  for (const [value, text] of texts.differences as [number, string][]) assert.equal(format.change(value), text);
  for (const [value, text] of texts.counts as [number, string][]) assert.equal(format.count(value), text);
});

test("what was not measured is a dash, and a layer is named", () => {
  for (const of of [format.pps, format.bpsL1, format.perSecond, format.time, format.duration, format.ratio, format.count]) {
    assert.deepEqual([of(null), of(undefined), of(NaN)], ["–", "–", "–"]);
  }
  assert.equal(format.bpsL1(3.4e9), "3.4 Gbps L1");
});

test("time gone by is rounded", () => {
  const cases: [number, string][] = [[0.4, "0.4 s"], [12.3, "12 s"], [59.4, "59 s"], [185, "3:05 min"], [3723, "1:02:03 h"]];
  for (const [s, text] of cases) assert.equal(format.duration(s), text);
});

test("words agree with their number", () => {
  assert.deepEqual([format.several(1, "stream"), format.several(1000, "stream")], ["1 stream", "1,000 streams"]);
});
