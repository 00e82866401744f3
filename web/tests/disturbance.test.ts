import assert from "node:assert/strict";
import { test } from "node:test";
import { heaviest, weight } from "../src/disturbance";

test("the longest disturbance comes first", () => {
  const all = ["worker 0 stalled for 12.1 ms", "worker 0 waited 1.383 of 12.06 s for its core; worker 0 stalled for 16 ms", "a link went down", "worker 1 stalled for 950 µs"];
  assert.deepEqual(all.map(weight), [0.0121, 1.383, 0, 0.00095]);
  const bands = all.map((about, to) => ({ about, to }));
  assert.deepEqual(heaviest(bands).map((band) => band.to), [1, 0, 3, 2]);
});
