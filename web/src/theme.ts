/** Colour theme: light, dark, or the system's. */

import { Signal } from "./signal";

export type Theme = "system" | "light" | "dark";

const KEY = "eagre.theme";
const stored = localStorage.getItem(KEY);

export const theme = new Signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

/** Changes whenever colours change. */
export const colours = new Signal(0);

const known = new Map<string, string>();

function apply(): void {
  known.clear();
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  colours.value++;
}

theme.follow(() => {
  if (theme.value === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
  apply();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
apply();

/** The value of a colour of the style sheet now. */
export function colour(name: string): string {
  let value = known.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    known.set(name, value);
  }
  return value;
}
