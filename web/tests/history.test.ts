import assert from "node:assert/strict";
import { test } from "node:test";
import { lossOverTime, STREAM_COLUMNS, StreamRing, Track } from "../src/history";

test("a track that forgets keeps the newest", () => {
  const track = new Track(["mean"], 4, "forget");
  for (let i = 1; i <= 7; i++) track.push(i, [i * 10]);
  assert.deepEqual(track.view([0]), [[4, 5, 6, 7], [40, 50, 60, 70]]);
  assert.deepEqual(track.view([0], 6), [[6, 7], [60, 70]]);
});

test("a track that halves keeps the whole time, means, largest and last values", () => {
  const track = new Track(["mean", "max", "last"], 8, "halve");
  for (let i = 1; i <= 1000; i++) track.push(i, [1, i === 300 ? 99 : 1, i]);
  const [at, mean, max, last] = track.view([0, 1, 2]);
  assert.ok(at!.length <= 8 && at!.length >= 4);
  assert.equal(at![at!.length - 1], 1000);
  assert.ok(mean!.every((value) => value === 1));
  assert.equal(max!.filter((value) => value === 99).length, 1);
  assert.deepEqual(last, at);
  assert.ok(track.resolution >= 125);
});

test("means weigh every sample alike", () => {
  const track = new Track(["mean"], 2, "halve");
  for (const [i, value] of [4, 8, 1, 3, 5, 7, 9, 11].entries()) track.push(i + 1, [value]);
  const [, mean] = track.view([0]);
  assert.equal(mean!.reduce((sum, value) => sum! + value!, 0)! / mean!.length, 6);
});

test("what was not measured stays so, and time does not go back", () => {
  const track = new Track(["max"], 4, "forget");
  assert.ok(track.push(1, [null]));
  assert.ok(!track.push(1, [5]));
  assert.ok(!track.push(0.5, [5]));
  assert.deepEqual(track.view([0]), [[1], [null]]);
});

test("a ring has each stream's own values, as many as its memory allows", () => {
  const ring = new StreamRing(3);
  for (let i = 1; i <= ring.capacity + 5; i++) {
    const values = [i, i + 0.25, i + 0.5];
    ring.push(i, Object.fromEntries(STREAM_COLUMNS.map((name) => [name, values])) as never);
  }
  const [at, tx] = ring.view(1, ["tx_pps"]);
  assert.equal(at!.length, ring.capacity);
  assert.deepEqual([at![0], tx![0]], [6, 6.25]);
  assert.ok(new StreamRing(100_000).capacity < 20);
});

test("packets under way are no loss", () => {
  const at = [0, 1, 2, 3, 4, 5];
  const tx = at.map((s) => s * 1000);
  assert.deepEqual(lossOverTime(at, tx, [0, 50, 0, 70, 0, 0]).slice(1), [0, 0, 0, 0, 0]);
  assert.deepEqual(lossOverTime(at, tx, [0, 0, 100, 200, 200, 200]).slice(1), [0, 0.1, 0.1, 0, 0]);
  assert.deepEqual(lossOverTime([0, 1], [null, null], [null, null]), [null, null]);
});
