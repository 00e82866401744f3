/** One run: state, controls, charts, tables. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { type Band, Chart, type Line } from "../chart";
import { Controls } from "../control";
import { type Column, RunFeed, total } from "../feed";
import { bps, bpsL1, clock, count, duration, instant, perSecond, pps, ratio, several, time } from "../format";
import { heaviest } from "../disturbance";
import { useSource } from "../frame";
import { lossWords, underWay } from "../loss";
import { achievedWords, Action, Announcement, Badge, Note, Notes, OutcomeBand, overallWords, Panel, Tile, Title, verdictWords, Wrong } from "../parts";
import { LiveProtocols, ProtocolResults } from "../protocols";
import { go, Options, show, to, written } from "../route";
import { call, read, save } from "../server";
import { useSignal } from "../signal";
import { fromLive, fromResult } from "../rows";
import { Streams } from "../streams";
import { Agents, Ports, Sessions, Variation, Workers } from "../tables";
import type { Archive, IntervalDocument, ResultDocument, Run } from "../types";
import { useMayRun } from "../who";
import { edit } from "./start";

/** The feed on the page, for measurements of the page itself. */
export const shownFeed: { current: RunFeed | null } = { current: null };

export function RunPage({ id }: { id: string }) {
  const [problem, setProblem] = useState<unknown>(null);
  const feed = useMemo(() => new RunFeed(id), [id]);
  useEffect(() => {
    shownFeed.current = feed;
    let close = () => undefined as void;
    let gone = false;
    const begin = async () => {
      const run = await read<Run>(`runs/${encodeURIComponent(id)}`);
      if (gone) return;
      feed.take("run", run);
      if (feed.ended) await readEnded(feed);
      else close = feed.open(run.names.streams.length);
    };
    begin().catch(setProblem);
    return () => {
      gone = true;
      close();
      shownFeed.current = null;
    };
  }, [feed]);
  useSource(feed);
  if (problem || feed.refused) return <NotHere id={id} problem={problem ?? feed.refused} />;
  if (!feed.run) return <Title name={`Run ${id}`} />;
  return <Shown feed={feed} run={feed.run} />;
}

/** Runs with more streams have large documents. */
const INTERVALS_OF_STREAMS_MAX = 2_000;

/** A run that ended earlier: its result, and its intervals if they are stored. */
async function readEnded(feed: RunFeed): Promise<void> {
  const id = encodeURIComponent(feed.id);
  const result = await read<ResultDocument>(`runs/${id}/result`).catch(() => null);
  if (result) feed.take("result", result);
  if (feed.run!.names.streams.length > INTERVALS_OF_STREAMS_MAX) return;
  const stored = await read<{ trials: { intervals: IntervalDocument[] }[] }>(`results/${id}`).catch(() => null);
  feed.takeIntervals(stored?.trials[0]?.intervals ?? []);
}

function NotHere({ id, problem }: { id: string; problem: unknown }) {
  return (
    <>
      <Title name={`Run ${id}`} />
      <Wrong problem={problem} />
      <p>
        If it was stored, it is among the <a href={to("results", id)}>results</a>.
      </p>
    </>
  );
}

