/**
 * Figures as text: SI prefixes, at most four figures, times and counts. The same texts as `core/units` writes in
 * summaries and reports; tests/texts.json checks both. Knows no DOM.
 */

/** Text for a value that was not measured. */
export const NONE = "–";

type Figure = number | null | undefined;

const missing = (value: Figure): value is null | undefined => value == null || !Number.isFinite(value);

/** Without zeros behind the point. */
const trimmed = (text: string): string => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);

/** Four figures, never in powers of ten: 1.234, 12.34, 123.4. */
function four(value: number): string {
  const size = Math.abs(value);
  return trimmed(value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3));
}

/** The largest of `steps` that a value reaches when it is rounded, and the value in it. */
function scaled(value: number, steps: [number, string][], base: string): [number, string] {
  for (const [size, prefix] of steps) if (Math.abs(value) >= size * 0.99995) return [value / size, prefix];
  return [value, base];
}

/** A value with an SI prefix: 1.2 Mpps, 3.4 Gbps. Below one without: 0.5. */
export function si(value: Figure, unit: string): string {
  if (missing(value)) return NONE;
  const [size, prefix] = scaled(value, [[1e9, "G"], [1e6, "M"], [1e3, "k"]], "");
  return `${four(size)} ${prefix}${unit}`.replace(" /", "/").trim();
}

/** Packets per second. */
export const pps = (value: Figure): string => si(value, "pps");

/** Bits per second at layer 1. */
export const bpsL1 = (value: Figure): string => (missing(value) ? NONE : `${si(value, "bps")} L1`);

/** Bits per second of applications. */
export const bps = (value: Figure): string => si(value, "bps");

/** Events per second. */
export const perSecond = (value: Figure): string => si(value, "/s");

/** Nanoseconds as ns, µs, ms or s. */
export function time(ns: Figure): string {
  if (missing(ns)) return NONE;
  const [size, unit] = scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], "ns");
  return `${four(size)} ${unit}`;
}

/** Elapsed or remaining time, rounded: 12 s, 3:05 min or 1:02:03 h. */
export function duration(s: Figure): string {
  if (missing(s)) return NONE;
  if (s < 60) return `${s < 10 ? Math.round(s * 10) / 10 : Math.round(s)} s`;
  const whole = Math.round(s);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds)} h` : `${minutes}:${two(seconds)} min`;
}

/** A mark on a time axis: 12s, 3:05. */
export function clock(s: number): string {
  if (s < 60) return `${Math.round(s * 100) / 100} s`;
  return duration(s).replace(/ (min|h)$/, "");
}

const GROUPED = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** A whole number: 1,234,567. */
export const count = (value: Figure): string => (missing(value) ? NONE : GROUPED.format(value));

/** A share in percent, with enough digits to distinguish it from 0% and 100%. */
export function ratio(value: Figure): string {
  if (missing(value)) return NONE;
  const percent = value * 100;
  const size = Math.abs(percent);
  if (size === 0) return "0%";
  if (size < 1e-7) return `${percent.toExponential(1)}%`;
  let digits = size < 1 ? 2 - Math.floor(Math.log10(size)) : 2;
  while (digits < 7 && size < 100 && 100 - size < 10 ** -digits) digits++;
  return `${trimmed(percent.toFixed(digits))}%`;
}

/** A difference in percent, with its sign. */
export const change = (value: Figure): string =>
  missing(value) ? NONE : `${value > 0 ? "+" : value < 0 ? "−" : ""}${ratio(Math.abs(value))}`;

/** A figure in a unit as results have it: pps, bps, ns, s, frames, ratio, /s. */
export function inUnit(value: Figure, unit: string): string {
  switch (unit) {
    case "ns":
      return time(value);
    case "s":
      return time(missing(value) ? value : value * 1e9);
    case "ratio":
      return ratio(value);
    case "/s":
      return perSecond(value);
    case "frames":
    case "sessions":
    case "":
      return missing(value) ? NONE : Number.isInteger(value) ? `${count(value)} ${unit}`.trim() : si(value, unit);
    default:
      return si(value, unit);
  }
}

/** A figure of a document in the unit of its name: `streams.a.latency_ns.p99`, `loss_ratio`; as reports write it. */
export function measured(path: string, value: number): string {
  for (const name of path.split(".").reverse()) {
    if (name.endsWith("_ns") || name === "ns") return time(value);
    if (name.endsWith("ratio") || name === "share") return ratio(value);
    if (name.endsWith("_pps")) return pps(value);
    if (name.endsWith("_per_s")) return perSecond(value);
    if (name.includes("_bps")) return bps(value);
    if (name.endsWith("_bytes") || name.startsWith("bytes")) return `${count(value)} B`;
    if (name.endsWith("_s")) return time(value * 1e9);
  }
  return inUnit(value, "");
}

/** An RFC 3339 instant in the reader's zone. */
export function instant(text: string | null | undefined): string {
  if (!text) return NONE;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "medium" });
}

/** A number and a word that agrees with it: 1 stream, 2 streams. */
export const several = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

const SECONDS: Record<string, number> = { "": 1, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

/** Seconds from typed text: `2`, `2s`, `500ms`, `1.5min`. */
export function seconds(text: string): number {
  const [, number, unit] = /^(\d+\.?\d*|\.\d+)\s*([a-z]*)$/.exec(text.trim()) ?? [];
  const factor = SECONDS[unit ?? "none"];
  if (factor === undefined) throw new Error(`'${text}' is not a duration such as 10, 500ms or 2min.`);
  return Number(number) * factor;
}
