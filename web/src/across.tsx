/** A figure of a result, and of earlier results of the same test: whether it got better or worse. */

import { Chart, type Line } from "./chart";
import { inUnit, instant, several } from "./format";
import { Panel, Wrong } from "./parts";
import { usePoll } from "./poll";
import { Options, show, to, written } from "./route";
import { useSignal } from "./signal";
import type { Comparison, ComparisonRow } from "./types";

/** Name of a row, here and in the address. */
const named = (row: ComparisonRow): string => [row.frame, row.goal.replaceAll("_", " ")].filter(Boolean).join(" · ");

/** The results `ids`, the oldest first; `id` is the one whose page this is. */
export function Across({ id, ids }: { id: string; ids: string[] }) {
  if (ids.length < 2) return null;
  return <Shown key={id} ids={ids} />;
}

function Shown({ ids }: { ids: string[] }) {
  const compared = usePoll<Comparison>(`compare?ids=${ids.map(encodeURIComponent).join(",")}`, 0);
  const wanted = new Options(useSignal(written)).text("figure");
  const rows = compared.value?.rows.filter((row) => row.cells.some((cell) => cell?.value != null)) ?? [];
  const row = rows.find((one) => named(one) === wanted) ?? rows.find((one) => one.goal !== "offered") ?? rows[0];
  return (
    <Panel title="This result and earlier ones">
      <Wrong problem={compared.problem} />
      {compared.value && !row && <p class="empty">These results have no figure in common.</p>}
      {row && (
        <>
          <div class="row end">
            <label>
              Figure
              <select value={named(row)} onChange={(event) => show({ figure: event.currentTarget.value })}>
                {rows.map((one) => (
                  <option key={named(one)}>{named(one)}</option>
                ))}
              </select>
            </label>
            <a class="button" href={to("compare", ids.join(","))}>
              Compare all {several(ids.length, "result")}
            </a>
          </div>
          <Curve row={row} started={compared.value!.campaigns.map((campaign) => campaign.started)} />
        </>
      )}
    </Panel>
  );
}

/** Values of a row over the number of the result, with the bounds of those that have an interval. */
function Curve({ row, started }: { row: ComparisonRow; started: string[] }) {
  const format = (value: number | null | undefined) => inUnit(value, row.unit);
  const pick = (of: "value" | "lower" | "upper") => row.cells.map((cell) => cell?.[of] ?? null);
  const bounded = row.cells.some((cell) => cell?.lower != null || cell?.upper != null);
  const bounds: Line[] = bounded ? [{ label: "at least", look: 2, format }, { label: "below", look: 3, format }] : [];
  const view = [started.map((_, i) => i + 1), pick("value"), ...(bounded ? [pick("lower"), pick("upper")] : [])];
  const whole = (value: number) => (Number.isInteger(value) ? String(value) : "");
  return (
    <Chart
      title={named(row)}
      note={`${instant(started[0])} to ${instant(started[started.length - 1])}, the oldest first`}
      lines={[{ label: "value", look: 1, format }, ...bounds]}
      view={() => view}
      version={`${named(row)} ${started.join()}`}
      x={whole}
      y={(value) => inUnit(value, row.unit)}
      least={Number.MIN_VALUE}
      points
    />
  );
}
