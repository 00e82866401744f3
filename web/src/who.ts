/** The user of the page, and their rights. */

import { usePoll } from "./poll";
import type { Whoami } from "./types";

export const useWho = (): Whoami | null => usePoll<Whoami>("whoami", 0).value;

/** Whether to show controls of traffic: the server refuses users who may only watch. Shown until the role is known. */
export const useMayRun = (): boolean => useWho()?.role !== "watch";
