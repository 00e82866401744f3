/** Figures as people read them: SI prefixes, three significant digits, times and counts. Knows no DOM. */

/** What stands where nothing was measured. */
export const NONE = "–";

type Figure = number | null | undefined;

const missing = (value: Figure): value is null | undefined => value == null || !Number.isFinite(value);

/** Three significant digits, never in powers of ten: 1.23, 12.3, 123. */
function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/** A value with an SI prefix: 1.20 M, 3.40 G. Below one without: 0.50. */
export function si(value: Figure, unit: string): string {
  if (missing(value)) return NONE;
  let scaled = value;
  let prefix = "";
  for (const next of ["k", "M", "G", "T", "P"]) {
    if (Math.abs(scaled) < 999.5) break;
    scaled /= 1000;
    prefix = next;
  }
  const text = prefix === "" && Number.isInteger(value) ? String(value) : three(scaled);
  return `${text} ${prefix}${unit}`.trim();
}

/** Packets per second. */
export const pps = (value: Figure): string => si(value, "pps");

/** Bits per second at layer 1. */
export const bpsL1 = (value: Figure): string => (missing(value) ? NONE : `${si(value, "bps")} L1`);

/** Bits per second of applications. */
export const bps = (value: Figure): string => si(value, "bps");

/** Without zeros at the end, as the marks of an axis are: 1 Mpps, not 1.00 Mpps. */
export const tidy = (text: string): string => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

/** Events per second. */
export const perSecond = (value: Figure): string => (missing(value) ? NONE : `${si(value, "")}/s`.replace(" /s", "/s"));

/** Nanoseconds as ns, µs, ms or s. */
export function time(ns: Figure): string {
  if (missing(ns)) return NONE;
  if (ns < 999.5) return `${Number.isInteger(ns) ? ns : three(ns)} ns`;
  if (ns < 999.5e3) return `${three(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${three(ns / 1e6)} ms`;
  return `${three(ns / 1e9)} s`;
}

/** Seconds as 12.3 s, 3:05 min or 1:02:03 h. */
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

/** A share in percent, small ones with as many digits as they need; one that is not zero never looks like zero. */
export function ratio(value: Figure): string {
  if (missing(value)) return NONE;
  const percent = value * 100;
  const size = Math.abs(percent);
  if (size === 0) return "0%";
  if (size < 0.0001) return "< 0.0001%";
  if (size < 0.01) return `${percent.toFixed(4)}%`;
  if (size < 1) return `${percent.toFixed(3)}%`;
  return `${three(percent)}%`;
}

/** A difference in percent, with its sign. */
export const change = (value: Figure): string =>
  missing(value) ? NONE : `${value > 0 ? "+" : value < 0 ? "−" : "±"}${ratio(Math.abs(value))}`;

/** A figure in a unit as results have it: pps, bps, ns, s, frames, ratio, /s. */
export function inUnit(value: Figure, unit: string): string {
  switch (unit) {
    case "ns":
      return time(value);
    case "s":
      return duration(value);
    case "ratio":
      return ratio(value);
    case "/s":
      return perSecond(value);
    case "frames":
    case "sessions":
      return missing(value) ? NONE : `${count(value)} ${unit}`;
    default:
      return si(value, unit);
  }
}

/** An RFC 3339 instant in the reader's zone. */
export function instant(text: string | null | undefined): string {
  if (!text) return NONE;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "medium" });
}

/** A number and a word that agrees with it: 1 stream, 2 streams. */
export const several = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
