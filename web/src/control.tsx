/** Stop, pause, resume, and the rate of a run or of one of its streams. */

import { useState } from "preact/hooks";
import { Action, Wrong } from "./parts";
import { call } from "./server";
import type { Run } from "./types";

interface Controlled {
  run: Run;
  /** A stream chosen in the table. */
  stream: string | null;
  changed: (run: Run) => void;
}

export function Controls({ run, stream, changed }: Controlled) {
  const [wrong, setWrong] = useState<unknown>(null);
  const [paused, setPaused] = useState(false);
  const [unit, setUnit] = useState<"rate" | "share">("share");
  const [value, setValue] = useState("50");
  const [all, setAll] = useState(false);
  const path = `runs/${encodeURIComponent(run.id)}`;
  const rate = async (change: object) => changed(await call<Run>("POST", `${path}/rate`, change));
  const target = stream !== null && !all ? { stream } : {};
  const apply = async () => {
    if (unit === "rate") return rate({ ...target, rate: value.trim() });
    const share = Number(value.trim().replace(/%$/, ""));
    if (!Number.isFinite(share) || share < 0 || !value.trim()) throw new Error(`'${value}' is not a percentage.`);
    await rate({ ...target, scale: share / 100 });
    return setPaused(share === 0 && !("stream" in target));
  };
  const pause = async () => {
    await rate({ scale: paused ? 1 : 0 });
    setPaused(!paused);
  };
  const live = run.state === "running" || run.state === "starting";
  return (
    <div class="controls">
      <form
        class="row end"
        onSubmit={(event) => event.preventDefault()}
      >
        <Action look="stop" failed={setWrong} disabled={!live} does={async () => changed(await call<Run>("POST", `${path}/stop`))}>
          ■ Stop
        </Action>
        <Action failed={setWrong} disabled={!live} does={pause}>
          {paused ? "▶ Resume" : "❚❚ Pause"}
        </Action>
        <label>
          Change load of
          <select value={stream === null || all ? "all" : "one"} onChange={(event) => setAll(event.currentTarget.value === "all")}>
            <option value="all">all streams</option>
            {stream !== null && <option value="one">{stream}</option>}
          </select>
        </label>
        <label>
          to
          <select value={unit} onChange={(event) => setUnit(event.currentTarget.value as "rate" | "share")}>
            <option value="share">% of the profile's load</option>
            <option value="rate">a rate each: 1Mpps, 2Gbps</option>
          </select>
        </label>
        <label class="small">
          {unit === "share" ? "Percent" : "Rate"}
          <input value={value} placeholder={unit === "share" ? "50" : "1Mpps"} onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
        <Action failed={setWrong} disabled={!live || !value.trim()} does={apply}>
          Apply
        </Action>
      </form>
      <Wrong problem={wrong} />
    </div>
  );
}
