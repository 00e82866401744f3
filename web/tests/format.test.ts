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

test("durations have a unit, or are seconds", () => {
  const cases: [string, number][] = [["2", 2], ["2s", 2], [" 500ms", 0.5], ["1.5 min", 90], ["1h", 3600], [".5", 0.5]];
  for (const [text, s] of cases) assert.equal(format.seconds(text), s, text);
  for (const text of ["", "s", "soon", "-1", "1e3", "2 days", "."]) assert.throws(() => format.seconds(text), /is not a duration/, text);
});

test("words agree with their number", () => {
  assert.deepEqual([format.several(1, "stream"), format.several(1000, "stream")], ["1 stream", "1,000 streams"]);
});

test("figures of documents have the unit of their name, as in reports", () => {
  const all: [string, number, string][] = [
    ["streams.a.latency_ns.p99", 12_500, "12.5 µs"], ["streams.a.loss_ratio", 0.0008, "0.08%"], ["sessions.web.open_per_s", 1_500, "1.5 k/s"],
    ["ports.west.tx_bps_l1", 3.4e9, "3.4 Gbps"], ["duration_s", 0.25, "250 ms"], ["streams.a.tx_bytes", 64_000, "64,000 B"], ["streams.a.lost", 1_234, "1,234"],
  ];
  for (const [path, value, text] of all) assert.equal(format.measured(path, value), text, path);
});
