/** Profiles that are being written: they outlast their page and a failed start, until the window is closed. */

import { useState } from "preact/hooks";
import { type Chosen, NOTHING } from "./editor";

const KEY = "eagre.draft.";
const drafts = new Map<string, Chosen>();

function kept(key: string): Chosen {
  const known = drafts.get(key);
  if (known) return known;
  const stored = sessionStorage.getItem(KEY + key);
  return stored === null ? NOTHING : { ...NOTHING, text: stored };
}

/** Keeps a draft under a name. Text that the browser has no room for lasts as long as the page. */
export function keepDraft(key: string, draft: Chosen): void {
  drafts.set(key, draft);
  try {
    if (draft.text) sessionStorage.setItem(KEY + key, draft.text);
    else sessionStorage.removeItem(KEY + key);
  } catch {
    // The copy in memory is enough.
  }
}

/** The draft of a name, and how to change it. */
export function useDraft(key: string): [Chosen, (next: Chosen) => void] {
  const [, again] = useState({});
  const choose = (next: Chosen) => {
    keepDraft(key, next);
    again({});
  };
  return [kept(key), choose];
}
