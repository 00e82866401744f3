import assert from "node:assert/strict";
import { test } from "node:test";
import { order, type StreamTable } from "../src/rows";

const names = ["flow[10]", "flow[2]", "flow[1]"];
const none = [null, null, null];
const table: StreamTable = { tx_pps: [5, 7, 6], rx_pps: none, tx: [100, 100, 0], rx: none, lost: [1, 50, null], p50: none, p99: none, max: none };

test("names are ordered as people count", () => {
  assert.deepEqual(order(names, table, [0, 1, 2], "name", false), [2, 1, 0]);
});

test("figures are ordered either way, what was not measured last", () => {
  assert.deepEqual(order(names, table, [0, 1, 2], "tx_pps", true), [1, 2, 0]);
  assert.deepEqual(order(names, table, [0, 1, 2], "loss", true), [1, 0, 2]);
  assert.deepEqual(order(names, table, [0, 1, 2], "loss", false), [0, 1, 2]);
});
