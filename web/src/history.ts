/**
 * Bounded memory of measurements, in typed arrays allocated once. Times in seconds of the run; NaN inside means
 * not measured and leaves as null. Knows no chart.
 */

/** Rule by which two neighbouring samples become one when resolution is halved. */
export type Merge = "mean" | "max" | "last";

export type View = (number | null)[][];

/** Columns over time. When it is full it forgets the oldest sample, or halves its resolution and keeps the whole time. */
export class Track {
  private readonly at: Float64Array;
  private readonly columns: Float64Array[];
  private first = 0;
  private held = 0;
  /** Samples that become one. */
  private stride = 1;
  private pending = 0;

  constructor(
    private readonly merges: Merge[],
    private readonly capacity: number,
    private readonly whenFull: "forget" | "halve",
  ) {
    if (capacity < 2 || capacity % 2) throw new RangeError("the capacity is even and at least 2");
    this.at = new Float64Array(capacity);
    this.columns = merges.map(() => new Float64Array(capacity));
  }

  get length(): number {
    return this.held;
  }

  /** The newest sample's time, s; 0 without one. */
  get end(): number {
    return this.held ? this.at[this.slot(this.held - 1)]! : 0;
  }

  /** Number of pushed samples in one stored sample. */
  get resolution(): number {
    return this.stride;
  }

  /** Adds a sample; one that is not later than the newest is refused, as after a reconnection. */
  push(at_s: number, values: ArrayLike<number | null>): boolean {
    if (this.held && at_s <= this.at[this.slot(this.held - 1)]!) return false;
    if (this.pending) this.fold(at_s, values);
    else this.append(at_s, values);
    this.pending = (this.pending + 1) % this.stride;
    return true;
  }

  private slot(index: number): number {
    return (this.first + index) % this.capacity;
  }

  private append(at_s: number, values: ArrayLike<number | null>): void {
    if (this.held === this.capacity) {
      if (this.whenFull === "halve") this.halve();
      else {
        this.first = this.slot(1);
        this.held -= 1;
      }
    }
    const slot = this.slot(this.held++);
    this.at[slot] = at_s;
    this.columns.forEach((column, c) => (column[slot] = values[c] ?? NaN));
  }

  private fold(at_s: number, values: ArrayLike<number | null>): void {
    const slot = this.slot(this.held - 1);
    this.at[slot] = at_s;
    this.columns.forEach((column, c) => {
      column[slot] = merged(this.merges[c]!, column[slot]!, this.pending, values[c] ?? NaN, 1);
    });
  }

  private halve(): void {
    for (let i = 0; i < this.capacity / 2; i++) {
      this.at[i] = this.at[2 * i + 1]!;
      this.columns.forEach((column, c) => {
        column[i] = merged(this.merges[c]!, column[2 * i]!, 1, column[2 * i + 1]!, 1);
      });
    }
    this.held = this.capacity / 2;
    this.stride *= 2;
  }

  /** Times and the wanted columns from an instant on, for a chart. */
  view(wanted: number[], from_s = -Infinity): View {
    let start = 0;
    while (start < this.held && this.at[this.slot(start)]! < from_s) start++;
    const pick = (column: Float64Array): (number | null)[] => {
      const out: (number | null)[] = new Array(this.held - start);
      for (let i = start; i < this.held; i++) {
        const value = column[this.slot(i)]!;
        out[i - start] = Number.isNaN(value) ? null : value;
      }
      return out;
    };
    return [pick(this.at), ...wanted.map((c) => pick(this.columns[c]!))];
  }
}

function merged(merge: Merge, a: number, a_weight: number, b: number, b_weight: number): number {
  if (Number.isNaN(a)) return b;
  if (Number.isNaN(b)) return a;
  if (merge === "last") return b;
  return merge === "max" ? Math.max(a, b) : (a * a_weight + b * b_weight) / (a_weight + b_weight);
}

/** Columns stored of each stream. */
export const STREAM_COLUMNS = ["tx_pps", "rx_pps", "latency_p50_ns", "latency_p99_ns", "latency_max_ns", "tx", "lost"] as const;
export type StreamColumn = (typeof STREAM_COLUMNS)[number];

/** Most values stored of all streams: with few streams ten minutes at ten a second, with many less. */
const VALUES_MAX = 6_000_000;
const SAMPLES_MAX = 6_000;

/** The newest samples of every stream. */
export class StreamRing {
  readonly capacity: number;
  private readonly at: Float64Array;
  private readonly columns: Float64Array[];
  private first = 0;
  private held = 0;

  constructor(private readonly streams: number) {
    const room = Math.floor(VALUES_MAX / (Math.max(streams, 1) * STREAM_COLUMNS.length));
    this.capacity = Math.max(2, Math.min(SAMPLES_MAX, room));
    this.at = new Float64Array(this.capacity);
    this.columns = STREAM_COLUMNS.map(() => new Float64Array(this.capacity * streams));
  }

  push(at_s: number, values: Record<StreamColumn, ArrayLike<number | null>>): void {
    if (this.held === this.capacity) this.first = (this.first + 1) % this.capacity;
    else this.held++;
    const slot = (this.first + this.held - 1) % this.capacity;
    this.at[slot] = at_s;
    STREAM_COLUMNS.forEach((name, c) => {
      const [from, to, base] = [values[name], this.columns[c]!, slot * this.streams];
      for (let s = 0; s < this.streams; s++) to[base + s] = from?.[s] ?? NaN;
    });
  }

  /** Times and columns of one stream from an instant on. */
  view(stream: number, wanted: StreamColumn[], from_s = -Infinity): View {
    const slots: number[] = [];
    for (let i = 0; i < this.held; i++) {
      const slot = (this.first + i) % this.capacity;
      if (this.at[slot]! >= from_s) slots.push(slot);
    }
    const column = (name: StreamColumn): (number | null)[] => {
      const values = this.columns[STREAM_COLUMNS.indexOf(name)]!;
      return slots.map((slot) => {
        const value = values[slot * this.streams + stream]!;
        return Number.isNaN(value) ? null : value;
      });
    };
    return [slots.map((slot) => this.at[slot]!), ...wanted.map(column)];
  }
}

/**
 * Share of packets lost over the second before each sample, from totals. Packets that arrived later
 * were under way: lost at an instant are only those still missing at every later sample.
 */
export function lossOverTime(at_s: (number | null)[], tx: (number | null)[], missing: (number | null)[], window_s = 1): (number | null)[] {
  const lost = [...missing];
  for (let i = lost.length - 2; i >= 0; i--) {
    const later = lost[i + 1];
    if (lost[i] != null && later != null && later < lost[i]!) lost[i] = later;
  }
  let start = 0;
  return at_s.map((at, i) => {
    while (start < i - 1 && at_s[start]! < at! - window_s) start++;
    const [sent_before, lost_before] = [tx[start], lost[start]];
    if (i === 0 || tx[i] == null || lost[i] == null || sent_before == null || lost_before == null) return null;
    const sent = tx[i]! - sent_before;
    return sent > 0 ? Math.min(1, Math.max(0, lost[i]! - lost_before) / sent) : null;
  });
}
