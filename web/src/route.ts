/** The page that is open, and its options: `#/runs/ID?from=2&to=5`. A copied address shows the same. */

import { Signal } from "./signal";

const [path, query] = [() => location.hash.replace(/^#\/?/, "").split("?")[0]!, () => location.hash.split("?")[1] ?? ""];
const parse = (): string[] => path().split("/").filter(Boolean).map(decodeURIComponent);

/** The parts of the address: `runs` and `ID`. */
export const route = new Signal<string[]>(parse());

/** The options after the question mark. */
export const written = new Signal<string>(query());

addEventListener("hashchange", () => {
  route.value = parse();
  written.value = query();
});

/** Options of a page, as written after the question mark. */
export class Options {
  private readonly values: URLSearchParams;

  constructor(text: string) {
    this.values = new URLSearchParams(text);
  }

  text(name: string): string | null {
    return this.values.get(name);
  }

  /** The part of a time axis between `from` and `to`, s; null if it is the whole. */
  range(): [number, number] | null {
    const [from, to] = [this.values.get("from"), this.values.get("to")].map((value) => (value ? Number(value) : NaN));
    return from! >= 0 && to! > from! && Number.isFinite(to) ? [from!, to!] : null;
  }

  /** The same with other values; `null` leaves one out. */
  with(values: Record<string, string | number | null>): string {
    const next = new URLSearchParams(this.values);
    for (const [name, value] of Object.entries(values)) {
      if (value === null) next.delete(name);
      else next.set(name, typeof value === "number" ? String(Math.round(value * 1000) / 1000) : value);
    }
    return next.toString();
  }
}

/** Changes options of this page: in the address too, but not as a page to go back to. */
export function show(values: Record<string, string | number | null>): void {
  const text = new Options(written.value).with(values);
  history.replaceState(null, "", `#/${path()}${text && `?${text}`}`);
  written.value = text;
}

/** The address of a page. */
export const to = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export const go = (...parts: string[]): void => void (location.hash = to(...parts));
