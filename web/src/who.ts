/** Who uses the page, and what the server lets them do. */

import { usePoll } from "./poll";
import type { Whoami } from "./types";

export const useWho = (): Whoami | null => usePoll<Whoami>("whoami", 0).value;

/** Whether to show what starts and changes traffic: whoever may only watch is refused. Until it is known, it is shown. */
export const useMayRun = (): boolean => useWho()?.role !== "watch";