function Shown({ feed, run }: { feed: RunFeed; run: Run }) {
  const { names } = run;
  const options = new Options(useSignal(written));
  const found = names.streams.indexOf(options.text("stream") ?? "");
  const chosen = found < 0 ? null : found;
  const choose = (index: number | null) => show({ stream: index === null ? null : (names.streams[index] ?? null) });
  const stream = chosen === null ? null : names.streams[chosen]!;
  const running = !feed.ended;
  const mayRun = useMayRun();
  const about = useMemo(() => <About run={run} />, [run]);
  const table = feed.result ? fromResult(feed.result, names.streams) : feed.live ? fromLive(feed.live) : null;
  return (
    <>
      <Head feed={feed} run={run} />
      {running && mayRun && <Controls run={run} stream={stream} changed={(next) => feed.take("run", next)} />}
      <Figures feed={feed} />
      <Charts feed={feed} chosen={chosen} stream={stream} clear={() => choose(null)} range={options.range()} />
      {names.sessions.length > 0 && (
        <Panel title="Sessions">
          <Sessions names={names} live={feed.live} result={feed.result} />
        </Panel>
      )}
      {names.streams.length > 0 && table && (
        <Panel title="Streams">
          <Streams names={names.streams} table={table} running={running} chosen={chosen} choose={choose} />
        </Panel>
      )}
      {feed.result && names.streams.length > 0 && (
        <Panel title="Delay variation and pacing">
          <Variation names={names} result={feed.result} />
        </Panel>
      )}
      {running && <LiveProtocols id={run.id} />}
      {feed.result && <ProtocolResults result={feed.result} />}
      <Panel title="Ports">
        <Ports names={names} live={feed.live} result={feed.result} />
      </Panel>
      {!!feed.result?.agents?.length && (
        <Panel title="Machines">
          <Agents agents={feed.result.agents} />
        </Panel>
      )}
      <Panel title="Tester cores">
        <Workers live={feed.live} result={feed.result} />
      </Panel>
      {about}
    </>
  );
}

function Head({ feed, run }: { feed: RunFeed; run: Run }) {
  const at = feed.ended ? run.at_s : (feed.live?.at_s ?? run.at_s);
  const verdict = run.verdict ?? (feed.ended ? feed.result?.verdict : null);
  const said = verdict ? verdictWords(verdict) : null;
  const achieved = run.achieved ?? (feed.ended ? feed.result?.achieved : null);
  const success = achieved ? achievedWords(achieved) : null;
  const overall = run.overall ?? (feed.ended ? feed.result?.overall : null);
  const criteria = (feed.ended && feed.result?.criteria) || [];
  // The band has the colour of the outcome: beside it, figures in doubt are a warning.
  const words = said && overall && said.look === "bad" ? { ...said, look: "warn" as const } : said;
  const state = run.state === "running" && feed.live?.draining ? "draining" : run.state;
  return (
    <section aria-label="State">
      <div class="row">
        <Title name={`Run ${run.name || run.id}`}>{run.name || run.id}</Title>
        <Badge state={state} achieved={achieved} overall={overall} />
        <span class="muted figure">
          {duration(at)}
          {run.duration_s != null && ` of ${duration(run.duration_s)}`}
        </span>
      </div>
      {run.duration_s != null && !feed.ended && <progress aria-label="Progress of the run" max={run.duration_s} value={Math.min(at, run.duration_s)} />}
      {overall && <OutcomeBand overall={overall} criteria={criteria} />}
      {success && overall?.reason !== achieved?.summary && <Note words={success} />}
      {words && <Note words={words} />}
      <Notes notes={verdict?.notes ?? []} />
      {run.reason && <p class="note warn">{run.reason}</p>}
      {run.warnings.map((warning) => (
        <p class="note warn" key={warning}>
          ⚠ {warning}
        </p>
      ))}
      {run.refused_changes.map((refusal, i) => (
        <p class="note warn" key={i}>
          ⚠ Change refused: {refusal}
        </p>
      ))}
      <Announcement text={`Run ${run.name}: ${state}. ${overall ? overallWords(overall).text : ""} ${success?.text ?? ""} ${words?.text ?? ""}`} />
    </section>
  );
}

/** Time without its core from which on a worker has no reserve, s. */
const TAKEN_S = 0.1;

