/** Active runs and campaigns, ports, and starting a profile. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { useDraft, useKept } from "../draft";
import { asked, ProfileEditor } from "../editor";
import { RunFeed, total } from "../feed";
import { bpsL1, duration, pps, seconds, several, si } from "../format";
import { useSource } from "../frame";
import { Action, Badge, overallWords, Panel, Title, verdictWords, Wrong } from "../parts";
import { usePoll } from "../poll";
import { go, to } from "../route";
import { call } from "../server";
import { hasEnded } from "../state";
import type { Campaign, DoctorCheck, Lease, Port, Run } from "../types";
import { useMayRun } from "../who";

/** Runs whose figures are followed here: browsers open few connections to one server. */
const FOLLOWED_MAX = 2;

export function Now() {
  const runs = usePoll<Run[]>("runs", 1_500);
  const campaigns = usePoll<Campaign[]>("campaigns", 2_000);
  const ports = usePoll<Port[]>("ports", 2_000);
  const mayRun = useMayRun();
  const active = (runs.value ?? []).filter((run) => !hasEnded(run));
  const followed = active.slice(0, FOLLOWED_MAX).map((run) => run.id);
  const feeds = useFeeds(followed);
  const testing = (campaigns.value ?? []).filter((campaign) => !hasEnded(campaign));
  return (
    <>
      <Title name="Now" />
      <Warnings />
      <Panel title="Running">
        <Wrong problem={runs.problem ?? campaigns.problem} />
        {runs.value && !active.length && !testing.length && <p class="empty">No active run. Nothing sends.</p>}
        {mayRun && <p><a class="button" href={to("start")}>▶ Start a test</a></p>}
        {active.map((run) => (
          <Running key={run.id} run={run} feed={feeds.get(run.id) ?? null} />
        ))}
        {testing.map((campaign) => (
          <p key={campaign.id} class="row">
            <Badge state={campaign.state} /> <a href={to("campaigns", campaign.id)}>{campaign.name}</a> {campaign.method}
            {`, ${several(campaign.trials_done, "trial")} done`}
            {campaign.left_s != null && `, about ${duration(campaign.left_s)} left`}
          </p>
        ))}
      </Panel>
      <Panel title="Ports">
        <Wrong problem={ports.problem} />
        {ports.value && <Ports ports={ports.value} runs={active} feeds={feeds} mayRun={mayRun} />}
      </Panel>
      {mayRun && <Start />}
      <Panel title="Latest runs">
        <Latest runs={runs.value ?? []} />
      </Panel>
    </>
  );
}

/** Feeds of some runs, opened and closed as the runs come and go. */
function useFeeds(ids: string[]): Map<string, RunFeed> {
  const feeds = useMemo(() => new Map<string, RunFeed>(), []);
  const closers = useMemo(() => new Map<string, () => void>(), []);
  const key = ids.join();
  useEffect(() => {
    for (const id of ids) {
      if (feeds.has(id)) continue;
      const feed = new RunFeed(id);
      feeds.set(id, feed);
      closers.set(id, feed.open(Infinity));
    }
    for (const [id, close] of closers) {
      if (ids.includes(id)) continue;
      close();
      closers.delete(id);
      feeds.delete(id);
    }
  }, [key]);
  useEffect(() => () => closers.forEach((close) => close()), []);
  return feeds;
}

/** The doctor's checks with status `bad`; its page has all of them. */
function Warnings() {
  const doctor = usePoll<DoctorCheck[]>("doctor", 0);
  const bad = (doctor.value ?? []).filter((check) => check.status === "bad");
  if (!bad.length) return null;
  return (
    <div class="note bad">
      {bad.map((check) => (
        <p key={check.check}>
          ✕ {check.check}: {check.found}. {check.remedy}
        </p>
      ))}
      <p>
        <a href={to("doctor")}>All checks</a>
      </p>
    </div>
  );
}

const IDLE = new RunFeed("");

function Running({ run, feed }: { run: Run; feed: RunFeed | null }) {
  useSource(feed ?? IDLE);
  const live = feed?.live;
  const at = live?.at_s ?? run.at_s;
  return (
    <div class="row spread running">
      <span class="row">
        <Badge state={run.state} /> <a href={to("runs", run.id)}>{run.name || run.id}</a>
        <span class="muted">
          {duration(at)}
          {run.duration_s != null && ` of ${duration(run.duration_s)}`}, by {run.holder}, on {run.ports.join(", ")}
        </span>
      </span>
      {live && (
        <b class="figure">
          sends {pps(total(live.ports.tx_pps))}, receives {pps(total(live.ports.rx_pps))}
        </b>
      )}
      {run.warnings.length > 0 && <span class="warn">⚠ {run.warnings[0]}</span>}
    </div>
  );
}

/** Rates of a port by its device, from the runs that are followed. */
function rates(port: Port, runs: Run[], feeds: Map<string, RunFeed>): { tx: number | null; rx: number | null; bits: number | null } | null {
  for (const run of runs) {
    const live = feeds.get(run.id)?.live;
    const index = run.ports.findIndex((name) => name === port.name || name === port.device);
    if (!live || index < 0) continue;
    return { tx: live.ports.tx_pps[index] ?? null, rx: live.ports.rx_pps[index] ?? null, bits: live.ports.tx_bps_l1[index] ?? null };
  }
  return null;
}

