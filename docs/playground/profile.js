// Finds and changes values in a profile's text, which stays as its author wrote it otherwise.

// The text without comments, of the same length.
function bare(text) {
  return text.replace(/(^|\s)#[^\n]*/g, comment => comment.replace(/[^\n]/g, " "));
}

// Where the value of a path of keys is, as [start, end]; undefined if there is none. The first key is one of the document; each
// further key is the next one of its name, in block or in flow style.
export function place(text, path) {
  const clean = bare(text);
  const [section, ...keys] = path;
  const begin = new RegExp(`^${section}\\s*:`, "m").exec(clean);
  if (!begin) return undefined;
  let at = begin.index + begin[0].length;
  const rest = clean.slice(at);
  const over = /^\S/m.exec(rest.replace(/^[^\n]*/, line => " ".repeat(line.length)));
  const end = over ? at + over.index : clean.length;
  for (const key of keys) {
    const found = new RegExp(`(^|[\\s{,])${key}\\s*:`, "m").exec(clean.slice(at, end));
    if (!found) return undefined;
    at += found.index + found[0].length;
  }
  const value = /^[ \t]*([^\s,}\n][^,}\n]*?)[ \t]*(?=[,}\n]|$)/.exec(clean.slice(at, end));
  if (!value) return undefined;
  const start = at + value[0].indexOf(value[1]);
  return [start, start + value[1].length];
}

export function read(text, path) {
  const found = place(text, path);
  return found && text.slice(...found);
}

export function write(text, path, value) {
  const found = place(text, path);
  return found ? text.slice(0, found[0]) + value + text.slice(found[1]) : text;
}

const RATE = { "": 1, k: 1e3, M: 1e6, G: 1e9 };
const TIME = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

// Three digits are as many as one sees.
function short(number) {
  return String(Number(number.toPrecision(3)));
}

function scaled(number, units) {
  const [name, factor] = Object.entries(units).filter(([, factor]) => number >= factor).at(-1) ?? Object.entries(units)[0];
  return [short(number / factor), name];
}

// Kinds of values: how a profile writes them, as numbers.
export const kinds = {
  pps: {
    parse: text => { const m = /^([\d.]+)\s*(|k|M|G)pps$/.exec(text); return m ? m[1] * RATE[m[2]] : undefined; },
    print: number => { const [n, unit] = scaled(number, RATE); return `${n}${unit}pps`; },
  },
  perSecond: {
    parse: text => { const m = /^([\d.]+)\s*\/s$/.exec(text); return m ? Number(m[1]) : undefined; },
    print: number => `${Math.round(number)}/s`,
  },
  time: {
    parse: text => { const m = /^([\d.]+)\s*(ns|us|µs|ms|s)$/.exec(text); return m ? m[1] * TIME[m[2]] : undefined; },
    print: number => { const [n, unit] = scaled(number, { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }); return `${n}${unit}`; },
  },
  percent: {
    parse: text => { const m = /^([\d.]+)\s*%$/.exec(text); return m ? Number(m[1]) : undefined; },
    print: number => `${short(number)}%`,
  },
  count: {
    parse: text => /^\d+$/.test(text) ? Number(text) : undefined,
    print: number => String(Math.round(number)),
  },
};