/** The most important figures, large. */
function Figures({ feed }: { feed: RunFeed }) {
  const { live, result, run } = feed;
  const ports = result ? Object.values(result.ports) : null;
  const sum = (name: "tx_pps" | "rx_pps" | "tx_bps_l1" | "rx_bps_l1") => (ports ? total(ports.map((port) => port[name])) : total(live?.ports[name]));
  const streams = result ? Object.values(result.streams) : null;
  const sent = streams ? total(streams.map((stream) => (stream.lost == null ? null : stream.tx))) : total(live?.streams.tx);
  const lost = streams ? total(streams.map((stream) => stream.lost ?? null)) : feed.missing;
  const loss = lossWords(lost, sent, result ? 0 : underWay(sum("tx_pps") ?? 0, live?.latency?.max_ns ?? null));
  const worst = (name: "p50" | "p99" | "max") => Math.max(...(streams ?? []).map((stream) => stream.latency_ns?.[name] ?? -Infinity));
  const busiest = Math.max(0, ...(result?.workers ?? live?.workers ?? []).map((worker) => worker.busy_ratio));
  const taken = Math.max(0, ...(result?.workers ?? []).map((worker) => Math.max(worker.waited_s ?? 0, (worker.stall_max_ns ?? 0) / 1e9)));
  const room = busiest >= 0.95 ? "near its limit" : taken >= TAKEN_S ? `was taken away for ${time(taken * 1e9)}` : "has room";
  const any = (run?.names.streams.length ?? 0) > 0;
  return (
    <dl class="tiles" aria-label="Figures now">
      <Tile name={result ? "Sent, mean" : "Sends"} value={pps(sum("tx_pps"))} more={bpsL1(sum("tx_bps_l1"))} />
      <Tile name={result ? "Received, mean" : "Receives"} value={pps(sum("rx_pps"))} more={bpsL1(sum("rx_bps_l1"))} />
      {any && <Tile name="Loss" value={loss.text} more={loss.more} bad={loss.bad} />}
      {any && <Tile name="Latency p50" value={time(streams ? worst("p50") : live?.latency?.p50_ns)} more={streams ? "largest of any stream" : "median now"} />}
      {any && <Tile name="Latency p99" value={time(streams ? worst("p99") : live?.latency?.p99_ns)} more={`max ${time(streams ? worst("max") : live?.latency?.max_ns)}`} />}
      {(run?.names.sessions.length ?? 0) > 0 && <SessionTile feed={feed} />}
      <Tile name="Busiest core" value={ratio(busiest)} more={room} bad={busiest >= 0.95} />
    </dl>
  );
}

function SessionTile({ feed: { live, result } }: { feed: RunFeed }) {
  const ended = result?.sessions && Object.values(result.sessions);
  const open = ended ? total(ended.map((s) => s.open_per_s ?? null)) : total(live?.sessions.open_per_s);
  const failed = ended ? total(ended.map((s) => total(Object.values(s.failed ?? {})) ?? 0)) : total(live?.sessions.failed);
  return <Tile name="Sessions opened" value={perSecond(open)} more={failed ? `${count(failed)} failed` : "none failed"} bad={!!failed} />;
}

const RATES: Line[] = [
  { label: "sent", look: 1, format: pps },
  { label: "received", look: 2, format: pps },
];
const BITS: Line[] = RATES.map((line) => ({ ...line, format: bpsL1 }));
const LATENCIES: Line[] = [
  { label: "p50", look: 3, format: time },
  { label: "p90", look: 1, format: time },
  { label: "p95", look: 6, format: time },
  { label: "p99", look: 5, format: time },
  { label: "p99.9", look: 4, format: time },
  { label: "max", look: 2, format: time },
];
const OF_STREAM: Line[] = LATENCIES.filter((line) => !["p90", "p95", "p99.9"].includes(line.label));
const LOSS: Line[] = [{ label: "lost", look: 2, format: ratio }];
const OPEN: Line[] = [{ label: "open", look: 1, format: count }];
const PER_SECOND: Line[] = [
  { label: "opened", look: 1, format: perSecond },
  { label: "transactions", look: 2, format: perSecond },
];
const GOODPUT: Line[] = [{ label: "goodput", look: 3, format: bps }];

interface Charted {
  feed: RunFeed;
  chosen: number | null;
  stream: string | null;
  clear: () => void;
  /** The part of the time to show, s. */
  range: [number, number] | null;
}

