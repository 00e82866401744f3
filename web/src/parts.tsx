/** Small pieces that every page uses. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, sentence } from "./server";
import type { AchievedResult, State, Verdict } from "./types";

const STATES: Record<State, [string, string]> = {
  starting: ["◔ starting", "warn"],
  running: ["▶ running", "good"],
  draining: ["◕ waiting for late packets", "warn"],
  done: ["✓ done", "good"],
  failed: ["✕ failed", "bad"],
  stopped: ["■ stopped", "warn"],
  interrupted: ["■ interrupted", "warn"],
};

/** A state in words, with a sign. A run that is done is green only if it achieved something. */
export function Badge({ state, achieved }: { state: State; achieved?: AchievedResult | null }) {
  const [text, look] = state === "done" && achieved && !achieved.success ? ["✕ done, without success", "bad"] : (STATES[state] ?? [state, ""]);
  return <span class={`state ${look}`}>{text}</span>;
}

/** A verdict in words. */
export function verdictWords(verdict: Verdict): { text: string; look: "good" | "warn" | "bad" } {
  const why = verdict.reasons.length ? `: ${verdict.reasons.join("; ")}` : "";
  // Notes are no reasons: the figures are right all the same.
  const notes = verdict.notes?.length ? ` Note: ${verdict.notes.join("; ")}.` : "";
  if (!verdict.valid) return { text: `Not valid${why}.${notes}`, look: "bad" };
  if (verdict.generator_limited) return { text: `Valid, but the tester was the limit${why}.${notes}`, look: "warn" };
  if (verdict.disturbed) return { text: `Valid, but the tester was disturbed${why}.${notes}`, look: "warn" };
  return { text: `Valid${why}.${notes}`, look: "good" };
}

/** How much of what was asked succeeded, in words. */
export function achievedWords(achieved: AchievedResult): { text: string; look: "good" | "bad" } {
  return { text: `${achieved.summary}.`, look: achieved.success ? "good" : "bad" };
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
