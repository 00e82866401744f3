/** Trials as curves over their load. Knows no chart. */

import type { View } from "./history";
import type { Point } from "./types";

/** Whether a point counts for the line of a chart. */
export const isTrusted = (point: Point): boolean => point.valid && !point.generator_limited;

/** Loads nearer to each other than this share of them are one. */
const SAME_LOAD = 2e-4;

export type Of = (point: Point) => number | null | undefined;

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * A chart's columns: loads in their order; for every frame length the median of the trials at each load; then, for every frame
 * length, the single trials where a load had several; then the trials in which the tester was disturbed.
 */
export function curve(points: Point[], frames: string[], load: Of, value: Of): View {
  const rows: { load: number; column: number; value: number }[] = [];
  const place = (point: Point, column: number) => rows.push({ load: load(point)!, column, value: value(point)! });
  const usable = points.filter((point) => load(point) != null && value(point) != null);
  frames.forEach((frame, column) => {
    const own = usable.filter((point) => point.frame === frame && isTrusted(point)).sort((a, b) => load(a)! - load(b)!);
    for (let first = 0; first < own.length; ) {
      let last = first + 1;
      while (last < own.length && load(own[last]!)! - load(own[last - 1]!)! <= SAME_LOAD * load(own[last]!)!) last++;
      const same = own.slice(first, last);
      rows.push({ load: median(same.map((one) => load(one)!)), column, value: median(same.map((one) => value(one)!)) });
      if (same.length > 1) same.forEach((one) => place(one, frames.length + column));
      first = last;
    }
  });
  for (const point of usable) if (point.disturbed && !point.generator_limited) place(point, 2 * frames.length);
  rows.sort((a, b) => a.load - b.load || a.column - b.column);
  const columns = Array.from({ length: 2 * frames.length + 1 }, (_, c) => rows.map((row) => (row.column === c ? row.value : null)));
  return [rows.map((row) => row.load), ...columns];
}
