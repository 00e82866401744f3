/** Small components of every page. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, measured } from "./format";
import { Problem, sentence } from "./server";
import type { AchievedResult, CriterionResult, OverallResult, State, Verdict } from "./types";

const STATES: Record<State, [string, string]> = {
  starting: ["◔ starting", "warn"],
  running: ["▶ running", "good"],
  draining: ["◕ waiting for late packets", "warn"],
  done: ["✓ done", "good"],
  failed: ["✕ failed", "bad"],
  stopped: ["■ stopped", "warn"],
  interrupted: ["■ interrupted", "warn"],
};

/** The badge of a state and an outcome, where no more is known. */
export function OutcomeBadge({ state, outcome }: { state: State; outcome: string | null | undefined }) {
  return <Badge state={state} overall={outcome ? { outcome } : null} />;
}

/** A state in words, with a sign. A run that is done is green only if its requirements are met. */
export function Badge({ state, achieved, overall }: { state: State; achieved?: AchievedResult | null; overall?: OverallResult | null }) {
  const [text, look] = badge(state, achieved, overall);
  return <span class={`state ${look}`}>{text}</span>;
}

function badge(state: State, achieved?: AchievedResult | null, overall?: OverallResult | null): [string, string] {
  if (state !== "done") return STATES[state] ?? [state, ""];
  if (overall?.outcome === "cannot_judge") return ["? done, can't be judged", "warn"];
  if (achieved && !achieved.success) return ["✕ done, without success", "bad"];
  return overall?.outcome === "failed" ? ["✕ done, not passed", "bad"] : STATES.done;
}

type Look = "good" | "warn" | "bad";

const SIGNS: Record<Look, string> = { good: "✓", warn: "⚠", bad: "✕" };

/** A verdict in words. Notes are not among the reasons: they are harmless. */
export function verdictWords(verdict: Verdict): { text: string; look: Look } {
  const why = verdict.reasons.length ? `: ${verdict.reasons.join("; ")}` : "";
  if (!verdict.valid) return { text: `Not valid${why}.`, look: "bad" };
  if (verdict.generator_limited) return { text: `Valid, but the tester was the limit${why}.`, look: "warn" };
  if (verdict.disturbed) return { text: `Valid, but the tester was disturbed${why}.`, look: "warn" };
  return { text: `Valid${why}.`, look: "good" };
}

/** Share of the requested load that succeeded, in words. */
export function achievedWords(achieved: AchievedResult): { text: string; look: Look } {
  return { text: `${achieved.summary}.`, look: achieved.success ? "good" : "bad" };
}

const OUTCOMES: Record<string, [string, Look]> = {
  passed: ["Passed", "good"],
  failed: ["Failed", "bad"],
  cannot_judge: ["Can't be judged here", "warn"],
};

/** Whether the requirements are met, in words: with the cause, unless they are. */
export function overallWords(overall: OverallResult): { text: string; look: Look } {
  const [word, look] = OUTCOMES[overall.outcome] ?? [overall.outcome, "warn"];
  return { text: overall.reason ? `${word}: ${inUnits(overall.reason)}.` : `${word}.`, look };
}

/** `streams.a.latency_ns.p99 is 4459, not < 1us` with the value in its unit. */
const inUnits = (reason: string): string =>
  reason.replace(/^(\S+) is (-?\d[\d.]*(?:e[-+]?\d+)?), not /, (_, path, value) => `${path} is ${measured(path, Number(value))}, not `);

/** One line of a page's head, with a sign. */
export function Note({ words }: { words: { text: string; look: Look } }) {
  return (
    <p class={`note ${words.look}`}>
      {SIGNS[words.look]} {words.text}
    </p>
  );
}

const CRITERIA: Record<string, [string, Look]> = {
  met: ["met", "good"],
  not_met: ["not met", "bad"],
  cannot_judge: ["can't be judged", "warn"],
};

/** Pass criteria that are listed; the others unfold. A condition on a stream with copies is one for each of them. */
const CRITERIA_MAX = 8;

