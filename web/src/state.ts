/** States of runs and campaigns. */

import type { State } from "./types";

const ENDED: ReadonlySet<State> = new Set<State>(["done", "failed", "stopped", "interrupted"]);

/** Whether a state is final. */
export const hasEnded = ({ state }: { state: State }): boolean => ENDED.has(state);
