/** A profile: picked or pasted, checked while it is written, its errors shown at their lines. */

import { useEffect, useRef, useState } from "preact/hooks";
import { duration, several } from "./format";
import { Action, Wrong } from "./parts";
import { usePoll } from "./poll";
import { call, read, sentence } from "./server";
import type { Check, ProblemPlace, ProfileEntry } from "./types";

/** A profile as a request wants it: by name while its text is unchanged. */
export interface Chosen {
  name: string | null;
  text: string;
  good: boolean;
  check: Check | null;
}

export const NOTHING: Chosen = { name: null, text: "", good: false, check: null };

/** The part of a request that names the profile. */
export const asked = (chosen: Chosen): object => (chosen.name !== null ? { profile_name: chosen.name } : { profile: chosen.text });

const CHECK_AFTER_MS = 350;

/** Has a text checked when nothing was typed for a moment; the reason, if it can't be. */
export function useChecked(chosen: Chosen, choose: (next: Chosen) => void): unknown {
  const [wrong, setWrong] = useState<unknown>(null);
  const newest = useRef("");
  newest.current = chosen.text;
  useEffect(() => {
    if (!chosen.text.trim()) return undefined;
    const text = chosen.text;
    const timer = setTimeout(async () => {
      try {
        const check = await call<Check>("POST", "profiles/check", { profile: text });
        if (newest.current === text) choose({ ...chosen, good: check.good, check });
        setWrong(null);
      } catch (error) {
        setWrong(error);
      }
    }, CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [chosen.text]);
  return wrong;
}

export function ProfileEditor({ chosen, choose }: { chosen: Chosen; choose: (next: Chosen) => void }) {
  const profiles = usePoll<ProfileEntry[]>("profiles", 0);
  const [picked, setPicked] = useState("");
  const [wrong, setWrong] = useState<unknown>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const trouble = useChecked(chosen, choose);

  const pick = async (name: string) => {
    setPicked(name);
    if (!name) return;
    try {
      const { profile } = await read<{ profile: string }>(`profiles/${encodeURIComponent(name)}`);
      choose({ name, text: profile, good: false, check: null });
      setWrong(null);
    } catch (error) {
      setWrong(error);
    }
  };
  const edit = (text: string) => choose({ name: null, text, good: false, check: null });
  const about = profiles.value?.find((entry) => entry.name === picked)?.about;

  return (
    <div>
      <label>
        Profile
        <select value={picked} onChange={(event) => pick(event.currentTarget.value)}>
          <option value="">paste or write one below …</option>
          <ProfileOptions entries={profiles.value ?? []} builtIn={false} label="Stored" />
          <ProfileOptions entries={profiles.value ?? []} builtIn={true} label="Examples" />
        </select>
      </label>
      {about && <p class="muted">{about}</p>}
      <TextWithLines text={chosen.text} edit={edit} errors={chosen.check?.errors ?? []} area={area} />
      <Wrong problem={wrong ?? trouble ?? profiles.problem} />
      <Findings chosen={chosen} show={(line) => select(area.current, line)} />
      <Keep chosen={chosen} kept={(name) => { choose({ ...chosen, name }); setPicked(name); profiles.again(); }} />
    </div>
  );
}

function ProfileOptions({ entries, builtIn, label }: { entries: ProfileEntry[]; builtIn: boolean; label: string }) {
  const those = entries.filter((entry) => entry.built_in === builtIn);
  if (!those.length) return null;
  return (
    <optgroup label={label}>
      {those.map((entry) => (
        <option key={entry.name} value={entry.name}>
          {entry.name}
        </option>
      ))}
    </optgroup>
  );
}

interface Written {
  text: string;
  edit: (text: string) => void;
  errors: ProblemPlace[];
  area: { current: HTMLTextAreaElement | null };
}

/** The text with its line numbers; a line with a fault has a cross. */
export function TextWithLines({ text, edit, errors, area }: Written) {
  const gutter = useRef<HTMLDivElement>(null);
  const at = new Set(errors.map((error) => error.line));
  const lines = text.split("\n").length;
  return (
    <div class="editor">
      <div class="lines" ref={gutter} aria-hidden="true">
        {Array.from({ length: lines }, (_, i) => (
          <div key={i} class={at.has(i + 1) ? "at" : ""}>
            {at.has(i + 1) ? "✕ " : ""}
            {i + 1}
          </div>
        ))}
      </div>
      <textarea
        ref={area}
        aria-label="Profile text, YAML or JSON"
        spellcheck={false}
        autocapitalize="off"
        value={text}
        onInput={(event) => edit(event.currentTarget.value)}
        onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
      />
    </div>
  );
}

/** Puts the cursor on a line. */
export function select(area: HTMLTextAreaElement | null, line: number): void {
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = Math.max(0, (line - 5) * 20);
}

/** Findings of the check, in words. */
export function Findings({ chosen, show }: { chosen: Chosen; show: (line: number) => void }) {
  const { check } = chosen;
  const text = !chosen.text.trim() ? "" : !check ? "Checking …" : check.good ? goodWords(check) : `${several(check.errors.length, "error")}:`;
  return (
    <div aria-live="polite">
      {text && <p class={check ? (check.good ? "good" : "bad") : "muted"}>{check && (check.good ? "✓ " : "✕ ")}{text}</p>}
      {check?.errors.map((error) => (
        <p class="note bad" key={`${error.line}${error.path}${error.reason}`}>
          {error.line != null && (
            <button type="button" class="link" onClick={() => show(error.line!)}>
              line {error.line}
            </button>
          )}{" "}
          {error.path && <code>{error.path}</code>} {error.reason}
        </p>
      ))}
      {check?.warnings.map((warning) => (
        <p class="note warn" key={warning}>
          ⚠ {warning}
        </p>
      ))}
    </div>
  );
}

function goodWords(check: Check): string {
  const parts = [];
  if (check.streams) parts.push(several(check.streams, "stream"));
  if (check.sessions) parts.push(`${check.sessions} session ${check.sessions === 1 ? "entry" : "entries"}`);
  const ports = check.ports.map((port) => `${port.name} (${port.device})`).join(", ");
  const time = check.duration_s == null ? "until stopped" : `for ${duration(check.duration_s)}`;
  return `Good: ${parts.join(", ")} between ${ports}, ${time}.`;
}

/** Stores the text under a name. */
function Keep({ chosen, kept }: { chosen: Chosen; kept: (name: string) => void }) {
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState<unknown>(null);
  if (!chosen.good || chosen.name !== null) return null;
  const keep = async () => {
    await call("PUT", `profiles/${encodeURIComponent(name.trim())}`, { profile: chosen.text });
    kept(name.trim());
  };
  return (
    <details>
      <summary>Store this profile on the server</summary>
      <div class="row end">
        <label>
          Name
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <Action does={keep} failed={setWrong} disabled={!name.trim()}>
          Keep
        </Action>
      </div>
      {wrong != null && <p class="bad">✕ {sentence(wrong)}</p>}
    </details>
  );
}
