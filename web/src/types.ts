/** What the server says, as the API's documents have it. Times are RFC 3339 UTC; `_s` seconds, `_ns` nanoseconds. */

export type State = "starting" | "running" | "draining" | "done" | "failed" | "stopped" | "interrupted";

/** States after which nothing more comes. */
export const ENDED: ReadonlySet<State> = new Set<State>(["done", "failed", "stopped", "interrupted"]);

export interface Fault {
  path: string;
  line: number | null;
  reason: string;
}

export interface Lease {
  id?: string;
  ports: string[];
  holder: string;
  expires: string;
  seconds_left: number;
}

export interface Port {
  name: string;
  device: string;
  kind: "interface" | "pci" | "in-process";
  up: boolean;
  speed_bps: number | null;
  mtu: number | null;
  driver: string | null;
  allowed: boolean;
  note: string | null;
  lease: { holder: string; expires: string; seconds_left: number } | null;
}

export interface Check {
  good: boolean;
  streams: number;
  sessions: number;
  ports: { name: string; device: string }[];
  duration_s: number | null;
  warnings: string[];
  errors: Fault[];
}

export interface ProfileEntry {
  name: string;
  about: string | null;
  built_in: boolean;
  changed: string | null;
}

export interface Verdict {
  valid: boolean;
  generator_limited: boolean;
  reasons: string[];
}

export interface Names {
  ports: string[];
  streams: string[];
  sessions: string[];
}

export interface Run {
  id: string;
  name: string;
  state: State;
  reason: string | null;
  holder: string;
  ports: string[];
  started: string | null;
  ended: string | null;
  duration_s: number | null;
  at_s: number;
  seed: number;
  warnings: string[];
  verdict: Verdict | null;
  /** In words. */
  rate_changes: string[];
  refused_changes: string[];
  names: Names;
  captures: string[];
}

type Column = (number | null)[];

/** One message of a run's `live` events: columns in the order of the run's names. */
export interface Live {
  at_s: number;
  interval_s: number;
  draining: boolean;
  ports: Record<"tx_pps" | "rx_pps" | "tx_bps_l1" | "rx_bps_l1" | "tx_packets" | "rx_packets", Column>;
  streams: Record<
    "tx_pps" | "rx_pps" | "tx" | "rx" | "lost" | "latency_p50_ns" | "latency_p99_ns" | "latency_max_ns",
    Column
  >;
  sessions: Record<"active" | "open_per_s" | "transactions_per_s" | "rx_bps_goodput" | "failed" | "established", Column>;
  latency: Record<"p50_ns" | "p90_ns" | "p99_ns" | "p99_9_ns" | "max_ns", number | null> | null;
  workers: Worker[];
  names?: Names;
}

/** How busy a worker is; the core is not known of one that is not bound to any. */
export interface Worker {
  core: number | null;
  busy_ratio: number;
}

export interface Latencies {
  p50: number | null;
  p90: number | null;
  p99: number | null;
  p99_9: number | null;
  max: number | null;
}

export interface StreamResult {
  tx: number;
  rx: number;
  lost?: number | null;
  loss_ratio?: number | null;
  offered_pps?: number | null;
  latency_ns?: Latencies | null;
}

export interface PortResult {
  tx_packets: number;
  rx_packets: number;
  tx_unsent?: number;
  tx_pps: number;
  rx_pps: number;
  tx_bps_l1: number;
  rx_bps_l1: number;
  rx_errors?: Record<string, number>;
}

export interface SessionResult {
  attempted: number;
  established: number;
  failed?: Record<string, number>;
  active?: number;
  open_per_s?: number | null;
  transactions_per_s?: number | null;
  rx_bps_goodput?: number | null;
}

/** `eagre.result/1`, as far as it is shown. */
export interface Result {
  verdict: Verdict;
  duration_s: number;
  ports: Record<string, PortResult>;
  streams: Record<string, StreamResult>;
  sessions?: Record<string, SessionResult>;
  workers: Worker[];
}

/** `eagre.interval/1`, as far as it is shown. */
export interface Interval {
  draining: boolean;
  at_s: number;
  interval_s: number;
  ports: Record<string, PortResult>;
  streams: Record<string, StreamResult>;
  sessions?: Record<string, SessionResult>;
}

export interface Method {
  name: string;
  about: string;
  parts: { name: string; settings: Record<string, unknown> }[];
}

export interface Campaign {
  id: string;
  name: string;
  method: string;
  state: State;
  reason: string | null;
  holder: string;
  ports: string[];
  started: string | null;
  ended: string | null;
  fraction: number | null;
  trials_done: number;
  trials_left: number | null;
  left_s: number | null;
  part: string | null;
  label: string | null;
  points?: Point[];
  found: string[];
}

/** What came of one trial. */
export interface Point {
  /** In its part. */
  number: number;
  part: string;
  label: string;
  frame: string;
  offered_pps: number | null;
  sent: number;
  received: number;
  lost: number | null;
  loss_ratio: number | null;
  latency_p50_ns: number | null;
  latency_p99_ns: number | null;
  valid: boolean;
  generator_limited: boolean;
  sessions: { established: number; transactions: number; transactions_failed: number } | null;
  duration_s: number;
}

/** A kept campaign or run. */
export interface Summary {
  id: string;
  name: string;
  method: string;
  started: string;
  ended: string | null;
  state: State;
  tags: string[];
  trials: number;
  invalid: number;
  generator_limited: number;
}

/** `eagre.campaign/1`, as far as it is shown. */
export interface Kept {
  trials: { intervals?: Interval[] }[];
}

export interface Comparison {
  campaigns: Summary[];
  rows: {
    frame: string;
    goal: string;
    unit: string;
    cells: ({ value: number | null; noise: number | null; difference: { ratio: number | null; beyond_noise: boolean | null } | null } | null)[];
  }[];
}

export interface Symptom {
  check: string;
  status: "good" | "note" | "warning" | "bad";
  found: string;
  why: string;
  remedy: string | null;
}
