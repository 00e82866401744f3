/** One animation frame for everything that wants to draw, however many messages came since the last one. */

import { useEffect, useState } from "preact/hooks";

const waiting = new Set<() => void>();
let asked = false;

function frame(): void {
  asked = false;
  const jobs = [...waiting];
  waiting.clear();
  for (const job of jobs) job();
}

/** Does a job in the next frame, once, even if it is asked for often. Frames come only while the page is visible. */
export function inNextFrame(job: () => void): void {
  waiting.add(job);
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

/** Something that changes often; those who draw it are told at most once a frame. */
export class Source {
  private readonly drawers = new Set<() => void>();
  private readonly tell = (): void => this.drawers.forEach((draw) => draw());
  /** How often it changed. */
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

/** Renders the component again in the frame after a change. Answers the version drawn. */
export function useSource(source: Source): number {
  const [, again] = useState(0);
  useEffect(() => source.follow(() => again(source.version)), [source]);
  return source.version;
}
