/** One animation frame for all drawing, regardless of the number of messages since the last one. */

import { useEffect, useState } from "preact/hooks";

const waiting = new Set<() => void>();
let asked = false;

function frame(): void {
  asked = false;
  const jobs = [...waiting];
  waiting.clear();
  for (const job of jobs) job();
}

/** Runs a job in the next frame, once, even if requested several times. Frames come only while the page is visible. */
export function inNextFrame(job: () => void): void {
  waiting.add(job);
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

/** A source that changes often; its drawers are called at most once a frame. */
export class Source {
  private readonly drawers = new Set<() => void>();
  private readonly tell = (): void => this.drawers.forEach((draw) => draw());
  /** Number of changes. */
  version = 0;

  changed(): void {
    this.version++;
    inNextFrame(this.tell);
  }

  follow(draw: () => void): () => void {
    this.drawers.add(draw);
    return () => this.drawers.delete(draw);
  }
}

/** Renders the component again in the frame after a change. Returns the version drawn. */
export function useSource(source: Source): number {
  const [, again] = useState(0);
  useEffect(() => source.follow(() => again(source.version)), [source]);
  return source.version;
}
