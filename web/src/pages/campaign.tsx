/** One campaign: progress, curves that grow trial by trial, findings. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart, type Line, widen } from "../chart";
import { curve, isTrusted, type Of } from "../curve";
import { total } from "../feed";
import { bps, count, duration, inUnit, perSecond, pps, ratio, several, time } from "../format";
import { Source, useSource } from "../frame";
import { Action, Announcement, Badge, OutcomeBand, Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import { Options, show, to, written } from "../route";
import { call, follow, read, type Problem } from "../server";
import { useSignal } from "../signal";
import { hasEnded } from "../state";
import { Table } from "../tables";
import type { Campaign, Comparison, ComparisonRow, Live, Point } from "../types";
import { useMayRun } from "../who";

type Cell = NonNullable<ComparisonRow["cells"][number]>;

/** State of a campaign, from its events. */
class CampaignFeed extends Source {
  campaign: Campaign | null = null;
  live: Live | null = null;
  refused: Problem | null = null;
  /** In the order in which they came. */
  points: Point[] = [];
  private readonly known = new Map<string, number>();

  constructor(readonly id: string) {
    super();
  }

  get path(): string {
    return `campaigns/${encodeURIComponent(this.id)}`;
  }

  open(): () => void {
    return follow(`${this.path}/events`, (name, data) => this.take(name, data), (problem) => {
      this.refused = problem;
      this.changed();
    });
  }

  take(name: string, data: unknown): boolean {
    if (name === "campaign") this.campaign = data as Campaign;
    if (name === "point") this.add([data as Point]);
    if (name === "live") this.live = data as Live;
    const ended = this.campaign !== null && hasEnded(this.campaign);
    if (ended) this.live = null;
    this.changed();
    return name === "campaign" && ended;
  }

  add(points: Point[]): void {
    for (const point of points) {
      const key = `${point.part}/${point.number}`;
      const index = this.known.get(key) ?? this.points.length;
      this.known.set(key, index);
      this.points[index] = point;
    }
  }
}

export function CampaignPage({ id }: { id: string }) {
  const feed = useMemo(() => new CampaignFeed(id), [id]);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    let close = () => undefined as void;
    let gone = false;
    const begin = async () => {
      const campaign = await read<Campaign>(feed.path);
      if (gone) return;
      feed.add(campaign.points ?? []);
      if (!feed.take("campaign", campaign)) close = feed.open();
    };
    begin().catch(setProblem);
    return () => {
      gone = true;
      close();
    };
  }, [feed]);
  useSource(feed);
  const { campaign } = feed;
  if (problem || feed.refused) {
    return (
      <>
        <Title name={`Campaign ${id}`} />
        <Wrong problem={problem ?? feed.refused} />
        <p>
          If it was stored, it is among the <a href={to("results", id)}>results</a>.
        </p>
      </>
    );
  }
  if (!campaign) return <Title name={`Campaign ${id}`} />;
  return (
    <>
      <Head feed={feed} campaign={campaign} />
      {hasEnded(campaign) && <Matrix id={campaign.id} />}
      <Found campaign={campaign} />
      <Curves points={feed.points} version={feed.version} ended={hasEnded(campaign)} />
      <Panel title="Trials">
        <Trials points={feed.points} ended={hasEnded(campaign)} />
      </Panel>
    </>
  );
}

