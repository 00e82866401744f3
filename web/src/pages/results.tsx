/** The results store: a list with filters, one result with its report, comparisons. */

import { useEffect, useState } from "preact/hooks";
import { change, inUnit, instant, several } from "../format";
import { Across } from "../across";
import { Action, OutcomeBadge, Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import { go, to } from "../route";
import { call, openTab, readText, save } from "../server";
import type { Comparison, Summary } from "../types";
import { useMayRun } from "../who";

const LIMIT = 100;

export function Results() {
  const [filter, setFilter] = useState({ name: "", method: "", tag: "", since: "" });
  const [wanted, setWanted] = useState(filter);
  const [picked, setPicked] = useState<string[]>([]);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(filter), 300);
    return () => clearTimeout(timer);
  }, [filter]);
  const query = new URLSearchParams({ limit: String(LIMIT) });
  for (const [key, value] of Object.entries(wanted)) if (value.trim()) query.set(key, value.trim());
  const results = usePoll<Summary[]>(`results?${query}`, 0);
  const bound = (key: keyof typeof filter) => ({
    value: filter[key],
    onInput: (event: { currentTarget: HTMLInputElement }) => setFilter({ ...filter, [key]: event.currentTarget.value }),
  });
  const field = (key: keyof typeof filter, label: string, date = false) => (
    <label class="small">
      {label}
      {date ? <input type="date" {...bound(key)} /> : <input {...bound(key)} />}
    </label>
  );
  const toggle = (id: string) => setPicked(picked.includes(id) ? picked.filter((one) => one !== id) : [...picked, id]);
  return (
    <>
      <Title name="Results" />
      <Panel title="Stored results">
        <div class="row end">
          {field("name", "Name")}
          {field("method", "Method")}
          {field("tag", "Tag")}
          {field("since", "Since", true)}
          <button type="button" onClick={() => results.again()}>
            Reload
          </button>
          <button type="button" class="main" disabled={picked.length < 2} onClick={() => go("compare", picked.join(","))}>
            Compare {picked.length > 1 ? several(picked.length, "result") : "…"}
          </button>
        </div>
        <p class="muted">Select two or more to compare them with the first one selected.</p>
        <Wrong problem={results.problem} />
        {results.value && <List results={results.value} picked={picked} toggle={toggle} filtered={Object.values(wanted).some((value) => value.trim())} />}
        {results.value?.length === LIMIT && <p class="muted">Only the newest {LIMIT} are listed. Use the filters to find older ones.</p>}
      </Panel>
    </>
  );
}