/** Releases a leased port: its runs are stopped. Only its holder and admins know the lease. */
function Release({ lease, again }: { lease: Lease | undefined; again: () => void }) {
  const [wrong, setWrong] = useState<unknown>(null);
  if (!lease?.id) return null;
  const release = async () => {
    if (!confirm(`Release ${lease.ports.join(", ")}? Runs on it are stopped.`)) return;
    await call("DELETE", `leases/${encodeURIComponent(lease.id!)}`);
    again();
  };
  return (
    <>
      {" "}
      <Action does={release} failed={setWrong} look="link">
        Release
      </Action>
      <Wrong problem={wrong} />
    </>
  );
}

function Ports({ ports, runs, feeds, mayRun }: { ports: Port[]; runs: Run[]; feeds: Map<string, RunFeed>; mayRun: boolean }) {
  const leases = usePoll<Lease[]>("leases", 2_000);
  const first = [...feeds.values()];
  useSource(first[0] ?? IDLE);
  useSource(first[1] ?? IDLE);
  const leased = leases.value ?? [];
  const of = (port: Port) => leased.find((lease) => lease.ports.includes(port.name));
  // In-process links are ports only while they are open.
  const others = leased.filter((lease) => !ports.some((port) => lease.ports.includes(port.name)));
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">Ports of this machine</caption>
        <thead>
          <tr>
            <th>Port</th>
            <th>Kind</th>
            <th>Link</th>
            <th class="n">Sends</th>
            <th class="n">Receives</th>
            <th>Leased by</th>
            <th>Note</th>
          </tr>
        </thead>
        <tbody>
          {ports.map((port) => {
            const rate = rates(port, runs, feeds);
            return (
              <tr key={port.name}>
                <td class="id">{port.name}</td>
                <td>{port.driver ? `${port.kind}, ${port.driver}` : port.kind}</td>
                <td>
                  {port.up ? "up" : <span class="warn">down</span>}
                  {port.speed_bps != null && `, ${si(port.speed_bps, "bps")}`}
                </td>
                <td class="n">
                  {pps(rate?.tx)}
                  {rate && <div class="muted">{bpsL1(rate.bits)}</div>}
                </td>
                <td class="n">{pps(rate?.rx)}</td>
                <td>
                  {port.lease ? `${port.lease.holder}, ${duration(port.lease.seconds_left)} left` : <span class="muted">free</span>}
                  {port.lease && mayRun && <Release lease={of(port)} again={leases.again} />}
                </td>
                <td>
                  {!port.allowed && <span class="warn">not allowed: </span>}
                  {port.note}
                </td>
              </tr>
            );
          })}
          {others.map((lease) => (
            <tr key={lease.ports.join()}>
              <td class="id">{lease.ports.join(", ")}</td>
              <td colSpan={4}>
                <span class="muted">not an interface of this machine</span>
              </td>
              <td>
                {lease.holder}, {duration(lease.seconds_left)} left
                {mayRun && <Release lease={lease} again={leases.again} />}
              </td>
              <td></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Start() {
  const [chosen, choose] = useDraft("now");
  const [more, setMore] = useKept("now.more", { name: "", rate: "", duration_s: "", seed: "", cores: "" });
  const [wrong, setWrong] = useState<unknown>(null);
  const field = (name: keyof typeof more, label: string, hint: string) => (
    <label class="small">
      {label}
      <input value={more[name]} placeholder={hint} onInput={(event) => setMore({ ...more, [name]: event.currentTarget.value })} />
    </label>
  );
  const start = async () => {
    const body: Record<string, unknown> = { ...asked(chosen), keep: true };
    if (more.name.trim()) body.name = more.name.trim();
    if (more.rate.trim()) body.rate = more.rate.trim();
    if (more.duration_s.trim()) body.duration_s = seconds(more.duration_s);
    for (const name of ["seed", "cores"] as const) {
      if (!more[name].trim()) continue;
      if (!Number.isFinite(Number(more[name]))) throw new Error(`'${more[name]}' is not a number.`);
      body[name] = Number(more[name]);
    }
    const run = await call<Run>("POST", "runs", body);
    go("runs", run.id);
  };
  return (
    <Panel title="Start a profile">
      <ProfileEditor chosen={chosen} choose={choose} />
      <div class="row end">
        {field("duration_s", "Duration", "from the profile")}
        {field("rate", "Rate of each stream", "1Mpps")}
        {field("name", "Name of the run", "from the profile")}
        {field("seed", "Seed", "any")}
        {field("cores", "Worker cores", "1")}
        <Action does={start} failed={setWrong} look="main" disabled={!chosen.good}>
          ▶ Start
        </Action>
      </div>
      <Wrong problem={wrong} />
    </Panel>
  );
}

function Latest({ runs }: { runs: Run[] }) {
  const ended = runs.filter((run) => hasEnded(run)).slice(0, 12);
  if (!ended.length) return <p class="empty">None since the server started.</p>;
  return (
    <div class="scroll">
      <table class="stack">
        <caption class="hidden">Runs that have ended</caption>
        <thead>
          <tr>
            <th>Run</th>
            <th>State</th>
            <th class="n">Duration</th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {ended.map((run) => {
            const words = run.overall ? overallWords(run.overall) : run.verdict && verdictWords(run.verdict);
            return (
              <tr key={run.id}>
                <td>
                  <a href={to("runs", run.id)}>{run.name || run.id}</a> <span class="muted">{run.id}</span>
                </td>
                <td>
                  <Badge state={run.state} achieved={run.achieved} overall={run.overall} />
                </td>
                <td class="n">{duration(run.at_s)}</td>
                <td class={words?.look ?? ""}>{words?.text ?? run.reason ?? ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
