/**
 * Which part of a profile a place in its text belongs to: the keys down to it, and whether a key or a value is written there. Reads
 * only the text before the place, so that it works in the middle of a line that is not finished. Knows YAML's block and flow
 * mappings and lists, and JSON, which is a part of them. Knows no schema and no DOM.
 */

/** A step down: a key, or an item of a list. */
export type Step = string | number;

export interface Place {
  /** Steps down to the mapping, list or key in which something is written here. */
  path: Step[];
  /** `key`: a key of the mapping at `path`, or a whole value where there is none yet. `value`: the value at `path`. */
  at: "key" | "value";
  /** Where the word begins that is being written, with an opening quote. */
  from: number;
  /** Keys that the mapping has before this place. */
  keys: string[];
  /** Whether it is between braces or brackets. */
  flow: boolean;
  /** Column of keys of the mapping at `path`. */
  column: number;
}

interface Open {
  kind: "map" | "list";
  flow: boolean;
  /** Column of its keys or dashes; of flow collections, -1. */
  column: number;
  keys: string[];
  /** Number of the current item of a list, from 0. */
  item: number;
  /** Of a flow mapping: whether a colon came after the last key. */
  colon: boolean;
}

const KEY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s\-?:,[\]{}#&*!|>'"%@`][^#:,[\]{}]*?|-[^\s#:,[\]{}][^#:,[\]{}]*?)\s*:(?=\s|$)/;