function Charts({ feed, chosen, stream, clear, range }: Charted) {
  const [recent, setRecent] = useState(true);
  const [bits, setBits] = useState(false);
  const recently = recent && !feed.ended && !range;
  const view = (columns: Column[]) => () => (chosen === null ? feed.view(columns, recently) : feed.viewStream(chosen, columns, recently));
  const version = `${feed.version} ${recently} ${chosen}`;
  const select = (from: number, to: number) => show({ from, to });
  const common = { version, group: "time", x: clock, quiet: feed.ended, bands: () => feed.bands, range, select };
  const { streams, sessions } = feed.run!.names;
  const one = chosen !== null;
  const showBits = bits && !one;
  return (
    <Panel title={stream === null ? "Over time" : `Over time: only stream ${stream}`}>
      <div class="row spread">
        <div class="row">
          {!feed.ended && !range && <Choice label="Time" value={recent} set={setRecent} yes="last minute" no={one ? "all available" : "whole run"} />}
          {!one && <Choice label="Rates in" value={!bits} set={(packets) => setBits(!packets)} yes="packets" no="bits" />}
          {(feed.ended ? feed.whole.length > 0 : range) && <Range range={range} end={feed.whole.end} />}
        </div>
        {one && (
          <button type="button" onClick={clear}>
            Show all streams
          </button>
        )}
      </div>
      {(feed.whole.length > 0 || !feed.ended) && <div class={`columns charts${streams.length ? " tall" : ""}`}>
        <Chart {...common} title="Rate" note={showBits ? "layer 1" : "packets per second"} lines={showBits ? BITS : RATES} view={view(showBits ? ["tx_bps_l1", "rx_bps_l1"] : ["tx_pps", "rx_pps"])} y={showBits ? bps : pps} />
        {streams.length > 0 && (
          <Chart {...common} title="Latency" note={`each interval, log scale${feed.ended && !feed.live ? ", largest of any stream" : ""}`} log
            lines={one ? OF_STREAM : LATENCIES} view={view(one ? ["p50_ns", "p99_ns", "max_ns"] : ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns"])} y={time} />
        )}
        {streams.length > 0 && <Chart {...common} title="Loss" note="share of the last second's packets" lines={LOSS} view={view(["loss_ratio"])} y={ratio} least={0.0001} />}
        {sessions.length > 0 && !one && <Chart {...common} title="Sessions open" lines={OPEN} view={view(["active"])} y={(v) => (Number.isInteger(v) ? count(v) : "")} />}
        {sessions.length > 0 && !one && <Chart {...common} title="Sessions and transactions" note="per second" lines={PER_SECOND} view={view(["open_per_s", "transactions_per_s"])} y={perSecond} />}
        {sessions.length > 0 && !one && <Chart {...common} title="Goodput" note="application data" lines={GOODPUT} view={view(["rx_bps_goodput"])} y={bps} />}
      </div>}
      <Disturbances bands={feed.bands} />
      {!feed.whole.length && <p class="empty">{feed.ended ? "This run has no stored intervals." : "Waiting for data …"}</p>}
    </Panel>
  );
}

/** Disturbances that are listed. */
const LISTED_MAX = 8;

/** When the tester was disturbed, and how, the longest first. */
function Disturbances({ bands }: { bands: Band[] }) {
  if (!bands.length) return null;
  const worst = heaviest(bands).slice(0, LISTED_MAX);
  return (
    <details class="note warn">
      <summary>⚠ The tester was disturbed {several(bands.length, "time")}: marked below the charts.</summary>
      <ul>
        {worst.map((band) => (
          <li key={band.to}>
            until {time(band.to * 1e9)}: {band.about}
          </li>
        ))}
        {bands.length > worst.length && <li>and {count(bands.length - worst.length)} shorter</li>}
      </ul>
    </details>
  );
}

/** Which part of the time the charts show: typed here, or dragged over in a chart. It is in the address. */
function Range({ range, end }: { range: [number, number] | null; end: number }) {
  const bound = (name: "from" | "to", label: string, value: number) => (
    <label class="small">
      {label}
      <input
        type="number"
        min="0"
        step="any"
        value={Math.round(value * 1000) / 1000}
        onChange={(event) => show({ from: range?.[0] ?? 0, to: range?.[1] ?? end, [name]: Number(event.currentTarget.value) })}
      />
    </label>
  );
  return (
    <>
      {bound("from", "From, s", range?.[0] ?? 0)}
      {bound("to", "to, s", range?.[1] ?? end)}
      {range && (
        <button type="button" onClick={() => show({ from: null, to: null })}>
          Whole run
        </button>
      )}
    </>
  );
}

function Choice({ label, value, set, yes, no }: { label: string; value: boolean; set: (value: boolean) => void; yes: string; no: string }) {
  return (
    <label>
      {label}
      <select value={value ? "yes" : "no"} onChange={(event) => set(event.currentTarget.value === "yes")}>
        <option value="yes">{yes}</option>
        <option value="no">{no}</option>
      </select>
    </label>
  );
}

/** Repeating the run: unchanged, edited, or by the command line. */
function Again({ run, failed }: { run: Run; failed: (problem: unknown) => void }) {
  const mayRun = useMayRun();
  const [copied, setCopied] = useState(false);
  const id = encodeURIComponent(run.id);
  const profile = async () => (await read<Archive>(`results/${id}`)).campaign.profile;
  const again = async () => {
    const body = { profile: await profile(), name: run.name, seed: run.seed, duration_s: run.duration_s || undefined, keep: true };
    go("runs", (await call<Run>("POST", "runs", body)).id);
  };
  const copy = async () => {
    await navigator.clipboard.writeText(command(run));
    setCopied(true);
  };
  return (
    <>
      {mayRun && <Action does={again} failed={failed}>Run again</Action>}
      {mayRun && <Action does={async () => edit(await profile())} failed={failed}>Edit and run</Action>}
      <Action does={copy} failed={failed}>{copied ? "Copied" : "Copy as command"}</Action>
      <Action does={() => save(`runs/${id}/result`, `${run.id}.json`)} failed={failed}>Download JSON</Action>
    </>
  );
}

/** Command that repeats the run in a shell on the server's machine. */
function command(run: Run): string {
  const file = `${run.name.replace(/[^\w.-]+/g, "-") || "profile"}.yaml`;
  const time = run.duration_s ? ` --duration ${run.duration_s}s` : "";
  return `eagre results profile ${run.id} -o ${file} && eagre run ${file} --seed ${run.seed}${time}`;
}

/** Origin of the run and its rate changes. */
function About({ run }: { run: Run }) {
  const [wrong, setWrong] = useState<unknown>(null);
  return (
    <Panel title="About this run">
      <p>
        <code>{run.id}</code>, by {run.holder} on {run.ports.join(", ")}, {several(run.names.streams.length, "stream")}, seed {run.seed}, started {instant(run.started)}
        {run.ended && `, ended ${instant(run.ended)}`}.
      </p>
      {run.rate_changes.length > 0 && (
        <ul>
          {run.rate_changes_in_all > run.rate_changes.length && (
            <li>{several(run.rate_changes_in_all - run.rate_changes.length, "earlier change")}</li>
          )}
          {run.rate_changes.map((change, i) => (
            <li key={i}>{change}</li>
          ))}
        </ul>
      )}
      <div class="row">
        {run.ended && <a class="button" href={to("results", run.id)}>Stored result and report</a>}
        {run.ended && <Again run={run} failed={setWrong} />}
        {run.captures.map((port) => (
          <button type="button" key={port} onClick={() => save(`runs/${encodeURIComponent(run.id)}/captures/${encodeURIComponent(port)}`, `${run.id}-${port}.pcapng`).catch(setWrong)}>
            Save capture of {port}
          </button>
        ))}
      </div>
      <Wrong problem={wrong} />
    </Panel>
  );
}
