/** How protocols are shown: the types of their files, and cells that several have. */

import type { ComponentChildren } from "preact";
import { count, duration, NONE, several } from "../format";
import type { Row } from "../tables";
import type { PortResult, ProtocolCounts, ProtocolStates } from "../types";

export type Cell = ComponentChildren;

/** How the hosts of one protocol are listed: its columns and counts. */
export interface Kind<T> {
  caption: string;
  /** Name of its rows, as the head of the first column. */
  one: string;
  total: keyof ProtocolCounts;
  /** Those of them that are up, if all are to be. */
  up?: keyof ProtocolCounts;
  /** The counts in words. */
  said: (counts: ProtocolCounts) => string;
  /** A row's name, and a key that no other row has. */
  name: (row: T) => string;
  key: (row: T) => string;
  columns: [string, (row: T) => Cell][];
  /** Its name where a command has disabled it. */
  disabled?: string;
  /** Its rows of a port in a result, if that has them. */
  ended?: (port: string, end: PortResult) => T[];
  /** Neighbours that its hosts know. */
  neighbours?: Neighbours;
}

/** A table of neighbours: in an active run, and of a port in a result. */
export interface Neighbours {
  caption: string;
  heads: string[];
  total: keyof ProtocolCounts;
  now: (states: ProtocolStates) => Row[];
  ended: (port: string, end: PortResult) => Row[];
}

/** A protocol of a port in a result: its name, and at the end, before traffic, sent, received, lost. */
export type Outcome<T> = [string, (end: T) => [string, string, string, string, Cell]];

/** A state in a word, with a sign. */
export const state = (up: boolean, word: string): Cell => (up ? <span class="good">✓ {word}</span> : <span class="warn">◔ {word}</span>);
export const since = (s: number | null | undefined) => (s == null ? NONE : duration(s));
export const bad = (n: number) => (n ? <span class="bad">✕ {count(n)}</span> : "0");
export const why = (reason: string | null | undefined) => (reason ? <span class="why">{reason}</span> : NONE);
export const known = (text: string | number | null | undefined) => text ?? NONE;
export const sum = (numbers: object) => Object.values(numbers).reduce<number>((all, n) => all + n, 0);
export const of = (n: number, all: number, noun: string) => `${count(n)} of ${several(all, noun)}`;
export const word = (text: string, isDown: boolean) => (isDown ? "taken down" : text.replaceAll("_", " "));
/** A lease's duration: 2³² − 1 s is for ever (RFC 2131 section 3.3). */
export const lease = (s: number | null) => (s === 0xffffffff ? "ever" : since(s));
export const lost = (n: number) => (n ? <span class="bad">✕ {count(n)}</span> : "none");