function Head({ feed, campaign }: { feed: CampaignFeed; campaign: Campaign }) {
  const [wrong, setWrong] = useState<unknown>(null);
  const ended = hasEnded(campaign);
  const mayRun = useMayRun();
  const expected = campaign.trials_done + (campaign.trials_left ?? 0);
  const share = campaign.trials_left ? campaign.trials_done / expected : null;
  const now = [campaign.part, campaign.label].filter(Boolean).join(": ");
  const stop = async () => {
    const said = await call<Campaign | undefined>("POST", `${feed.path}/stop`);
    if (said) feed.take("campaign", said);
  };
  return (
    <section aria-label="State">
      <div class="row spread">
        <div class="row">
          <Title name={`Campaign ${campaign.name || campaign.id}`}>{campaign.name || campaign.id}</Title>
          <span>{campaign.method}</span>
          <Badge state={campaign.state} overall={campaign.overall} />
        </div>
        {ended ? (
          <a class="button" href={to("results", campaign.id)}>
            Stored result and report
          </a>
        ) : mayRun && (
          <Action look="stop" does={stop} failed={setWrong}>
            ■ Stop
          </Action>
        )}
      </div>
      {!ended && <progress aria-label="Progress of the campaign" max={1} {...(share === null ? {} : { value: share })} />}
      <p class="figure">
        {several(campaign.trials_done, "trial")} done
        {!ended && campaign.trials_left != null && `, about ${count(campaign.trials_left)} left`}
        {!ended && campaign.left_s != null && `, ${duration(campaign.left_s)} left`}
        {!ended && now && `. Now ${now}`}
        {!ended && feed.live && `, sends ${pps(total(feed.live.ports.tx_pps))}, receives ${pps(total(feed.live.ports.rx_pps))}`}
      </p>
      {campaign.overall && <OutcomeBand overall={campaign.overall} criteria={[]} passed="Measured" />}
      {campaign.reason && <p class={`note ${campaign.state === "failed" ? "bad" : "warn"}`}>{campaign.state === "failed" ? `✕ Failed: ${campaign.reason}` : campaign.reason}</p>}
      {campaign.state === "failed" && mayRun && (
        <p>
          <a class="button" href={to("campaigns")}>Edit and start again</a>
        </p>
      )}
      <Wrong problem={wrong} />
      <Announcement text={`Campaign ${campaign.name}: ${campaign.state}. ${campaign.found.join(" ")}`} />
    </section>
  );
}

