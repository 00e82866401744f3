/**
 * Lines over time, or over load. Wraps uPlot: draws only visible points, distinguishes lines by colour and dashes,
 * and shows every line's newest value, or the one under the pointer, as text beside it.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { View } from "./history";
import { useSignal } from "./signal";
import { colour, colours } from "./theme";

export interface Line {
  label: string;
  /** 1 to 8: the style sheet's `--line-N`, and its own dash pattern. */
  look: number;
  format: (value: number | null | undefined) => string;
  /** Only points: single trials around a line, or crosses where the tester was disturbed. */
  only?: "singles" | "disturbed";
}

/** A part of the x axis in which the tester was disturbed, and how. */
export interface Band {
  from: number;
  to: number;
  about: string;
}

interface Wanted {
  title: string;
  lines: Line[];
  /** Columns: x, then one for each line. Called only if the chart is visible. */
  view: () => View;
  /** Changes when there is something new to draw. */
  version: unknown;
  x: (value: number) => string;
  y: (value: number) => string;
  log?: boolean;
  /** Show every point, and lines across gaps: for points that are measured one by one. */
  points?: boolean;
  /** Show values only under the pointer: the newest means little. */
  quiet?: boolean;
  /** Least upper end of the axis. */
  least?: number;
  note?: string;
  /** Marks below the axis. */
  bands?: () => Band[];
  /** The part of the x axis to show; null or absent is all. */
  range?: [number, number] | null;
  /** Charts of one group share their x axis: what is pointed at in one is shown by all. */
  group?: string;
  /** Called with the part of the x axis that the pointer was dragged over. */
  select?: (from: number, to: number) => void;
}

const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4, 4, 4], [3, 6]];
export const dash = (look: number): number[] => DASHES[(look - 1) % DASHES.length]!;
const line = (look: number): string => `--line-${((look - 1) % 8) + 1}`;

/** Number of times charts were drawn, for measurements of the page. */
export const drawn = { charts: 0 };

function height(width: number): number {
  return width < 480 ? 190 : 230;
}

/** Top of a linear axis: a little over the largest value. */
function linear(least: number): uPlot.Range.Function {
  return (_plot, _min, max) => [0, Math.max(least, (max ?? 0) * 1.08)];
}

/** A logarithmic axis from a power of ten to a power of ten, at least one decade. */
const logarithmic: uPlot.Range.Function = (_plot, min, max) => {
  const low = Math.floor(Math.log10(Math.max(min ?? 1, 1)));
  const high = Math.ceil(Math.log10(Math.max(max ?? 10, 10)));
  return [10 ** low, 10 ** Math.max(high, low + 1)];
};

/** Height of the strip below the axis, in pixels of the page. */
const STRIP = 6;

