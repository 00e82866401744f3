/** Figures of all streams as the table of streams has them, live or from a result, and their order. Knows no page. */

import { underWay } from "./loss";
import type { Live, ResultDocument } from "./types";

export type Figure = number | null;

/** Figures of all streams by column, in the order of the run's names. */
export type StreamTable = Record<"tx_pps" | "rx_pps" | "tx" | "rx" | "lost" | "p50" | "p99" | "max", Figure[]>;

export function fromLive({ streams }: Live): StreamTable {
  return {
    tx_pps: streams.tx_pps, rx_pps: streams.rx_pps, tx: streams.tx, rx: streams.rx, lost: streams.lost,
    p50: streams.latency_p50_ns, p99: streams.latency_p99_ns, max: streams.latency_max_ns,
  };
}

export function fromResult(result: ResultDocument, names: string[]): StreamTable {
  const streams = names.map((name) => result.streams[name]);
  const rate = (packets: Figure | undefined): Figure => (packets == null || !result.duration_s ? null : packets / result.duration_s);
  return {
    tx_pps: streams.map((s) => s?.offered_pps ?? rate(s?.tx)),
    rx_pps: streams.map((s) => rate(s?.rx)),
    tx: streams.map((s) => s?.tx ?? null),
    rx: streams.map((s) => s?.rx ?? null),
    lost: streams.map((s) => s?.lost ?? null),
    p50: streams.map((s) => s?.latency_ns?.p50 ?? null),
    p99: streams.map((s) => s?.latency_ns?.p99 ?? null),
    max: streams.map((s) => s?.latency_ns?.max ?? null),
  };
}

/** Orders of rows. */
export type Key = keyof StreamTable | "name" | "loss";

/** A figure of a stream. */
export function figure(table: StreamTable, key: Key, stream: number): Figure {
  if (key === "name") return null;
  if (key !== "loss") return table[key][stream] ?? null;
  const [tx, lost] = [table.tx[stream], table.lost[stream]];
  return tx && lost != null ? lost / tx : null;
}

/** Whether a stream's missing packets are lost: while it runs some are under way. */
export function loses(table: StreamTable, stream: number, running: boolean): boolean {
  const lost = table.lost[stream] ?? 0;
  return lost > (running ? underWay(table.tx_pps[stream] ?? 0, table.max[stream] ?? null, 0.002) : 0);
}

/** Streams in their order. */
export function order(names: string[], table: StreamTable, which: number[], key: Key, down: boolean): number[] {
  const sign = down ? -1 : 1;
  const byName = new Intl.Collator("en", { numeric: true }).compare;
  const sorted = [...which];
  if (key === "name") return sorted.sort((a, b) => sign * byName(names[a]!, names[b]!));
  const values = names.map((_, stream) => figure(table, key, stream));
  return sorted.sort((a, b) => {
    const [x, y] = [values[a] ?? null, values[b] ?? null];
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
    return sign * (x - y) || a - b;
  });
}
