/** Loss while packets are under way, and in words. */

import { count, ratio } from "./format";

/** Loss in words; up to `loose` missing packets may be on the way. */
export function lossWords(lost: number | null, tx: number | null, loose: number): { text: string; more: string; bad: boolean } {
  if (lost === null || tx === null) return { text: "not measured", more: "", bad: false };
  if (lost <= 0) return { text: "none lost", more: `of ${count(tx)} packets`, bad: false };
  if (lost <= loose) return { text: "none seen", more: `${count(lost)} on the way`, bad: false };
  return { text: `${count(lost)} lost`, more: `${ratio(lost / tx)} of ${count(tx)} packets`, bad: true };
}

/** Packets that may be under way: sent within the longest latency, and one burst. */
export const underWay = (tx_pps: number, latency_max_ns: number | null, slack_s = 0): number =>
  64 + tx_pps * ((latency_max_ns ?? 0) / 1e9 + slack_s);
