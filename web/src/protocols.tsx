/** Control protocols of a run's hosts: their state while it runs, and at the end in its result. */

import { duration, NONE, several } from "./format";
import { Announcement, Panel } from "./parts";
import { usePoll } from "./poll";
import type { Kind, Outcome } from "./protocols/kind";
import { type Key, KINDS, OUTCOMES } from "./protocols/list";
import { type Row, Table } from "./tables";
import type { PortResult, ProtocolStates, ResultDocument } from "./types";

/** Rows of each kind that are shown; all are in the API's response without `limit`. */
const SHOWN_MAX = 100;
/** Polling interval, ms. */
const EVERY_MS = 1_000;

const KEYS = Object.keys(KINDS) as Key[];
const NEIGHBOURS = KEYS.flatMap((key) => KINDS[key].neighbours ?? []);

/** Protocols of an active run, polled if there are any. */
export function LiveProtocols({ id }: { id: string }) {
  const path = `runs/${encodeURIComponent(id)}/protocols?limit=${SHOWN_MAX}`;
  const first = usePoll<ProtocolStates>(path, 0).value;
  return first && KEYS.some((key) => first.counts[KINDS[key].total] > 0) ? <Polled path={path} first={first} /> : null;
}

function Polled({ path, first }: { path: string; first: ProtocolStates }) {
  const states = usePoll<ProtocolStates>(path, EVERY_MS).value ?? first;
  const { counts } = states;
  const here = KEYS.filter((key) => counts[KINDS[key].total] > 0);
  const judged = here.filter((key) => KINDS[key].up);
  const settled = judged.every((key) => counts[KINDS[key].up!] === counts[KINDS[key].total]);
  const off = (key: Key) => {
    const { disabled } = KINDS[key];
    const rows = states[key] as { port: string; is_down?: boolean }[];
    const ports = disabled ? rows.filter((row) => row.is_down).map((row) => row.port) : [];
    return ports.length > 0 && <p key={key} class="muted">{disabled} is disabled on {ports.join(", ")}.</p>;
  };
  return (
    <Panel title="Protocols">
      <p>{here.map((key) => KINDS[key].said(counts)).join(" · ")}.</p>
      {judged.length > 0 && <Announcement text={settled ? "All sessions, leases and LAGs are up." : "Not all sessions, leases and LAGs are up."} />}
      {here.map(off)}
      {here.map((key) => <States key={key} kind={KINDS[key] as Kind<unknown>} rows={states[key]} of={counts[KINDS[key].total]} />)}
      {NEIGHBOURS.map(({ caption, total, heads, now }) => <Listed key={caption} caption={caption} of={counts[total]} rows={now(states)} heads={heads} />)}
    </Panel>
  );
}

function States<T>({ kind, rows, of }: { kind: Kind<T>; rows: T[]; of: number }) {
  const table = rows.map((row) => ({ key: kind.key(row), name: kind.name(row), cells: kind.columns.map(([, cell]) => cell(row)) }));
  return <Listed caption={kind.caption} of={of} rows={table} heads={[kind.one, ...kind.columns.map(([head]) => head)]} />;
}

function Listed({ caption, heads, rows, of }: { caption: string; heads: string[]; rows: Row[]; of: number }) {
  if (!rows.length) return null;
  return (
    <>
      <Table caption={caption} heads={heads} rows={rows} />
      {of > rows.length && <p class="muted">{several(of - rows.length, "more row")} at <code>/runs/…/protocols</code>.</p>}
    </>
  );
}

/** Protocols at the end of a run. */
export function ProtocolResults({ result }: { result: ResultDocument }) {
  const ports = Object.entries(result.ports);
  const rows = ports.flatMap(([port, end]) => outcomes(port, end));
  const neighbours = NEIGHBOURS.map((kind) => ({ ...kind, rows: ports.flatMap(([port, end]) => kind.ended(port, end)) }));
  const kinds = Object.values(KINDS) as Kind<unknown>[];
  const ended = kinds.map((kind) => ({ kind, rows: ports.flatMap(([port, end]) => kind.ended?.(port, end) ?? []) }));
  const programs = (result.protocols ?? []).map((one) => ({
    name: one.name, cells: [one.up_after_s == null ? NONE : duration(one.up_after_s), one.ended ? <span class="bad">✕ {one.ended}</span> : "ran to the end", one.logs.join(", ")],
  }));
  if (!rows.length && !programs.length) return null;
  return (
    <Panel title="Protocols">
      {rows.length > 0 && <Table caption="Protocols of the ports" heads={["Protocol", "At the end", "Before traffic", "Sent", "Received", "Lost"]} rows={rows} />}
      {ended.map(({ kind, rows }) => <States key={kind.caption} kind={kind} of={rows.length} rows={rows.slice(0, SHOWN_MAX)} />)}
      {neighbours.map(({ caption, heads, rows }) => <Listed key={caption} caption={`${caption} at the end`} of={rows.length} rows={rows.slice(0, SHOWN_MAX)} heads={heads} />)}
      {programs.length > 0 && <Table caption="Programs that ran control protocols" heads={["Program", "Up after", "End", "Log files"]} rows={programs} />}
    </Panel>
  );
}

function outcomes(port: string, end: PortResult): Row[] {
  return Object.entries(OUTCOMES).flatMap(([key, outcome]) => {
    const [name, cells] = outcome as Outcome<unknown>;
    const found = end[key as keyof PortResult];
    return found ? [{ name: `${port}: ${name}`, cells: cells(found) }] : [];
  });
}
