/** Where in the dashboard we are: the parts of `#/runs/ID`. */

import { Signal } from "./signal";

const parse = (): string[] => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);

export const route = new Signal<string[]>(parse());
addEventListener("hashchange", () => (route.value = parse()));

/** The address of a page. */
export const to = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export const go = (...parts: string[]): void => void (location.hash = to(...parts));
