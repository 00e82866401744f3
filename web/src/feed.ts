/** Data of a run, from its events: the newest figures, and history for charts. Draws nothing. */

import type { Band } from "./chart";
import { Source } from "./frame";
import { lossOverTime, type Merge, StreamRing, Track, type View } from "./history";
import { follow, type Problem } from "./server";
import { hasEnded } from "./state";
import type { IntervalDocument, Live, ResultDocument, Run } from "./types";

/** Columns recorded over time, of all streams and sessions together. */
export const COLUMNS = [
  "tx_pps", "rx_pps", "tx_bps_l1", "rx_bps_l1",
  "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns",
  "tx", "missing", "active", "open_per_s", "transactions_per_s", "rx_bps_goodput",
] as const;
type Sampled = (typeof COLUMNS)[number];
/** Columns of charts: the recorded ones, and the loss ratio, which follows from totals. */
export type Column = Exclude<Sampled, "tx" | "missing"> | "loss_ratio";
type Sample = Partial<Record<Sampled, number | null>>;

function mergeOf(name: Sampled): Merge {
  if (name === "tx" || name === "missing") return "last";
  return name.endsWith("_ns") ? "max" : "mean";
}
const MERGES = COLUMNS.map(mergeOf);
const RECENT_S = 60;

/** The sum of measured values; null without any. */
export function total(values: readonly (number | null)[] | undefined): number | null {
  let [sum, any] = [0, false];
  for (const value of values ?? []) {
    if (value == null) continue;
    sum += value;
    any = true;
  }
  return any ? sum : null;
}

/** Disturbances that are kept. */
const BANDS_MAX = 1_000;

/** Time between updates, s: with many streams a message is large. */
function every(streams: number): number {
  if (streams <= 2_000) return 0.1;
  return streams <= 20_000 ? 0.5 : 1;
}

export class RunFeed extends Source {
  run: Run | null = null;
  live: Live | null = null;
  result: ResultDocument | null = null;
  refused: Problem | null = null;
  /** All columns over the whole run, and at full resolution over the last minute. */
  readonly whole = new Track(MERGES, 4_000, "halve");
  readonly recent = new Track(MERGES, 1_200, "forget");
  streams: StreamRing | null = null;
  /** When the tester was disturbed, and how. */
  readonly bands: Band[] = [];
  /** Number of `live` events received. */
  received = 0;
  /** Packets missing at each event of the last second. */
  private lately: { at_s: number; missing: number }[] = [];
  private stop: () => void = () => undefined;

  constructor(readonly id: string) {
    super();
  }

  /** Follows the run on the server until the returned function is called. */
  open(streams: number): () => void {
    const path = `runs/${encodeURIComponent(this.id)}/events?form=live&every_s=${every(streams)}`;
    this.stop = follow(path, (name, data) => this.take(name, data), (problem) => {
      this.refused = problem;
      this.changed();
    });
    return () => this.stop();
  }

  get ended(): boolean {
    return this.run !== null && hasEnded(this.run);
  }

  /** Handles one event; true if it was the last. */
  take(name: string, data: unknown): boolean {
    if (name === "run") this.run = data as Run;
    if (name === "result") this.result = data as ResultDocument;
    if (name === "live") this.takeLive(data as Live);
    this.changed();
    return name === "run" && this.ended;
  }

  private takeLive(live: Live): void {
    this.live = live;
    this.received++;
    const { ports, streams, sessions, latency } = live;
    const sample: Sample = { ...latency, tx: total(streams.tx), missing: total(streams.lost) };
    this.remember(live.at_s, sample.missing ?? null);
    this.disturb(live.at_s, live.interval_s, live.disturbances ?? []);
    // The interval in which sending ends has no meaningful rate.
    for (const name of ["tx_pps", "rx_pps", "tx_bps_l1", "rx_bps_l1"] as const) sample[name] = live.draining ? null : total(ports[name]);
    for (const name of ["active", "open_per_s", "transactions_per_s", "rx_bps_goodput"] as const) {
      sample[name] = total(sessions?.[name]);
    }
    if (!this.keep(live.at_s, sample)) return;
    this.streams ??= new StreamRing(streams.tx.length);
    this.streams.push(live.at_s, streams);
  }

  /** Notes disturbances of the tester in the interval that ended at an instant. */
  private disturb(at_s: number, interval_s: number, disturbances: string[]): void {
    const last = this.bands[this.bands.length - 1];
    if (!disturbances.length || (last && last.to >= at_s)) return;
    if (this.bands.length >= BANDS_MAX) this.bands.shift();
    this.bands.push({ from: Math.max(0, at_s - interval_s), to: at_s, about: disturbances.join("; ") });
  }