/** Pass criteria, those that are not met first. */
function Criteria({ criteria }: { criteria: CriterionResult[] }) {
  if (!criteria.length) return null;
  const order = ["not_met", "cannot_judge"];
  const rank = (one: CriterionResult) => (order.includes(one.outcome) ? order.indexOf(one.outcome) : order.length);
  const all = [...criteria].sort((a, b) => rank(a) - rank(b)).map((one) => {
    const [word, colour] = CRITERIA[one.outcome] ?? [one.outcome, "warn"];
    return (
      <li key={`${one.path} ${one.bound}`}>
        {SIGNS[colour]} <code>{one.path} {one.bound}</code>: {word}
        {one.value == null ? ", not measured" : `, ${measured(one.path, one.value)}`}
      </li>
    );
  });
  const [first, others] = [all.slice(0, CRITERIA_MAX), all.slice(CRITERIA_MAX)];
  const counted = Object.entries(CRITERIA).flatMap(([outcome, [word]]) => {
    const number = criteria.filter((one) => one.outcome === outcome).length;
    return number ? [`${count(number)} ${word}`] : [];
  });
  return (
    <>
      <ul aria-label="Pass criteria">{first}</ul>
      {others.length > 0 && (
        <details>
          <summary>
            {count(criteria.length)} criteria in all: {counted.join(", ")}
          </summary>
          <ul aria-label="Other pass criteria">{others}</ul>
        </details>
      )}
    </>
  );
}

/**
 * The band on top of an ended run: passed, failed or can't be judged, with one cause and one remedy, and the criteria.
 * `passed`: the word for it where nothing was judged.
 */
export function OutcomeBand({ overall, criteria, passed }: { overall: OverallResult; criteria: CriterionResult[]; passed?: string }) {
  const words = overallWords(overall);
  const [text, look] = [overall.outcome === "passed" && passed ? `${passed}.` : words.text, words.look];
  return (
    <section class={`note band ${look}`} aria-label="Outcome">
      <p>
        <strong>
          {SIGNS[look]} {text}
        </strong>
      </p>
      {overall.remedy && <p>To judge it: {overall.remedy}.</p>}
      <Criteria criteria={criteria} />
    </section>
  );
}

/** Notes about figures that are valid nonetheless. */
export function Notes({ notes }: { notes: string[] }) {
  if (!notes.length) return null;
  return (
    <details class="note">
      <summary>{notes.length === 1 ? "1 note" : `${notes.length} notes`}</summary>
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </details>
  );
}

/** An error, with every place in the document. */
export function Wrong({ problem }: { problem: unknown }) {
  if (!problem) return null;
  const errors = problem instanceof Problem ? problem.errors : [];
  return (
    <div class="note bad" role="alert">
      ✕ {sentence(problem)}
      {errors.length > 0 && (
        <ul>
          {errors.map((error) => (
            <li key={`${error.path}${error.line}${error.reason}`}>
              {error.line != null && `line ${error.line}: `}
              {error.path && <code>{error.path}</code>} {error.reason}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Panel({ title, children, id }: { title: string; children: ComponentChildren; id?: string }) {
  return (
    <section class="panel" aria-label={title} id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** A heading that takes the focus when its page opens, so that keyboards and screen readers start there. */
export function Title({ children, name }: { children?: ComponentChildren; name: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · Eagre`;
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) return;
    heading.current?.focus({ preventScroll: true });
  }, [name]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? name}
    </h1>
  );
}

/** A figure under its name. */
export function Tile({ name, value, more, bad }: { name: string; value: string; more?: string; bad?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={bad ? "bad" : ""}>
        {value}
        {more && <small class={bad ? "bad" : ""}>{more}</small>}
      </dd>
    </div>
  );
}

/** Announces changes to screen readers. */
export function Announcement({ text }: { text: string }) {
  return (
    <p class="hidden" aria-live="polite" role="status">
      {text}
    </p>
  );
}

/** A button for work that takes time: disabled meanwhile; errors go to `failed`. */
export function Action({ does, failed, look, children, disabled }: {
  does: () => Promise<unknown>;
  failed: (problem: unknown) => void;
  look?: string;
  children: ComponentChildren;
  disabled?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    failed(null);
    try {
      await does();
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class={look ?? ""} disabled={busy || disabled} onClick={press}>
      {children}
    </button>
  );
}
