/** Ports, sessions and workers of a run, live or from its result. */

import { bps, bpsL1, count, NONE, perSecond, pps, ratio, several, time } from "./format";
import type { AgentResult, Live, Names, ResultDocument } from "./types";

type Figure = number | null | undefined;

interface Of {
  names: Names;
  live: Live | null;
  result: ResultDocument | null;
}

export interface Row {
  name: string;
  cells: preact.ComponentChildren[];
  /** Key of the row, if names are not unique. */
  key?: string;
}

export function Table({ caption, heads, rows, narrow }: { narrow?: boolean; caption: string; heads: string[]; rows: Row[] }) {
  return (
    <div class="scroll">
      <table class={narrow ? "narrow" : ""}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {heads.map((head, i) => (
              <th key={head} class={i ? "n" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key ?? row.name}>
              <td>{row.name}</td>
              {row.cells.map((cell, i) => (
                <td key={i} class="n">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Something wrong: red, and a sign. */
const wrong = (value: Figure, text: string) => (value ? <span class="bad">✕ {text}</span> : text);

export function Ports({ names, live, result }: Of) {
  const rows = names.ports.map((name, i) => {
    const end = result?.ports[name];
    const now = live?.ports;
    const errors = Object.entries(end?.rx_errors ?? {});
    const cells = [
      pps(end ? end.tx_pps : now?.tx_pps[i]),
      pps(end ? end.rx_pps : now?.rx_pps[i]),
      bpsL1(end ? end.tx_bps_l1 : now?.tx_bps_l1[i]),
      bpsL1(end ? end.rx_bps_l1 : now?.rx_bps_l1[i]),
      count(end ? end.tx_packets : now?.tx_packets[i]),
      count(end ? end.rx_packets : now?.rx_packets[i]),
    ];
    if (!result) return { name, cells };
    const dropped = errors.filter(([, n]) => n > 0).map(([reason, n]) => `${count(n)} ${reason}`);
    return { name, cells: [...cells, wrong(end?.tx_unsent, count(end?.tx_unsent)), wrong(dropped.length, dropped.join(", ") || "none")] };
  });
  const heads = ["Port", "Sends", "Receives", "Sends, bits", "Receives, bits", "Sent", "Received"];
  return <Table caption="Ports of the run" heads={result ? [...heads, "Due, not sent", "Receive errors"] : heads} rows={rows} />;
}

export function Sessions({ names, live, result }: Of) {
  const rows = names.sessions.map((name, i) => {
    const end = result?.sessions?.[name];
    const now = live?.sessions;
    const reasons = Object.entries(end?.failed ?? {});
    const failed = end ? reasons.reduce((sum, [, n]) => sum + n, 0) : now?.failed?.[i];
    const why = reasons.map(([reason, n]) => `${count(n)} ${reason}`).join(", ");
    return {
      name,
      cells: [
        count(end ? end.active : now?.active?.[i]),
        perSecond(end ? end.open_per_s : now?.open_per_s?.[i]),
        perSecond(end ? end.transactions_per_s : now?.transactions_per_s?.[i]),
        bps(end ? end.rx_bps_goodput : now?.rx_bps_goodput?.[i]),
        ...(result ? [count(end?.attempted)] : []),
        count(end ? end.established : now?.established?.[i]),
        wrong(failed, `${count(failed)}${failed ? ` failed${why ? `: ${why}` : ""}` : ""}`),
      ],
    };
  });
  const attempted = result ? ["Attempted"] : [];
  const heads = ["Sessions", "Open", "Opened", "Transactions", "Goodput", ...attempted, "Established", "Failed"];
  return (
    <>
      <Table caption="Sessions of the run" heads={heads} rows={rows} />
      {result && <SessionTimes names={names.sessions} result={result} />}
    </>
  );
}

/** Durations of sessions: set-up, first and last byte. */
function SessionTimes({ names, result }: { names: string[]; result: ResultDocument }) {
  const kinds = [["setup_ns", "set-up"], ["ttfb_ns", "first byte"], ["ttlb_ns", "last byte"]] as const;
  const rows = names.flatMap((name) =>
    kinds.flatMap(([key, what]) => {
      const times = result.sessions?.[name]?.[key];
      if (!times) return [];
      return [{ name: `${name}: ${what}`, cells: [times.p50, times.p90, times.p95, times.p99, times.max].map(time) }];
    }),
  );
  return rows.length ? <Table caption="Times of sessions" heads={["Time to", "p50", "p90", "p95", "p99", "Max"]} rows={rows} /> : null;
}

/** Streams that are shown; all are in the result. More than the first few unfold. */
const STREAMS_MAX = 100;
const UNFOLDED_MAX = 12;

/** Pacing of packets sent and received, and variation of their delay. */
export function Variation({ names, result }: { names: Names; result: ResultDocument }) {
  const rows = names.streams.slice(0, STREAMS_MAX).map((name) => {
    const { latency_ns, jitter_ns, interarrival_ns, pacing_ns } = result.streams[name] ?? {};
    return {
      name,
      cells: [
        time(latency_ns?.mean), time(latency_ns?.stddev), time(jitter_ns?.rfc3550), time(jitter_ns?.rfc4689_mean), time(interarrival_ns?.mean),
        time(interarrival_ns?.stddev), time(pacing_ns?.error_p99), ratio(pacing_ns?.back_to_back_ratio), time(pacing_ns?.late_max),
      ],
    };
  });
  const left = names.streams.length - rows.length;
  const heads = [
    "Stream", "Latency, mean", "Std. deviation", "Jitter, RFC 3550", "Jitter, RFC 4689", "Between arrivals", "Its std. deviation",
    "Gap error, 99%", "Back to back", "Latest departure",
  ];
  const caption = "Delay variation, time between arrivals and pacing of the streams";
  if (rows.length <= UNFOLDED_MAX) return <Table caption={caption} heads={heads} rows={rows} />;
  return (
    <details>
      <summary>{left > 0 ? `The first ${count(rows.length)} of ${several(names.streams.length, "stream")}` : several(rows.length, "stream")}</summary>
      <Table caption={caption} heads={heads} rows={rows} />
      {left > 0 && <p class="muted">{several(left, "more stream")} in the result document.</p>}
    </details>
  );
}

/** Load from which on a worker is near its limit. */
const NEARLY_FULL = 0.95;

export function Workers({ live, result }: Omit<Of, "names">) {
  const workers = result?.workers ?? live?.workers ?? [];
  return (
    <Table
      narrow
      caption="Load of the tester's cores"
      heads={["Core", "Busy", "", ...(result ? ["Waited for its core", "Longest standstill"] : [])]}
      rows={workers.map((worker) => ({
        name: worker.core == null ? "any core" : `core ${worker.core}`,
        cells: [
          <>
            <span class="bar" aria-hidden="true">
              <i style={{ width: `${Math.round(Math.min(1, worker.busy_ratio) * 100)}%` }} />
            </span>{" "}
            {ratio(worker.busy_ratio)}
          </>,
          worker.busy_ratio >= NEARLY_FULL ? <span class="warn">⚠ near its limit</span> : "has room",
          ...("stall_max_ns" in worker ? [time(worker.waited_s == null ? null : worker.waited_s * 1e9), time(worker.stall_max_ns)] : []),
        ],
      }))}
    />
  );
}

const CLOCKS: Record<string, string> = { shared: "the controller's own", exchange: "compared by messages" };

/** Machines of a run on several: how their clocks were compared, and how far they can be trusted. */
export function Agents({ agents }: { agents: AgentResult[] }) {
  const rows = agents.map((agent) => ({
    name: agent.name,
    cells: [
      agent.version, agent.ports.join(", "), count(agent.workers), CLOCKS[agent.clock] ?? agent.clock, signed(agent.offset_ns), `± ${time(agent.uncertainty_ns)}`,
      agent.drift_ppb == null ? NONE : `${agent.drift_ppb.toPrecision(3)} ppb`, agent.start_error_ns == null ? NONE : began(agent.start_error_ns),
    ],
  }));
  return <Table caption="Machines of the run" heads={["Agent", "Version", "Ports", "Workers", "Clock", "Offset", "Uncertainty", "Drift", "Began"]} rows={rows} />;
}

const signed = (ns: number) => `${ns < 0 ? "−" : ""}${time(Math.abs(ns))}`;
const began = (ns: number) => (ns === 0 ? "in time" : `${time(Math.abs(ns))} ${ns < 0 ? "early" : "late"}`);
