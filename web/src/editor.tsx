/** A profile: picked or pasted, checked while it is written, its errors shown at their lines. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Code } from "./code";
import { fields } from "./fields";
import { duration, several } from "./format";
import { Action, Wrong } from "./parts";
import { usePoll } from "./poll";
import { call, read, sentence } from "./server";
import type { Step } from "./place";
import type { Schema } from "./schema";
import type { Check, Port, ProblemPlace, ProfileEntry } from "./types";

/** A profile as a request wants it: by name while its text is unchanged. */
export interface Chosen {
  name: string | null;
  text: string;
  good: boolean;
  check: Check | null;
  /** Text that was typed here before another took its place. */
  before: string | null;
}

export const NOTHING: Chosen = { name: null, text: "", good: false, check: null, before: null };

/** Another profile in the place of this one; what was typed stays beside it. */
export function instead(chosen: Chosen, text: string, name: string | null = null, typed = chosen.name === null): Chosen {
  const before = typed && chosen.text.trim() && chosen.text !== text ? chosen.text : chosen.before;
  return { ...NOTHING, name, text, before };
}

/** The same profile with another text. */
export const edited = (chosen: Chosen, text: string): Chosen => ({ ...NOTHING, text, before: chosen.before });

/** Brings back what was typed before. */
export function Before({ chosen, choose }: { chosen: Chosen; choose: (next: Chosen) => void }) {
  const { before } = chosen;
  if (before === null || before === chosen.text) return null;
  return (
    <button type="button" onClick={() => choose(instead(chosen, before))}>
      Restore the text that was here before
    </button>
  );
}

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
  const show = useRef<(line: number) => void>(() => undefined);
  const trouble = useChecked(chosen, choose);

  const pick = async (name: string) => {
    setPicked(name);
    if (!name) return;
    try {
      const { profile } = await read<{ profile: string }>(`profiles/${encodeURIComponent(name)}`);
      choose(instead(chosen, profile, name));
      setWrong(null);
    } catch (error) {
      setWrong(error);
    }
  };
  const edit = (text: string) => choose(edited(chosen, text));
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
      <ProfileText text={chosen.text} edit={edit} errors={chosen.check?.errors ?? null} show={show} />
      <Wrong problem={wrong ?? trouble ?? profiles.problem} />
      <Findings chosen={chosen} show={(line) => show.current(line)} />
      <Before chosen={chosen} choose={choose} />
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
  /** Errors of the check; null while it runs: those before stay. */
  errors: ProblemPlace[] | null;
  /** How to put the cursor on a line. */
  show: { current: (line: number) => void };
}

const LABEL = "Profile text, YAML or JSON";

/** The text in the editor, for measurements of the page itself. */
export const shownText = { current: "", isEditor: false };

let schema: Schema | null = null;
let code: typeof import("./code") | null = null;

/** The editor's code and the schema: loaded once, when they are first needed. */
async function load(): Promise<void> {
  read<Schema>("profile.schema.json").then((found) => (schema = found), () => undefined);
  code = await import("./code");
}

/** The text with its line numbers, errors at their lines, completion and descriptions; a plain field until the editor is loaded. */
export function ProfileText({ text, edit, errors, show }: Written) {
  const [loaded, setLoaded] = useState(code !== null);
  const place = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const editor = useRef<Code | null>(null);
  const ports = usePoll<Port[]>("ports", 10_000);
  // Callbacks of the editor find what is current.
  const now = useRef({ text, edit, ports: ports.value ?? [] });
  now.current = { text, edit, ports: ports.value ?? [] };
  shownText.current = text;
  useEffect(() => {
    let gone = false;
    // Without it, the plain field does.
    if (!loaded) load().then(() => !gone && setLoaded(true), () => undefined);
    return () => void (gone = true);
  }, []);
  useLayoutEffect(() => {
    if (!loaded || !code || !place.current) return undefined;
    const made = code.mount(place.current, {
      text: now.current.text,
      label: LABEL,
      changed: (text) => now.current.edit(text),
      schema: () => schema,
      words: (path) => words(path, now.current.text, now.current.ports),
    });
    editor.current = made;
    shownText.isEditor = true;
    return () => {
      made.close();
      editor.current = null;
      shownText.isEditor = false;
    };
  }, [loaded]);
  // In the same turn as the change: what is typed afterwards must not meet an older text.
  useLayoutEffect(() => {
    if (editor.current && editor.current.text() !== text) editor.current.set(text);
  }, [text, loaded]);
  useLayoutEffect(() => {
    if (errors || !text.trim()) editor.current?.mark(errors ?? []);
  }, [errors, text, loaded]);
  show.current = (line) => (editor.current ? editor.current.show(line) : select(plain.current, line));
  const begin = (field: HTMLTextAreaElement | null) => {
    // The cursor stays where it is when the editor takes over.
    if (!field && plain.current && document.activeElement === plain.current) {
      const at = plain.current.selectionStart;
      queueMicrotask(() => editor.current?.focus(at));
    }
    plain.current = field;
  };
  if (loaded) return <div class="editor" key="code" ref={place} />;
  return (
    <div class="editor" key="plain">
      <textarea
        ref={begin}
        aria-label={LABEL}
        spellcheck={false}
        autocapitalize="off"
        value={text}
        onInput={(event) => edit(event.currentTarget.value)}
      />
    </div>
  );
}

/** Keys whose values are names of the profile's ports. */
const OF_PORTS = ["from", "to", "also_to", "port"];

/** Values that the schema can't know: devices of this machine, names of this profile's ports. */
function words(path: Step[], text: string, ports: Port[]): string[] {
  const key = path.filter((step) => typeof step === "string").pop();
  if (path[0] === "ports") {
    const free = ports.filter((port) => port.allowed);
    return key === "device" ? free.map((port) => (port.kind === "interface" ? port.name : port.device)) : [];
  }
  if (!OF_PORTS.includes(String(key))) return [];
  return [...new Set(fields(text).filter((field) => field.path[0] === "ports" && field.path.length > 2).map((field) => field.path[1]!))];
}

/** Puts the cursor of the plain field on a line. */
function select(area: HTMLTextAreaElement | null, line: number): void {
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
