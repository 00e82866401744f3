import assert from "node:assert/strict";
import { test } from "node:test";
import { curve } from "../src/curve";
import type { Point } from "../src/types";

const point = (offered_pps: number, loss_ratio: number, more: Partial<Point> = {}): Point =>
  ({ frame: "64B", offered_pps, loss_ratio, valid: true, generator_limited: false, disturbed: false, ...more }) as Point;

test("repeats of a load are points around their median; what was disturbed is marked and, if not valid, left out", () => {
  const points = [
    point(200_000, 0.5), point(100_000, 0), point(200_010, 0.1), point(199_990, 0.3), point(300_000, 0.9, { valid: false, disturbed: true }),
    point(400_000, 0.8, { generator_limited: true }),
  ];
  const [loads, line, singles, disturbed] = curve(points, ["64B"], (p) => p.offered_pps, (p) => p.loss_ratio);
  const at = (column: (number | null)[]) => loads!.map((load, i) => [load, column[i]]).filter(([, value]) => value !== null);
  assert.deepEqual(at(line!), [[100_000, 0], [200_000, 0.3]]);
  assert.deepEqual(at(singles!), [[199_990, 0.3], [200_000, 0.5], [200_010, 0.1]]);
  assert.deepEqual(at(disturbed!), [[300_000, 0.9]]);
  assert.deepEqual([...loads!], [...loads!].sort((a, b) => a! - b!));
});