/** Marks what lies between two positions in a strip below the axis; what is too narrow to see is widened. */
function mark(plot: uPlot, bands: Band[]): void {
  if (!plot.data[0]?.length) return;
  const { left, top, width, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.fillStyle = colour("--warn");
  const { min, max } = plot.scales.x!;
  for (const band of bands) {
    if (band.to < min! || band.from > max!) continue;
    const to = Math.min(plot.valToPos(band.to, "x", true), left + width);
    const from = Math.max(Math.min(plot.valToPos(band.from, "x", true), to - 3), left);
    if (to > left) plot.ctx.fillRect(from, top + height + devicePixelRatio, Math.max(to - from, 3), STRIP * devicePixelRatio);
  }
  plot.ctx.restore();
}

/** Fewer pixels are a click. */
const DRAGGED_MIN = 6;

/** Passes on the part of the x axis that was dragged over. */
function selected(plot: uPlot, select: Wanted["select"]): void {
  const { left, width } = plot.select;
  if (width < DRAGGED_MIN) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  select?.(Math.max(0, plot.posToVal(left, "x")), plot.posToVal(left + width, "x"));
}

function options(latest: () => Wanted, width: number, pointed: (index: number | null) => void): uPlot.Options {
  const wanted = latest();
  const all: (min: number, max: number) => [number, number] = (min, max) => (wanted.points ? widen(min, max) : [min, max]);
  const axis = { stroke: () => colour("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false } };
  const grid = { stroke: () => colour("--grid"), width: 1 };
  const decade = (_plot: uPlot, splits: number[]) => splits.map((v) => (Math.abs(Math.log10(v) % 1) < 1e-9 ? v : null));
  return {
    width,
    height: height(width),
    padding: [10, 14, 0, 0],
    legend: { show: false },
    cursor: { ...(wanted.group ? { sync: { key: wanted.group, setSeries: false } } : {}), y: false, drag: { setScale: false, x: !!wanted.select, y: false }, points: { size: 6 } },
    scales: {
      x: { time: false, range: (_plot, min, max) => latest().range ?? all(min, max) },
      y: wanted.log ? { distr: 3, range: logarithmic } : { range: linear(wanted.least ?? 1) },
    },
    axes: [
      { ...axis, grid, space: 80, size: 34, gap: 9, values: (_p, splits) => splits.map((v) => wanted.x(v)) },
      {
        ...axis,
        grid,
        size: 74,
        space: 34,
        ...(wanted.log ? { filter: decade as uPlot.Axis.Filter } : {}),
        values: (_p, splits) => splits.map((v) => (v == null ? "" : wanted.y(v))),
      },
    ],
    series: [{}, ...wanted.lines.map((one) => series(one, wanted.points ?? false))],
    hooks: {
      drawClear: [(plot) => mark(plot, latest().bands?.() ?? [])],
      setCursor: [(plot) => pointed(plot.cursor.idx ?? null)],
      setSelect: [(plot) => selected(plot, latest().select)],
      draw: [() => void drawn.charts++],
    },
  };
}

/** Room at both ends, so that the first and the last point are seen whole. */
export function widen(min: number, max: number): [number, number] {
  if (min == null) return [0, 1];
  const room = (max - min || max || 1) * 0.04;
  return [Math.max(0, min - room), max + room];
}

/** Crosses at the points of a series. */
const crosses: uPlot.Series.Points.Show = (plot, index, first, last) => {
  const { ctx } = plot;
  const [xs, ys] = [plot.data[0]!, plot.data[index]!];
  const size = 5 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour("--bad");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  for (let i = first; i <= last; i++) {
    if (ys[i] == null) continue;
    const [x, y] = [plot.valToPos(xs[i]!, "x", true), plot.valToPos(ys[i]!, "y", true)];
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
  }
  ctx.stroke();
  ctx.restore();
  return false;
};

function series(one: Line, points: boolean): uPlot.Series {
  const stroke = () => colour(line(one.look));
  if (one.only) {
    const show = one.only === "disturbed" ? crosses : true;
    return { label: one.label, stroke, paths: () => null, points: { show, size: 5, width: 1, stroke, fill: () => colour("--panel") } };
  }
  return {
    label: one.label,
    stroke,
    width: 2,
    dash: dash(one.look),
    spanGaps: points,
    points: points ? { show: true, size: 7, stroke, fill: () => colour("--panel") } : { show: false },
  };
}

/** A sample of a line as it is drawn. */
export function Swatch({ look, only }: { look: number; only?: Line["only"] | "band" }) {
  if (only) {
    return (
      <svg class="swatch" width="14" height="10" aria-hidden="true">
        {only === "singles" && <circle cx="7" cy="5" r="3" fill="none" stroke={`var(${line(look)})`} />}
        {only === "disturbed" && <path d="M3 1l8 8m0 -8l-8 8" fill="none" stroke="var(--bad)" stroke-width="2" />}
        {only === "band" && <rect y="2" width="14" height="6" fill="var(--warn)" />}
      </svg>
    );
  }
  return (
    <svg class="swatch" width="26" height="10" aria-hidden="true">
      <line x1="0" y1="5" x2="26" y2="5" stroke-width="3" stroke={`var(${line(look)})`} stroke-dasharray={dash(look).join(" ")} />
    </svg>
  );
}

export function Chart(wanted: Wanted) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(wanted);
  latest.current = wanted;
  const visible = useRef(false);
  const [pointer, setPointer] = useState<number | null>(null);
  const [shown, setShown] = useState<View>([]);
  const paint = useSignal(colours);
  const shape = JSON.stringify([wanted.lines.map((one) => [one.label, one.look, one.only]), wanted.log, wanted.points]);

  const draw = () => {
    if (!visible.current || !plot.current) return;
    const view = latest.current.view();
    plot.current.setData(view as uPlot.AlignedData);
    setShown(view);
  };

  useLayoutEffect(() => {
    const host = box.current!;
    const made = new uPlot(options(() => latest.current, Math.max(host.clientWidth, 200), setPointer), [[], ...wanted.lines.map(() => [])] as never, host);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      const width = host.clientWidth;
      if (width && width !== made.width) made.setSize({ width, height: height(width) });
    });
    const seen = new IntersectionObserver((entries) => {
      visible.current = entries[entries.length - 1]!.isIntersecting;
      draw();
    });
    resized.observe(host);
    seen.observe(host);
    return () => {
      resized.disconnect();
      seen.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useLayoutEffect(draw, [wanted.version, shape, wanted.range?.[0], wanted.range?.[1]]);
  useEffect(() => plot.current?.redraw(false, true), [paint]);

  return (
    <figure class="chart">
      <figcaption>
        {wanted.title}
        {wanted.note && <span class="muted"> {wanted.note}</span>}
      </figcaption>
      <Legend lines={wanted.lines} shown={shown} pointer={pointer} x={wanted.x} quiet={(wanted.quiet || wanted.points) ?? false} bands={wanted.bands?.() ?? []} />
      <div ref={box} class="plot" role="img" aria-label={`Chart: ${wanted.title}. The values are in the text above it.`} />
    </figure>
  );
}

interface LegendOf {
  lines: Line[];
  shown: View;
  pointer: number | null;
  x: (value: number) => string;
  quiet: boolean;
  bands: Band[];
}

/** Every line with its sample and a value. */
function Legend({ lines, shown, pointer, x, quiet, bands }: LegendOf) {
  const last = (shown[0]?.length ?? 0) - 1;
  const index = pointer !== null && pointer <= last ? pointer : quiet ? -1 : last;
  const at = pointer !== null && pointer <= last ? shown[0]?.[pointer] : null;
  const band = at == null ? undefined : bands.find((one) => one.from <= at && at <= one.to);
  // Single trials of all lines are explained once.
  const first = (i: number) => lines.findIndex((other) => other.only === lines[i]!.only) === i;
  const explained = lines.map((one, i) => ({ one, i })).filter(({ one, i }) => !one.only || (first(i) && lines.some((other, j) => other.only === one.only && shown[j + 1]?.some((value) => value != null))));
  return (
    <ul class="legend">
      {explained.map(({ one, i }) => (
        <li key={`${one.label} ${one.only}`}>
          <Swatch look={one.look} only={one.only} /> {one.label} {!one.only && index >= 0 && <b class="figure">{one.format(shown[i + 1]?.[index])}</b>}
        </li>
      ))}
      {bands.length > 0 && (
        <li>
          <Swatch look={1} only="band" /> tester disturbed{band && `: ${band.about}`}
        </li>
      )}
      {at != null && <li class="muted">at {x(at)}</li>}
    </ul>
  );
}