  private remember(at_s: number, missing: number | null): void {
    this.lately = this.lately.filter((past) => past.at_s >= at_s - 1 && past.at_s < at_s);
    if (missing !== null) this.lately.push({ at_s, missing });
  }

  /** Packets of all streams that have been missing for a second: lost, or later than that. Null: not counted. */
  get missing(): number | null {
    return this.lately.length ? Math.min(...this.lately.map((past) => past.missing)) : null;
  }

  private keep(at_s: number, sample: Sample): boolean {
    const values = COLUMNS.map((name) => sample[name] ?? null);
    return this.whole.push(at_s, values) && this.recent.push(at_s, values);
  }

  /** Loads stored intervals of a run that ended before this page was opened. */
  takeIntervals(intervals: IntervalDocument[]): void {
    if (this.whole.length) return;
    let [tx, rx] = [0, 0];
    for (const interval of intervals) {
      const streams = streamsOf(interval);
      this.disturb(interval.at_s, interval.interval_s, interval.disturbances ?? []);
      tx += total(streams.map((stream) => stream.tx)) ?? 0;
      rx += total(streams.map((stream) => stream.rx ?? null)) ?? 0;
      this.keep(interval.at_s, { ...sampleOf(interval), ...(streams.length ? { tx, missing: Math.max(0, tx - rx) } : {}) });
    }
    this.changed();
  }

  /** Columns over time, of the last minute or of the whole run. */
  view(columns: Column[], recently: boolean): View {
    const wanted = columns.map((name) => (name === "loss_ratio" ? [COLUMNS.indexOf("tx"), COLUMNS.indexOf("missing")] : [COLUMNS.indexOf(name)]));
    const view = recently ? this.recent.view(wanted.flat(), this.newest() - RECENT_S) : this.whole.view(wanted.flat());
    const at = view.shift()!;
    return [at, ...wanted.map((those) => (those.length === 2 ? lossOverTime(at, view.shift()!, view.shift()!) : view.shift()!))];
  }

  /** The same of one stream, as far back as stored. */
  viewStream(stream: number, columns: Column[], recently: boolean): View {
    if (!this.streams) return [[], ...columns.map(() => [])];
    const from = recently ? this.newest() - RECENT_S : -Infinity;
    const [at, tx, rx, p50, p99, max, sent, lost] = this.streams.view(
      stream, ["tx_pps", "rx_pps", "latency_p50_ns", "latency_p99_ns", "latency_max_ns", "tx", "lost"], from,
    );
    const named: Partial<Record<Column, (number | null)[]>> = { tx_pps: tx!, rx_pps: rx!, p50_ns: p50!, p99_ns: p99!, max_ns: max! };
    if (columns.includes("loss_ratio")) named.loss_ratio = lossOverTime(at!, sent!, lost!);
    return [at!, ...columns.map((name) => named[name] ?? at!.map(() => null))];
  }

  private newest(): number {
    return this.live?.at_s ?? Infinity;
  }
}

/** Rows of an interval's streams, or their sum. */
function streamsOf(interval: IntervalDocument) {
  return interval.all_streams ? [interval.all_streams] : Object.values(interval.streams);
}

/** Sums of an interval; percentiles are the largest of any stream. */
function sampleOf(interval: IntervalDocument): Sample {
  const ports = Object.values(interval.ports);
  const latencies = streamsOf(interval).flatMap((stream) => stream.latency_ns ?? []);
  const most = (name: "p50" | "p90" | "p95" | "p99" | "p99_9" | "max"): number | null => {
    let largest: number | null = null;
    for (const latency of latencies) if ((latency[name] ?? -1) > (largest ?? -1)) largest = latency[name] ?? null;
    return largest;
  };
  const sessions = Object.values(interval.sessions ?? {});
  const rate = (name: "tx_pps" | "rx_pps" | "tx_bps_l1" | "rx_bps_l1") => (interval.draining ? null : total(ports.map((port) => port[name])));
  return {
    tx_pps: rate("tx_pps"),
    rx_pps: rate("rx_pps"),
    tx_bps_l1: rate("tx_bps_l1"),
    rx_bps_l1: rate("rx_bps_l1"),
    p50_ns: most("p50"),
    p90_ns: most("p90"),
    p95_ns: most("p95"),
    p99_ns: most("p99"),
    p99_9_ns: most("p99_9"),
    max_ns: most("max"),
    active: total(sessions.map((session) => session.active ?? null)),
    open_per_s: total(sessions.map((session) => session.open_per_s ?? null)),
    transactions_per_s: total(sessions.map((session) => session.transactions_per_s ?? null)),
    rx_bps_goodput: total(sessions.map((session) => session.rx_bps_goodput ?? null)),
  };
}
