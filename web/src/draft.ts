/** Profiles that are being written: they outlast their page and a failed start, until the window is closed. */

import { useState } from "preact/hooks";
import { type Chosen, NOTHING } from "./editor";

const KEY = "eagre.draft.";
const drafts = new Map<string, Chosen>();

/** Keeps a text in the window; null removes it. Text that the browser has no room for lasts as long as the page. */
function store(key: string, text: string | null): void {
  try {
    if (text) sessionStorage.setItem(KEY + key, text);
    else sessionStorage.removeItem(KEY + key);
  } catch {
    // The copy in memory is enough.
  }
}

/** The draft of a name. */
export function draftOf(key: string): Chosen {
  const known = drafts.get(key);
  if (known) return known;
  const [text, before] = [key, `${key}.before`].map((name) => sessionStorage.getItem(KEY + name));
  return text === null ? NOTHING : { ...NOTHING, text: text!, before: before ?? null };
}

/** Keeps a draft under a name. */
export function keepDraft(key: string, draft: Chosen): void {
  drafts.set(key, draft);
  store(key, draft.text);
  store(`${key}.before`, draft.before);
}

const values = new Map<string, unknown>();

/** A value that a user types or picks beside a profile: it outlasts its page as the profile does. */
export function useKept<T>(key: string, initial: T): [T, (next: T) => void] {
  const [, again] = useState({});
  if (!values.has(key)) {
    const stored = sessionStorage.getItem(KEY + key);
    values.set(key, stored === null ? initial : JSON.parse(stored));
  }
  const set = (next: T) => {
    values.set(key, next);
    store(key, JSON.stringify(next));
    again({});
  };
  return [values.get(key) as T, set];
}

/** The draft of a name, and how to change it. */
export function useDraft(key: string): [Chosen, (next: Chosen) => void] {
  const [, again] = useState({});
  const choose = (next: Chosen) => {
    keepDraft(key, next);
    again({});
  };
  return [draftOf(key), choose];
}
