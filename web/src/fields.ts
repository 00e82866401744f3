/**
 * The values of a profile that a form shows: where each is in the text, so that a value typed there replaces that piece of the
 * text and nothing else. Comments and order stay as they are. Reads the part of YAML that profiles to start from are written in:
 * block and flow mappings, lists, plain and quoted scalars. Knows no DOM.
 */

export interface Field {
  /** Keys down to it: `ports`, `west`, `device`. An item of a list has its name, else its number. */
  path: string[];
  value: string;
  /** Where the value is in the text, with its quotes. */
  from: number;
  to: number;
}

/** Keys that a form shows, and their labels. */
const ASKED: Record<string, string> = {
  device: "Port",
  ip: "Address",
  gateway: "Gateway",
  speed: "Link speed",
  addresses: "Addresses",
  host: "Host name",
  server_name: "Host name (TLS)",
  size: "Frame length",
  rate: "Rate",
  open: "Opened",
  duration: "Duration",
};

/** Label of a field in a form; null if it is not shown. */
export function label({ path }: Field): string | null {
  const name = ASKED[path[path.length - 1]!] ?? null;
  const side = path[path.length - 2];
  if (name && (side === "client" || side === "server")) return `${side === "client" ? "Clients'" : "Servers'"} ${name.toLowerCase()}`;
  return name;
}

/** Part of the profile that a field belongs to: `west`, `http`, `load`. */
export const owner = ({ path }: Field): string => (path.length > 2 ? path[1]! : path[0]!);

/** The text with another value in a field's place. */
export function replaced(text: string, field: Field, value: string): string {
  return text.slice(0, field.from) + written(value) + text.slice(field.to);
}

/** A scalar as YAML needs it between the braces of a flow mapping. */
const written = (value: string): string => (/^[\w./-]+(:[\w./-]+)*$/.test(value) ? value : JSON.stringify(value));

/** All fields of a text, in their order. */
export function fields(text: string): Field[] {
  const all: Field[] = [];
  const open: { indent: number; key: string }[] = [];
  const numbers: Record<string, number> = {};
  for (let at = 0; at < text.length; ) {
    const end = lineEnd(text, at);
    const line = text.slice(at, end);
    const found = /^( *)(- +)?(?:([\w.]+|"[^"]*"):(?: +|$))?/.exec(line)!;
    const [whole, spaces, dash, key] = [found[0], found[1]!, found[2], found[3]];
    let indent = spaces.length;
    if (!line.trim() || line.trim().startsWith("#")) {
      at = end + 1;
      continue;
    }
    while (open.length && open[open.length - 1]!.indent >= indent) open.pop();
    const keys = () => open.map((one) => one.key);
    if (dash) {
      const list = keys().join("/");
      numbers[list] = (numbers[list] ?? 0) + 1;
      open.push({ indent, key: String(numbers[list]) });
      indent += dash.length;
    }
    let from = at + whole.length;
    if (key === undefined && !(dash && text[from] === "{")) {
      at = end + 1;
      continue;
    }
    if (key !== undefined) open.push({ indent, key: key.replace(/"/g, "") });
    if (text[from] === "{") at = lineEnd(text, flow(text, from, keys(), all)) + 1;
    else if (text[from] === "[") at = lineEnd(text, skip(text, from)) + 1;
    else {
      while (text[from] === " ") from++;
      scalar(text, from, end, keys(), all);
      at = end + 1;
    }
  }
  return named(all);
}

const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
};

/** A scalar that ends at `end` at the latest, or before a comment. */
function scalar(text: string, from: number, end: number, path: string[], all: Field[]): void {
  const quoted = /^("(?:[^"\\]|\\.)*"|'[^']*')/.exec(text.slice(from, end));
  const piece = quoted ? quoted[0] : text.slice(from, end).replace(/ +#.*$/, "").trimEnd();
  if (piece) all.push({ path, value: plain(piece), from, to: from + piece.length });
}

function plain(piece: string): string {
  if (piece.startsWith("'")) return piece.slice(1, -1);
  if (!piece.startsWith('"')) return piece;
  try {
    return JSON.parse(piece);
  } catch {
    return piece.slice(1, -1);
  }
}

/** A flow mapping that begins at `at`; returns where it is over. */
function flow(text: string, at: number, path: string[], all: Field[]): number {
  at++;
  while (at < text.length) {
    at = blank(text, at);
    if (text[at] === "}") return at + 1;
    if (text[at] === ",") {
      at++;
      continue;
    }
    const key = /^([\w.*-]+|"[^"]*")\s*:\s*/.exec(text.slice(at));
    if (!key) {
      at = piece(text, at);
      continue;
    }
    at += key[0].length;
    const inner = [...path, key[1]!.replace(/"/g, "")];
    if (text[at] === "{") at = flow(text, at, inner, all);
    else if (text[at] === "[") at = skip(text, at);
    else {
      const end = piece(text, at);
      scalar(text, at, end, inner, all);
      at = end;
    }
  }
  return at;
}

/** Where blanks and comments end. */
function blank(text: string, at: number): number {
  for (;;) {
    while (/\s/.test(text[at] ?? "")) at++;
    if (text[at] !== "#") return at;
    at = lineEnd(text, at);
  }
}

/** Where a scalar within braces ends. */
function piece(text: string, at: number): number {
  const quote = text[at];
  if (quote === '"' || quote === "'") {
    const end = text.indexOf(quote, at + 1);
    return end < 0 ? text.length : end + 1;
  }
  const from = at;
  while (at < text.length && !/[,}\n]/.test(text[at]!)) at++;
  return Math.max(at, from + 1);
}

/** Where a flow list ends. */
function skip(text: string, at: number): number {
  let depth = 0;
  for (; at < text.length; at++) {
    if (text[at] === "[") depth++;
    if (text[at] === "]" && --depth === 0) return at + 1;
  }
  return at;
}

/** Items of lists by their names. */
function named(all: Field[]): Field[] {
  const names = new Map<string, string>();
  for (const { path, value } of all) {
    if (path.length === 3 && path[2] === "name") names.set(path.slice(0, 2).join("/"), value);
  }
  return all.map((field) => {
    const name = names.get(field.path.slice(0, 2).join("/"));
    return name ? { ...field, path: [field.path[0]!, name, ...field.path.slice(2)] } : field;
  });
}
