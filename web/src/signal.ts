/** A value that components follow. */

import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
  private readonly followers = new Set<() => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(next: T) {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const follower of this.followers) follower();
  }

  /** Calls back on every change until the returned function is called. */
  follow(follower: () => void): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }
}

/** The value of a signal; the component renders again when it changes. */
export function useSignal<T>(signal: Signal<T>): T {
  const [, again] = useState({});
  useEffect(() => signal.follow(() => again({})), [signal]);
  return signal.value;
}
