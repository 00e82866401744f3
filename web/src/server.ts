/**
 * The server: calls, event streams, the token. Event streams are read with fetch() so that the token stays in a header
 * and never gets into a URL, a log or the browser's history.
 */

import { EventParser } from "./events";
import { Signal } from "./signal";
import type { ProblemPlace } from "./types";

/** Whether the server responds. */
export const reachable = new Signal(true);

/** Reason for the server to require a token; null if it does not. */
export const tokenWanted = new Signal<string | null>(null);

const TOKEN = "eagre.token";

export const hasToken = (): boolean => sessionStorage.getItem(TOKEN) !== null;

/** Keeps a token for this window until it is closed. */
export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
  tokenWanted.value = null;
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
  tokenWanted.value = "You are signed out.";
}

/** An error from the server (RFC 9457). `status` 0: no response. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly errors: ProblemPlace[] = [],
  ) {
    super(detail);
  }
}

/** An error as a sentence. */
export const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function answer(verb: string, path: string, body: unknown, accept: string, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const request = { method: verb, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null };
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, { ...request, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    reachable.value = false;
    throw new Problem(0, "The server does not respond.");
  }
  reachable.value = true;
  if (response.ok) return response;
  throw await problem(response);
}

async function problem(response: Response): Promise<Problem> {
  const said = await response.json().catch(() => ({})); // perhaps a proxy's page: show the status instead
  const detail = said.detail ?? said.title ?? `The server returned ${response.status} ${response.statusText}.`;
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    tokenWanted.value ??= detail;
  }
  return new Problem(response.status, detail, said.errors ?? []);
}

/** One call; JSON in, JSON out (`undefined` if there is no content). */
export async function call<T>(verb: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await answer(verb, path, body, "application/json", signal);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

export const read = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>("GET", path, undefined, signal);

/** A text, such as a report page. */
export const readText = async (path: string): Promise<string> => (await answer("GET", path, undefined, "*/*")).text();

/** Saves a response as a file. */
export async function save(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await answer("GET", path, undefined, "*/*")).blob());
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Opens a response in a new tab, without the token in the address. */
export async function openTab(path: string): Promise<void> {
  const response = await answer("GET", path, undefined, "text/html");
  const url = URL.createObjectURL(new Blob([await response.text()], { type: "text/html" }));
  window.open(url, "_blank");
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Time until the next attempt after this many failures in a row, ms. */
const patience = (failures: number): number => Math.min(500 * 2 ** failures, 5_000);

/**
 * Follows an event stream and resumes it when it breaks, until `take` returns true (that was the last message),
 * the server refuses it, or the returned function is called.
 */
export function follow(path: string, take: (name: string, data: any) => boolean, refused: (problem: Problem) => void): () => void {
  const ending = new AbortController();
  const once = async (): Promise<boolean> => {
    const response = await answer("GET", path, undefined, "text/event-stream", ending.signal);
    const pieces = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return false;
      for (const message of parser.feed(value)) {
        if (take(message.name, JSON.parse(message.data))) return true;
      }
    }
  };
  const always = async (): Promise<void> => {
    for (let failures = 0; !ending.signal.aborted; failures++) {
      const begun = Date.now();
      try {
        if (await once()) return ending.abort();
      } catch (error) {
        if (ending.signal.aborted) return;
        if (error instanceof Problem && error.status >= 400 && error.status < 500) return refused(error);
        if (error instanceof SyntaxError) return refused(new Problem(0, `The server sent an event that is not valid JSON: ${error.message}`));
        reachable.value = false;
      }
      if (Date.now() - begun > 5_000) failures = 0;
      await pause(patience(failures));
    }
  };
  void always();
  return () => ending.abort();
}
