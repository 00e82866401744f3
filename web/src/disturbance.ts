/** Severity of a disturbance of the tester, from its words: the worst is shown first. Knows no DOM. */

const SECONDS: Record<string, number> = { ns: 1e-9, µs: 1e-6, us: 1e-6, ms: 1e-3, s: 1 };

/** The longest time in a sentence, s: `stalled for 35.2 ms`, `waited 7.99 of 12.06 s`. */
export function weight(about: string): number {
  const waited = [...about.matchAll(/waited ([\d.]+) of [\d.]+ (ns|µs|us|ms|s)\b/g)];
  const rest = about.replace(/ of [\d.]+ (ns|µs|us|ms|s)\b/g, "");
  const others = [...rest.matchAll(/([\d.]+) (ns|µs|us|ms|s)\b/g)];
  return Math.max(0, ...[...waited, ...others].map(([, number, unit]) => Number(number) * SECONDS[unit!]!));
}

/** The heaviest first; among equals the newest. */
export const heaviest = <T extends { about: string; to: number }>(all: readonly T[]): T[] =>
  [...all].sort((a, b) => weight(b.about) - weight(a.about) || b.to - a.to);
