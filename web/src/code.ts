/**
 * The editor of profiles: CodeMirror with completion and descriptions by the JSON Schema, and errors at their lines. Loaded when the
 * first editor is shown; until then, and without it, a plain text field does. Shares nothing with the rest of the page.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, type CompletionContext, completionKeymap, type CompletionResult, pickedCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers, type Tooltip } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { type Place, placeAt, type Step, unquoted, wordAt } from "./place";
import { aboutAt, type Choice, keysAt, type Schema, valuesAt } from "./schema";

/** An error of the check. */
export interface Fault {
  line?: number | null;
  path: string;
  reason: string;
}

export interface CodeOptions {
  text: string;
  label: string;
  /** The text was changed by the user. */
  changed: (text: string) => void;
  /** The schema, once it is known. */
  schema: () => Schema | null;
  /** Values at a path that no schema knows: ports of this machine, names in this text. */
  words: (path: Step[]) => string[];
}

/** An editor on the page. */
export interface Code {
  text: () => string;
  /** Shows another text; as one change, which can be undone. Cursor and scroll position stay where the text is the same. */
  set: (text: string) => void;
  /** Shows errors at their lines instead of those before. */
  mark: (faults: Fault[]) => void;
  /** Selects a line and takes the focus. */
  show: (line: number) => void;
  focus: (at: number) => void;
  close: () => void;
}

/** Puts an editor into an element. */
export function mount(parent: HTMLElement, options: CodeOptions): Code {
  // Changes from outside are not reported back.
  let own = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        indentUnit.of("  "),
        yaml(),
        syntaxHighlighting(classHighlighter),
        autocompletion({ override: [(context) => complete(context, options)], icons: false }),
        hoverTooltip((at, pos) => described(at.state, pos, options.schema())),
        EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false", autocapitalize: "off" }),
        // Tab leaves the editor, as it leaves any other field.
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !own) options.changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (text) => {
      own = true;
      view.dispatch({ changes: difference(view.state.doc.toString(), text) });
      own = false;
    },
    mark: (faults) => view.dispatch(setDiagnostics(view.state, diagnostics(view.state.doc, faults))),
    show: (number) => {
      const line = view.state.doc.line(Math.max(1, Math.min(number, view.state.doc.lines)));
      view.dispatch({ selection: { anchor: line.from, head: line.to }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
      view.focus();
    },
    focus: (at) => {
      view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) } });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

/** The piece in which two texts differ. */
function difference(before: string, after: string): { from: number; to: number; insert: string } {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let [to, end] = [before.length, after.length];
  while (to > from && end > from && before[to - 1] === after[end - 1]) [to, end] = [to - 1, end - 1];
  return { from, to, insert: after.slice(from, end) };
}

/** Errors at the keys that they name, or at their whole lines. */
function diagnostics(doc: Text, faults: Fault[]): Diagnostic[] {
  return faults.flatMap(({ line: number, path, reason }) => {
    if (number == null || number < 1) return [];
    // The end of a text that is not complete is behind its last line.
    const line = doc.line(Math.min(number, doc.lines));
    const key = /([\w-]+)(?:\[\d+\])*$/.exec(path)?.[1];
    const pair = key ? new RegExp(`(?<![\\w.-])["']?${key}["']?\\s*:\\s*("[^"]*"|'[^']*'|[^,}\\]#]*)`).exec(line.text) : null;
    const from = line.from + (pair?.index ?? line.text.search(/\S|$/));
    const to = pair ? from + pair[0].trimEnd().length : line.from + line.text.trimEnd().length;
    return [{ from, to: Math.max(from, to), severity: "error" as const, message: reason }];
  });
}

function complete(context: CompletionContext, { schema, words }: CodeOptions): CompletionResult | null {
  const root = schema();
  const text = context.state.doc.toString();
  const place = root && placeAt(text, context.pos);
  if (!place) return null;
  const word = unquoted(text.slice(place.from, context.pos));
  if (!context.explicit && !word) return null;
  const options: Completion[] = [];
  if (place.at === "key") {
    const keys = keysAt(root, place.path, keysAround(text, place));
    options.push(...keys.map((key) => ofKey(key, place, text, context.pos)));
  }
  // A list's item and a value that has no line yet may be a mapping or a name.
  if (place.at === "value" || !place.keys.length) {
    options.push(...words(place.path).map((name) => ofValue({ name, about: "", opens: null, required: false }, 2)));
    options.push(...valuesAt(root, place.path).map((value) => ofValue(value, 1)));
  }
  // Nothing is left to complete: Enter is to end the line.
  if (!context.explicit && options.some((one) => one.label === word && place.at === "value")) return null;
  const quote = /["']/.exec(text[place.from] ?? "")?.[0] ?? "";
  const quoted = quote ? options.map((one) => ({ ...one, apply: within(quote, String(one.apply)) })) : options;
  return options.length ? { from: place.from + quote.length, options: quoted, validFor: /^[\w.:-]*$/ } : null;
}

/** Writes a completion in the place of a quoted word, whose closing quote may be there. */
function within(quote: string, written: string) {
  return (view: EditorView, completion: Completion, from: number, to: number): void => {
    const end = view.state.sliceDoc(to, to + 1) === quote ? to + 1 : to;
    const changes = { from: from - 1, to: end, insert: written };
    const selection = { anchor: from - 1 + written.length };
    view.dispatch({ changes, selection, userEvent: "input.complete", annotations: pickedCompletion.of(completion) });
  };
}

/** Keys of the mapping before and after a place. */
function keysAround(text: string, place: Place): string[] {
  if (place.flow) return place.keys;
  const after = [];
  for (const line of text.slice(place.from).split("\n").slice(1)) {
    if (!line.trim()) continue;
    const indent = line.search(/\S/);
    if (indent < place.column || (indent === place.column && line[indent] === "-")) break;
    const key = indent === place.column && /^([\w.-]+|"[^"]*")\s*:/.exec(line.trim());
    if (key) after.push(unquoted(key[1]!));
  }
  return [...place.keys, ...after];
}

function ofKey({ name, about, opens, required }: Choice, place: Place, text: string, pos: number): Completion {
  const json = text.trimStart().startsWith("{");
  const written = json || !/^[\w.-]+$/.test(name) ? JSON.stringify(name) : name;
  const hasColon = /^[\w.-]*["']?\s*:/.test(text.slice(pos));
  const inner = " ".repeat(Math.max(0, place.column) + 2);
  const rest = hasColon ? "" : opens && !place.flow ? `:\n${inner}${opens === "list" ? "- " : ""}` : ": ";
  return { label: name, detail: required ? "required" : undefined, info: about || undefined, boost: required ? 9 : 0, apply: written + rest };
}

function ofValue({ name, about }: Choice, boost: number): Completion {
  const remark = about === "default" || about === "example";
  const apply = /^[\w./%-]+(:[\w./-]+)*$/.test(name) ? name : JSON.stringify(name);
  return { label: name, detail: remark ? about : undefined, info: remark || !about ? undefined : about, boost, apply };
}

/** Description of the key or value under the pointer. */
function described(state: EditorState, pos: number, root: Schema | null): Tooltip | null {
  const found = root && wordAt(state.doc.toString(), pos);
  const about = found && aboutAt(root, found.path, found.isKey ? null : found.word);
  if (!about) return null;
  return {
    pos: found.from,
    end: found.to,
    above: true,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "about";
      const name = dom.appendChild(document.createElement("code"));
      name.textContent = found.path.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i ? "." : ""}${step}`)).join("");
      dom.append(` ${about}`);
      return { dom };
    },
  };
}
