/**
 * The table of streams: thousands of rows, of which only visible ones exist. Sorted at most once a second, so that rows
 * do not jump while they are read. Rows are chosen with the pointer, or with arrow keys and Enter.
 */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, pps, ratio, several, time } from "./format";
import { figure, type Figure, type Key, loses, order, type StreamTable } from "./rows";

interface Shown {
  key: Key;
  title: string;
  text: (value: Figure) => string;
}

const SHOWN: Shown[] = [
  { key: "name", title: "Stream", text: String },
  { key: "tx_pps", title: "Sends", text: pps },
  { key: "rx_pps", title: "Receives", text: pps },
  { key: "tx", title: "Sent", text: count },
  { key: "rx", title: "Received", text: count },
  { key: "lost", title: "Missing", text: count },
  { key: "loss", title: "Loss", text: ratio },
  { key: "p50", title: "Latency p50", text: time },
  { key: "p99", title: "p99", text: time },
  { key: "max", title: "Max", text: time },
];

const ROW = 32;
const SORT_EVERY_MS = 1_000;

/** Rows drawn, for measurements of the page. */
export const tableDrawn = { times: 0, rows: 0 };

interface StreamsOf {
  names: string[];
  table: StreamTable;
  running: boolean;
  chosen: number | null;
  choose: (stream: number | null) => void;
}

export function Streams({ names, table, running, chosen, choose }: StreamsOf) {
  const [filter, setFilter] = useState("");
  const [lossy, setLossy] = useState(false);
  const [sort, setSort] = useState<{ key: Key; down: boolean }>({ key: "name", down: false });
  const tick = running ? Math.floor(performance.now() / SORT_EVERY_MS) : -1;
  const rows = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const which = names.map((_, i) => i).filter((i) => names[i]!.toLowerCase().includes(wanted) && (!lossy || loses(table, i, running)));
    return sort.key === "name" && !sort.down ? which : order(names, table, which, sort.key, sort.down);
  }, [names, filter, lossy, sort, tick, running, running ? null : table]);
  const by = (key: Key) => setSort({ key, down: sort.key === key ? !sort.down : key !== "name" });
  return (
    <div>
      <div class="row end">
        <label class="grow">
          Filter by name
          <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={lossy} onChange={(event) => setLossy(event.currentTarget.checked)} /> only streams with loss
        </label>
        <span class="muted" role="status">
          {rows.length === names.length ? several(names.length, "stream") : `${count(rows.length)} of ${several(names.length, "stream")}`}
        </span>
      </div>
      <Grid {...{ names, table, running, chosen, choose, rows, sort, by }} />
      <p class="muted">Select a row to show only that stream in the charts; select it again to show all.</p>
    </div>
  );
}

interface GridOf extends StreamsOf {
  rows: number[];
  sort: { key: Key; down: boolean };
  by: (key: Key) => void;
}

function Grid(wanted: GridOf) {
  const { rows, names, chosen, choose } = wanted;
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 460 });
  const [active, setActive] = useState(-1);
  useEffect(() => {
    const host = box.current!;
    const seen = () => setPlace({ top: host.scrollTop, height: host.clientHeight });
    const sized = new ResizeObserver(seen);
    sized.observe(host);
    host.addEventListener("scroll", seen, { passive: true });
    return () => sized.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(place.top / ROW) - 4);
  const last = Math.min(rows.length, Math.ceil((place.top + place.height) / ROW) + 4);
  const toggle = (stream: number) => choose(stream === chosen ? null : stream);
  const move = (row: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, row));
    setActive(next);
    const { scrollTop, clientHeight } = box.current!;
    if (next * ROW < scrollTop) box.current!.scrollTop = next * ROW;
    if ((next + 2) * ROW > scrollTop + clientHeight) box.current!.scrollTop = (next + 2.2) * ROW - clientHeight;
  };
  const page = Math.max(1, Math.floor(place.height / ROW) - 2);
  const key = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).tagName === "BUTTON") return;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    const step = steps[event.key];
    if (step !== undefined) move(active + step);
    else if ((event.key === "Enter" || event.key === " ") && rows[active] !== undefined) toggle(rows[active]!);
    else return;
    event.preventDefault();
  };
  tableDrawn.times++;
  tableDrawn.rows = last - first;
  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label="Streams. Arrow keys move, Enter selects."
      aria-rowcount={rows.length + 1}
      aria-activedescendant={active >= first && active < last ? `stream-${active}` : undefined}
      onKeyDown={key}
    >
      <Head sort={wanted.sort} by={wanted.by} />
      <div class="body" role="rowgroup" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(first, last).map((stream, i) => (
          <Row key={first + i} {...wanted} row={first + i} stream={stream} active={first + i === active} press={() => toggle(stream)} />
        ))}
      </div>
      {!rows.length && <p class="empty">&ensp;{names.length ? "No matching stream." : "No streams in this run."}</p>}
    </div>
  );
}

function Head({ sort, by }: Pick<GridOf, "sort" | "by">) {
  return (
    <div class="head" role="row" aria-rowindex={1}>
      {SHOWN.map((shown) => {
        const here = sort.key === shown.key;
        return (
          <div role="columnheader" key={shown.key} aria-sort={here ? (sort.down ? "descending" : "ascending") : "none"}>
            <button type="button" onClick={() => by(shown.key)}>
              {shown.title}
              {here ? (sort.down ? " ▼" : " ▲") : ""}
            </button>
          </div>
        );
      })}
    </div>
  );
}

interface RowOf extends GridOf {
  row: number;
  stream: number;
  active: boolean;
  press: () => void;
}

function Row({ names, table, running, chosen, row, stream, active, press }: RowOf) {
  const bad = loses(table, stream, running);
  const look = `line${stream === chosen ? " chosen" : ""}${active ? " active" : ""}`;
  return (
    <div id={`stream-${row}`} class={look} role="row" aria-rowindex={row + 2} aria-selected={stream === chosen} style={{ top: `${row * ROW}px` }} onClick={press}>
      {SHOWN.map(({ key, text }) => (
        <div role="gridcell" key={key} class={bad && (key === "lost" || key === "loss") ? "bad" : ""} title={key === "name" ? names[stream] : undefined}>
          {key === "name" ? names[stream] : text(figure(table, key, stream))}
          {key === "lost" && bad && " lost"}
        </div>
      ))}
    </div>
  );
}
