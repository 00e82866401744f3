/** Polls the server while the page is visible. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, read, reachable } from "./server";

export interface Polled<T> {
  value: T | null;
  problem: Problem | null;
  /** Polls at once. */
  again: () => void;
}

/** Response of a path, polled every `every_ms`; 0: once, and when the server is back. Keeps the last response on failures. */
export function usePoll<T>(path: string, every_ms: number): Polled<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const ask = useRef<() => void>(() => undefined);
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    let asking = false;
    ask.current = async () => {
      if (asking) return;
      asking = true;
      clearTimeout(timer);
      let next = every_ms;
      try {
        setValue(await read<T>(path, ending.signal));
        setProblem(null);
      } catch (error) {
        if (ending.signal.aborted) return;
        setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
        if (!reachable.value) next = Math.max(every_ms, 1_500);
      } finally {
        asking = false;
      }
      if (next) timer = window.setTimeout(() => (document.hidden && reachable.value ? undefined : ask.current()), next);
    };
    const shown = () => !document.hidden && every_ms > 0 && ask.current();
    const back = reachable.follow(() => reachable.value && every_ms === 0 && ask.current());
    document.addEventListener("visibilitychange", shown);
    setValue(null);
    ask.current();
    return () => {
      ending.abort();
      clearTimeout(timer);
      back();
      document.removeEventListener("visibilitychange", shown);
    };
  }, [path, every_ms]);
  return { value, problem, again: () => ask.current() };
}