function List({ results, picked, toggle, filtered }: { filtered: boolean; results: Summary[]; picked: string[]; toggle: (id: string) => void }) {
  if (!results.length) return <p class="empty">{filtered ? "No matching result." : "No result is stored yet."}</p>;
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">Stored results, newest first</caption>
        <thead>
          <tr>
            <th>
              <span class="hidden">Compare</span>
            </th>
            <th>Result</th>
            <th>Method</th>
            <th>State</th>
            <th class="n">Trials</th>
            <th>Verdict</th>
            <th>Tags</th>
            <th>Started</th>
          </tr>
        </thead>
        <tbody>
          {results.map((result) => (
            <tr key={result.id}>
              <td>
                <input type="checkbox" aria-label={`Compare ${result.name} ${result.id}`} checked={picked.includes(result.id)} onChange={() => toggle(result.id)} />
              </td>
              <td>
                <a href={to("results", result.id)}>{result.name || result.id}</a>
              </td>
              <td>{result.method}</td>
              <td>
                <OutcomeBadge state={result.state} outcome={outcomeOf(result)} />
              </td>
              <td class="n">{result.trials}</td>
              <td>
                <Trust result={result} />
              </td>
              <td>{result.tags.join(", ")}</td>
              <td class="id">{instant(result.started)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The outcome; where none is stored and no trial is valid, it can't be judged. */
const outcomeOf = ({ outcome, trials, invalid }: Summary) => outcome ?? (trials > 0 && invalid === trials ? "cannot_judge" : null);

function Trust({ result }: { result: Summary }) {
  if (!result.trials) return <span class="muted">no completed trial</span>;
  const why = result.reason ? <div class="muted why">{result.reason}</div> : null;
  // The badge has the colour of the outcome: beside it, figures in doubt are a warning.
  const [look, sign] = outcomeOf(result) ? ["warn", "⚠"] : ["bad", "✕"];
  if (result.invalid) return <><span class={look}>{sign} {several(result.invalid, "trial")} not valid</span>{why}</>;
  if (result.generator_limited) return <><span class="warn">⚠ the tester was the limit in {several(result.generator_limited, "trial")}</span>{why}</>;
  if (result.disturbed) return <span class="warn">⚠ valid; the tester was disturbed in {several(result.disturbed, "trial")}</span>;
  return <span class="good">✓ valid</span>;
}

/** Formats of exports: name, end of the file's name, title. */
const EXPORTS = [
  ["csv", "csv", "Trials (CSV)"],
  ["findings", "findings.csv", "Findings (CSV)"],
  ["json", "json", "JSON"],
  ["trending", "trending.json", "Trending"],
] as const;

/** One stored result. */
export function ResultPage({ id }: { id: string }) {
  const path = `results/${encodeURIComponent(id)}`;
  // The whole document has every interval of every trial: the summary, and the report, are enough here.
  const stored = usePoll<Summary[]>("results?limit=1000", 0);
  const [wrong, setWrong] = useState<unknown>(null);
  const campaign = stored.value?.find((summary) => summary.id === id);
  const name = campaign?.name || id;
  const mayRun = useMayRun();
  const remove = async () => {
    if (!confirm(`Delete ${name} (${id}) for good?`)) return;
    await call("DELETE", path);
    go("results");
  };
  return (
    <>
      <div class="row spread">
        <div class="row">
          <Title name={`Result ${name}`}>{name}</Title>
          {campaign && <span>{campaign.method}</span>}
          {campaign && <OutcomeBadge state={campaign.state} outcome={outcomeOf(campaign)} />}
        </div>
        <div class="row">
          <Action does={() => openTab(`${path}/report`)} failed={setWrong}>
            Report in a new tab
          </Action>
          {EXPORTS.map(([format, end, title]) => (
            <Action key={format} does={() => save(`${path}/export?format=${format}`, `${id}.${end}`)} failed={setWrong}>
              {title}
            </Action>
          ))}
          {mayRun && (
            <Action look="stop" does={remove} failed={setWrong}>
              Delete
            </Action>
          )}
        </div>
      </div>
      <Wrong problem={wrong ?? stored.problem} />
      {stored.value && !campaign && <p class="note warn">Not among the {stored.value.length} newest results.</p>}
      {campaign && (
        <div>
          <Trust result={campaign} />
          <p>
            {several(campaign.trials, "trial")}, started {instant(campaign.started)}
            {campaign.tags.length > 0 && `, tags ${campaign.tags.join(", ")}`}
          </p>
        </div>
      )}
      {campaign && <Across id={id} ids={earlier(campaign, stored.value ?? [])} />}
      {stored.value && <Report path={`${path}/report`} title={`Report of ${name}`} />}
    </>
  );
}

/** Results that are compared at once. */
const ACROSS_MAX = 20;

/** This result and those before it of the same name and method, the oldest first. */
function earlier(campaign: Summary, newestFirst: Summary[]): string[] {
  const same = newestFirst.filter((one) => one.name === campaign.name && one.method === campaign.method && one.trials > 0).map((one) => one.id);
  const own = Math.max(0, same.indexOf(campaign.id));
  return same.slice(own, own + ACROSS_MAX).reverse();
}

/** A report page in a frame. Its text is fetched, so that the token stays in a header; its scripts do not run. */
function Report({ path, title }: { path: string; title: string }) {
  const [text, setText] = useState<string | null>(null);
  const [wrong, setWrong] = useState<unknown>(null);
  useEffect(() => {
    setText(null);
    readText(path).then(setText, setWrong);
  }, [path]);
  return (
    <Panel title="Report">
      <Wrong problem={wrong} />
      {text !== null && <iframe class="frame" title={title} sandbox="" srcdoc={text} />}
    </Panel>
  );
}

/** Several stored results side by side. */
export function Compare({ ids }: { ids: string }) {
  const path = `compare?ids=${ids.split(",").map(encodeURIComponent).join(",")}`;
  const report = path.replace("compare?", "compare/report?");
  const compared = usePoll<Comparison>(path, 0);
  const [wrong, setWrong] = useState<unknown>(null);
  return (
    <>
      <div class="row spread">
        <Title name="Comparison" />
        <Action does={() => openTab(report)} failed={setWrong}>
          Report in a new tab
        </Action>
      </div>
      <Wrong problem={wrong ?? compared.problem} />
      {compared.value && (
        <Panel title="Side by side">
          <SideBySide comparison={compared.value} />
        </Panel>
      )}
      {compared.value && <Report path={report} title="Report of the comparison" />}
    </>
  );
}

/** The interval of a finding, in words. */
function between({ lower, upper }: { lower?: number | null; upper?: number | null }, unit: string): string {
  if (lower != null && upper != null) return `${inUnit(lower, unit)} – ${inUnit(upper, unit)}`;
  return lower != null ? `at least ${inUnit(lower, unit)}` : `below ${inUnit(upper, unit)}`;
}

function SideBySide({ comparison: { campaigns, rows, sentences } }: { comparison: Comparison }) {
  const words = (beyond: boolean | null) => (beyond === null ? "interval unknown" : beyond ? "intervals lie apart" : "no difference shown");
  return (
    <>
    {(sentences ?? []).map((sentence) => <p key={sentence} class="note">{sentence}</p>)}
    <div class="scroll">
      <table>
        <caption class="muted">Differences from {campaigns[0]?.name}.</caption>
        <thead>
          <tr>
            <th>Frame</th>
            <th>Goal</th>
            {campaigns.map((campaign) => (
              <th class="n" key={campaign.id}>
                <a href={to("results", campaign.id)}>{campaign.name || campaign.id}</a>
                <div class="muted">{instant(campaign.started)}</div>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              <td>{row.frame}</td>
              <td>{row.goal.replaceAll("_", " ")}</td>
              {row.cells.map((cell, c) => (
                <td class="n" key={c}>
                  {inUnit(cell?.value, row.unit)}
                  {(cell?.lower != null || cell?.upper != null) && <div class="muted">{between(cell, row.unit)}</div>}
                  {cell?.difference && (
                    <div class={cell.difference.beyond_noise ? "warn" : "muted"}>
                      {change(cell.difference.ratio)}, {words(cell.difference.beyond_noise)}
                    </div>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    </>
  );
}