/** A key or scalar without its quotes, as far as it is written. */
export const unquoted = (text: string): string => (/^"|^'/.test(text) ? text.slice(1).replace(/["']$/, "") : text);

class Reader {
  readonly open: Open[] = [];
  /** Column up to which lines belong to a block of text (`|`); null outside of one. */
  private block: number | null = null;

  constructor(private readonly text: string) {}

  private top(): Open | undefined {
    return this.open[this.open.length - 1];
  }

  /** The collection at a column; deeper ones are closed. */
  private enter(kind: Open["kind"], column: number): Open {
    while (this.open.length) {
      const top = this.top()!;
      // A list may be at the column of the key that it is the value of.
      if (top.column < column || (top.column === column && (top.kind === kind || kind === "list"))) break;
      this.open.pop();
    }
    const top = this.top();
    if (top && top.column === column && top.kind === kind) return top;
    const made: Open = { kind, flow: false, column, keys: [], item: -1, colon: false };
    this.open.push(made);
    return made;
  }

  /** Reads all lines; returns the place after the dashes and keys of the last one. */
  read(): { from: number; column: number; value: boolean } {
    for (let at = 0; ; ) {
      const end = this.text.indexOf("\n", at);
      const found = this.line(at, end < 0 ? this.text.length : end);
      if (found.next >= this.text.length) return found;
      at = found.next + 1;
    }
  }

  /** One line, or more if braces span them; `next` is where it ends. */
  private line(begin: number, end: number): { from: number; column: number; value: boolean; next: number } {
    let at = begin;
    while (at < end && this.text[at] === " ") at++;
    const [indent, last] = [at - begin, end === this.text.length];
    const blank = at === end || this.text[at] === "#" || this.text[at] === "\r";
    if (this.block !== null && (indent > this.block || (blank && !last))) return { from: end, column: -1, value: true, next: end };
    if (blank) {
      if (last) this.enter("map", indent);
      // An empty line at the end is where a key may be written.
      return { from: this.text[at] === "#" ? end : at, column: this.text[at] === "#" ? -1 : indent, value: false, next: end };
    }
    this.block = null;
    while (this.text[at] === "-" && (at + 1 >= end || this.text[at + 1] === " ")) {
      const column = at - begin;
      const list = this.enter("list", column);
      list.item++;
      list.keys = [];
      at++;
      while (at < end && this.text[at] === " ") at++;
    }
    const column = at - begin;
    if (at < end && "{[".includes(this.text[at]!)) return { ...this.flow(at), column };
    const key = KEY.exec(this.text.slice(at, end));
    if (!key) {
      if (last && at === end) return { from: at, column, value: false, next: end };
      if (last) this.enterIfMapping(column);
      return { from: at, column, value: false, next: end };
    }
    this.enter("map", column).keys.push(unquoted(key[1]!));
    at += key[0].length;
    const spaces = at;
    while (at < end && this.text[at] === " ") at++;
    if (last && spaces === at) return { from: spaces, column, value: false, next: end };
    if (at < end && "{[".includes(this.text[at]!)) return { ...this.flow(at), column };
    if (at < end && /^[|>][-+0-9]*\s*$/.test(this.text.slice(at, end))) this.block = column;
    if (/(^|\s)#/.test(this.text.slice(at, end).replace(/"[^"]*"|'[^']*'/g, ""))) return { from: end, column: -1, value: true, next: end };
    return { from: at, column, value: true, next: end };
  }

  /** A word at the end of the text may become a key: of the mapping at its column. */
  private enterIfMapping(column: number): void {
    const top = this.top();
    if (!top || top.column !== column || top.kind === "list") this.enter("map", column);
  }

  /** Collections in braces and brackets, over as many lines as they have. */
  private flow(at: number): { from: number; value: boolean; next: number } {
    const base = this.open.length;
    let from = at;
    while (at < this.text.length) {
      const sign = this.text[at]!;
      const top = this.top()!;
      if (sign === "{" || sign === "[") {
        this.open.push({ kind: sign === "{" ? "map" : "list", flow: true, column: -1, keys: [], item: 0, colon: false });
        from = ++at;
      } else if (sign === "}" || sign === "]") {
        this.open.pop();
        at++;
        if (this.open.length <= base) {
          const end = this.text.indexOf("\n", at);
          return { from: at, value: true, next: end < 0 ? this.text.length : end };
        }
        from = at;
      } else if (sign === ",") {
        if (top.kind === "list") top.item++;
        top.colon = false;
        from = ++at;
      } else if (/\s/.test(sign)) {
        if (from === at) from++;
        at++;
      } else if (sign === "#" && /\s/.test(this.text[at - 1] ?? " ")) {
        const end = this.text.indexOf("\n", at);
        at = from = end < 0 ? this.text.length : end;
      } else {
        const word = /^("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|(?:[^,{}[\]\n:]|:(?=\S))+|:)/.exec(this.text.slice(at))![0];
        if (word === ":") {
          at = from = at + 1;
          continue;
        }
        const after = /^\s*:(?=[\s"'{[]|$)/.exec(this.text.slice(at + word.length));
        if (top.kind === "map" && !top.colon && after && at + word.length < this.text.length) {
          top.keys.push(unquoted(word.trim()));
          top.colon = true;
          at = from = at + word.length + after[0].length;
        } else {
          from = at;
          at += word.length;
        }
      }
    }
    return { from, value: this.top()?.kind !== "map" || this.top()!.colon, next: at };
  }
}

/** The part of a profile at a place in its text. Null in a comment or in a block of text. */
export function placeAt(text: string, at: number): Place | null {
  const before = text.slice(0, at);
  const reader = new Reader(before);
  const { from, column, value } = reader.read();
  const inner = reader.open[reader.open.length - 1];
  if (column === -1) return null;
  if (!inner) return { path: [], at: "key", from, keys: [], flow: false, column: 0 };
  const word = before.slice(from);
  if (inner.flow) {
    const key = inner.kind === "map" && !inner.colon;
    const path = steps(reader.open, key ? 1 : 0);
    return { path, at: key ? "key" : "value", from, keys: inner.keys.slice(0), flow: true, column: -1 };
  }
  if (value) {
    const path = steps(reader.open, 0);
    return { path, at: "value", from, keys: [], flow: false, column };
  }
  // Of a mapping of which nothing is written yet, the path is that of the collections around it.
  const mapping = inner.kind === "map" && inner.column === column;
  const path = steps(reader.open, mapping ? 1 : 0);
  if (!mapping && /:$/.test(word)) return null;
  return { path, at: "key", from, keys: mapping ? inner.keys.slice(0) : [], flow: false, column };
}

/** Steps down through open collections; the last ones, `less` of them, count only as far as they are entered. */
function steps(open: Open[], less: number): Step[] {
  const path: Step[] = [];
  open.forEach((one, i) => {
    if (i >= open.length - less) return;
    if (one.kind === "list") path.push(Math.max(0, one.item));
    else if (one.keys.length) path.push(one.keys[one.keys.length - 1]!);
  });
  return path;
}

/** The word around a place, and whether it is a key: to describe it. Null between words. */
export function wordAt(text: string, at: number): { from: number; to: number; path: Step[]; isKey: boolean; word: string } | null {
  const part = /[\w.\-"'/:]/;
  let end = at;
  while (end < text.length && /[\w.\-]/.test(text[end]!)) end++;
  if (end === at && !part.test(text[at - 1] ?? " ")) return null;
  const place = placeAt(text, end);
  if (!place || place.from >= end) return null;
  const word = unquoted(text.slice(place.from, end).trim());
  if (!word) return null;
  const isKey = place.at === "key" && /^["']?\s*:(\s|$|["'{[])/.test(text.slice(end));
  return { from: place.from, to: end, path: isKey ? [...place.path, word] : place.path, isKey, word };
}
