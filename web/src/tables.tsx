/** Ports, sessions and workers of a run, live or from its result. */

import { bps, bpsL1, count, perSecond, pps, ratio } from "./format";
import type { Live, Names, ResultDocument } from "./types";

type Figure = number | null | undefined;

interface Of {
  names: Names;
  live: Live | null;
  result: ResultDocument | null;
}

function Table({ caption, heads, rows, narrow }: { narrow?: boolean; caption: string; heads: string[]; rows: { name: string; cells: preact.ComponentChildren[] }[] }) {
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
            <tr key={row.name}>
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
        count(end ? end.established : now?.established?.[i]),
        wrong(failed, `${count(failed)}${failed ? ` failed${why ? `: ${why}` : ""}` : ""}`),
      ],
    };
  });
  return <Table caption="Sessions of the run" heads={["Sessions", "Open", "Opened", "Transactions", "Goodput", "Established", "Failed"]} rows={rows} />;
}

/** Load from which on a worker is near its limit. */
const NEARLY_FULL = 0.95;

export function Workers({ live, result }: Omit<Of, "names">) {
  const workers = result?.workers ?? live?.workers ?? [];
  return (
    <Table
      narrow
      caption="Load of the tester's cores"
      heads={["Core", "Busy", ""]}
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
        ],
      }))}
    />
  );
}