function Found({ campaign }: { campaign: Campaign }) {
  return (
    <Panel title="Findings">
      {campaign.found.length ? (
        <ul>
          {campaign.found.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : (
        <p class="empty">{hasEnded(campaign) ? "None." : "None yet. Findings appear when a part of the method ends."}</p>
      )}
    </Panel>
  );
}

/** Findings in figures: a row for each frame length or application, a column for each goal. */
function Matrix({ id }: { id: string }) {
  // Compared with itself: the figures of a result, without its trials.
  const known = usePoll<Comparison>(`compare?ids=${encodeURIComponent(id)},${encodeURIComponent(id)}`, 0);
  const rows = known.value?.rows.filter((row) => row.cells[0]?.value != null) ?? [];
  const [frames, goals] = [[...new Set(rows.map((row) => row.frame))], [...new Set(rows.map((row) => row.goal))]];
  if (!frames.length) return null;
  const cell = (frame: string, goal: string) => {
    const row = rows.find((one) => one.frame === frame && one.goal === goal);
    return row ? <Figure unit={row.unit} of={row.cells[0]!} /> : "–";
  };
  const table = frames.map((frame) => ({ name: frame || "all", cells: goals.map((goal) => cell(frame, goal)) }));
  return (
    <Panel title="Figures">
      <Table narrow={goals.length < 5} caption="Figures by frame length or application" heads={["", ...goals.map((goal) => goal.replaceAll("_", " "))]} rows={table} />
    </Panel>
  );
}

/** A finding's value with its bounds. */
function Figure({ unit, of }: { unit: string; of: Cell }) {
  const bounds = [of.lower != null && of.lower !== of.value && `at least ${inUnit(of.lower, unit)}`, of.upper != null && of.upper !== of.value && `below ${inUnit(of.upper, unit)}`];
  const said = bounds.filter(Boolean).join(", ");
  return (
    <>
      <b>{inUnit(of.value, unit)}</b>
      {said && <small>{said}</small>}
    </>
  );
}

/** The lines of the columns of `curve`; columns without a point are left out of the legend. */
function linesOf(frames: string[], format: Line["format"]): Line[] {
  const name = (frame: string) => frame || "profile's lengths";
  return [
    ...frames.map((frame, i) => ({ label: name(frame), look: i + 1, format })),
    ...frames.map((_, i) => ({ label: "single trials; the line is their median", look: i + 1, format, only: "singles" as const })),
    { label: "tester disturbed", look: 2, format, only: "disturbed" as const },
  ];
}

const AXES: Record<string, { title: string; format: (value: number) => string }> = {
  "connections/s": { title: "connections opened per second", format: perSecond },
  connections: { title: "connections held", format: count },
  "transactions/s": { title: "transactions per second", format: perSecond },
  "bits/s": { title: "goodput", format: bps },
  times: { title: "multiple of the profile's load", format: (value) => inUnit(value, "") },
};

function Curves({ points, version, ended }: { points: Point[]; version: number; ended: boolean }) {
  const streams = points.filter((point) => !point.sessions);
  const units = [...new Set(points.flatMap((point) => (point.sessions?.unit ? [point.sessions.unit] : [])))];
  const out = points.filter((point) => !isTrusted(point));
  const isPart = new Options(useSignal(written)).range() !== null;
  return (
    <Panel title="Curves">
      {isPart && (
        <button type="button" onClick={() => show({ from: null, to: null })}>
          All loads
        </button>
      )}
      {out.length > 0 && (
        <p class="note warn">⚠ {several(out.length, "trial")} do not count: not valid, or the tester was the limit. The reasons are beside the trials below.</p>
      )}
      {!points.length && <p class="empty">{ended ? "No trial ended." : "Each trial adds a point when it ends."}</p>}
      {streams.length > 0 && <StreamCurves points={streams} version={version} />}
      {units.map((unit) => (
        <SessionCurves key={unit} unit={unit} points={points.filter((point) => point.sessions?.unit === unit)} version={version} />
      ))}
    </Panel>
  );
}

/** The x axis of all charts over a load: the part that the page's address has, or all loads. */
function useLoads(points: Point[], group: string, load: Of) {
  const chosen = new Options(useSignal(written)).range();
  const loads = points.map(load).filter((value) => value != null);
  const range = chosen ?? (loads.length ? widen(Math.min(...loads), Math.max(...loads)) : null);
  return { points: true, group, range, select: (from: number, to: number) => show({ from, to }) };
}

function StreamCurves({ points, version }: { points: Point[]; version: number }) {
  const frames = [...new Set(points.map((point) => point.frame))];
  const common = { ...useLoads(points, "load", (point) => point.offered_pps), version, x: (value: number) => pps(value) };
  const view = (value: Of) => () => curve(points, frames, (point) => point.offered_pps, value);
  return (
    <div class="columns">
      <Chart {...common} title="Loss over offered load" note="share of packets sent, a line for each frame length" lines={linesOf(frames, ratio)}
        view={view((point) => point.loss_ratio)} y={ratio} least={0.001} />
      <Chart {...common} title="Latency p99 over offered load" note="log scale" log lines={linesOf(frames, time)} view={view((point) => point.latency_p99_ns)} y={time} />
      {points.some((point) => point.latency_stddev_ns != null) && <Chart {...common} title="Standard deviation of latency over offered load" note="log scale" log lines={linesOf(frames, time)}
        view={view((point) => point.latency_stddev_ns)} y={time} />}
      {points.some((point) => point.jitter_mean_ns != null) && <Chart {...common} title="Jitter over offered load" note="mean, RFC 4689, log scale" log lines={linesOf(frames, time)} view={view((point) => point.jitter_mean_ns)} y={time} />}
    </div>
  );
}

/** Failures and times over the requested load of trials of sessions, also of failed trials. */
function SessionCurves({ points, unit, version }: { points: Point[]; unit: string; version: number }) {
  const frames = [...new Set(points.map((point) => point.frame))];
  const { title, format } = AXES[unit] ?? { title: unit, format: count };
  const common = { ...useLoads(points, unit, (point) => point.sessions?.load), version, x: format };
  const view = (value: Of) => () => curve(points, frames, (point) => point.sessions?.load, value);
  const over = `over load: ${title}`;
  return (
    <div class="columns">
      <Chart {...common} title={`Failed transactions ${over}`} lines={linesOf(frames, ratio)} view={view((point) => point.sessions?.failed_ratio)} y={ratio} least={0.001} />
      <Chart {...common} title={`Sessions established, of those attempted, ${over}`} lines={linesOf(frames, ratio)}
        view={view((point) => (point.sessions?.attempted ? point.sessions.established / point.sessions.attempted : null))} y={ratio} least={1} />
      <Chart {...common} title={`Time to set up p99 ${over}`} note="log scale" log lines={linesOf(frames, time)} view={view((point) => point.sessions?.setup_p99_ns)} y={time} />
      <Chart {...common} title={`Time to the last byte p99 ${over}`} note="log scale" log lines={linesOf(frames, time)} view={view((point) => point.sessions?.ttlb_p99_ns)} y={time} />
    </div>
  );
}

/** A trial's verdict, and why. */
function Verdict({ point }: { point: Point }) {
  const [why, ...more] = point.reasons ?? [];
  const [look, text] = !point.valid
    ? ["bad", "✕ not valid"]
    : point.generator_limited
      ? ["warn", "⚠ the tester was the limit"]
      : point.disturbed
        ? ["warn", "⚠ valid, tester disturbed"]
        : ["", "valid"];
  return (
    <>
      <span class={look}>{text}</span>
      {why && <div class="muted why">{why}</div>}
      {more.length > 0 && (
        <details class="muted why">
          <summary>{several(more.length, "more reason")}</summary>
          <div>{more.join("; ")}</div>
        </details>
      )}
    </>
  );
}

function Trials({ points, ended }: { points: Point[]; ended: boolean }) {
  if (!points.length) return <p class="empty">{ended ? "No trial ended." : "No trial has ended yet."}</p>;
  const sessions = points.some((point) => point.sessions);
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">Trials, newest first</caption>
        <thead>
          <tr>
            <th class="n">Trial</th>
            <th>Part</th>
            <th>Trial type</th>
            <th>Frame</th>
            <th class="n">Offered</th>
            <th class="n">Loss</th>
            <th class="n">p50</th>
            <th class="n">p99</th>
            {sessions && <th class="n">Requested load</th>}
            {sessions && <th class="n">Attempted</th>}
            {sessions && <th class="n">Established</th>}
            {sessions && <th class="n">Transactions</th>}
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {points.map((point, i) => ({ point, order: i + 1 })).reverse().map(({ point, order }) => (
            <tr key={`${point.part}/${point.number}`}>
              <td class="n">{order}</td>
              <td>{point.part}</td>
              <td>{point.label}</td>
              <td>{point.frame}</td>
              <td class="n">{pps(point.offered_pps)}</td>
              <td class={`n ${point.lost ? "bad" : ""}`}>{point.lost ? `${ratio(point.loss_ratio)}: ${count(point.lost)} lost` : point.lost == null ? "–" : "none"}</td>
              <td class="n">{time(point.latency_p50_ns)}</td>
              <td class="n">{time(point.latency_p99_ns)}</td>
              {sessions && <td class="n">{point.sessions?.unit ? (AXES[point.sessions.unit]?.format ?? count)(point.sessions.load ?? 0) : "–"}</td>}
              {sessions && <td class="n">{count(point.sessions?.attempted)}</td>}
              {sessions && <td class="n">{count(point.sessions?.established)}</td>}
              {sessions && (
                <td class="n">
                  {count(point.sessions?.transactions)}
                  {point.sessions?.transactions_failed ? <span class="bad">, {count(point.sessions.transactions_failed)} failed</span> : ""}
                </td>
              )}
              <td>
                <Verdict point={point} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
