// The playground: sliders change the profile's text, the simulation runs it, and curves show it over the load.
// Not here: the simulation (worker.js and the module), drawing (chart.js), the profile's text (profile.js).

import { draw } from "./chart.js";
import { kinds, place, read, write } from "./profile.js";

const PRESETS = ["router", "bursts", "policer", "lossy-link", "http"];
const POINTS = 10;
// After that a run is given up.
const PATIENCE_MS = 20_000;
// Pause in typing before a profile is run.
const PAUSE_MS = 400;

// What sliders change. Those with `log` go up by factors.
const SLIDERS = [
  { id: "load", paths: [["streams", "rate"], ["sessions", "open"]], kind: ["pps", "perSecond"] },
  { id: "buffer", paths: [["sim", "router", "buffer"]], kind: ["count"], from: 1, to: 4096, log: true },
  { id: "capacity", paths: [["sim", "router", "capacity"]], kind: ["pps"], from: 1e3, to: 1e6, log: true },
  { id: "delay", paths: [["sim", "link", "delay"]], kind: ["time"], from: 1e3, to: 1e8, log: true },
  { id: "loss", paths: [["sim", "link", "loss"]], kind: ["percent"], from: 0, to: 10 },
];

const $ = id => document.getElementById(id);
const editor = $("profile");

// Numbers as people read them.
function si(number, unit) {
  if (!number) return `0 ${unit}`;
  const [name, factor] = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]].find(([, factor]) => number >= factor) ?? ["", 1];
  return `${Number((number / factor).toPrecision(3))} ${name}${unit}`;
}

function time(ns) {
  if (ns === undefined) return "–";
  const [name, factor] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, factor]) => ns >= factor) ?? ["ns", 1];
  return `${Number((ns / factor).toPrecision(3))} ${name}`;
}

function percent(ratio) {
  return `${Number((ratio * 100).toPrecision(3))}%`;
}

// The figures of a result: of all streams together, or else of all sessions.
function figures(result) {
  const streams = Object.values(result.streams ?? {}), sessions = Object.values(result.sessions ?? {});
  const sum = (rows, value) => rows.reduce((all, row) => all + (value(row) ?? 0), 0);
  const worst = (rows, value) => {
    const known = rows.map(value).filter(value => value !== undefined && value !== null);
    return known.length ? Math.max(...known) : undefined;
  };
  if (streams.length) {
    const tx = sum(streams, row => row.tx), rx = sum(streams, row => row.rx), lost = sum(streams, row => row.lost);
    const offered = sum(streams, row => row.offered_pps);
    return {
      unit: "pps", offered, lost, ratio: tx ? lost / tx : 0, through: tx ? offered * rx / tx : 0,
      p50: worst(streams, row => row.latency_ns?.p50), p99: worst(streams, row => row.latency_ns?.p99),
    };
  }
  return {
    unit: "/s", offered: sum(sessions, row => row.requested_open_per_s ?? row.open_per_s),
    lost: sum(sessions, row => row.attempted - row.completed - row.active),
    ratio: worst(sessions, row => row.failed_ratio) ?? 0, through: sum(sessions, row => row.transactions_per_s),
    p50: worst(sessions, row => row.ttlb_ns?.p50), p99: worst(sessions, row => row.ttlb_ns?.p99),
  };
}

// The simulation, one run at a time.
class Simulation {
  constructor() {
    this.begin();
  }

  begin() {
    this.worker = new Worker("worker.js");
    this.worker.onmessage = ({ data }) => this.end(data);
    this.worker.onerror = event => this.broken(event.message || "the simulation can't be loaded");
  }

  // What a profile gives: {reply} or {failed}.
  run(profile) {
    return new Promise(resolve => {
      this.resolve = resolve;
      this.timer = setTimeout(() => this.broken(`it takes longer than ${PATIENCE_MS / 1000} s: lower rate or duration`), PATIENCE_MS);
      this.worker.postMessage({ id: 0, profile });
    });
  }

  end(outcome) {
    clearTimeout(this.timer);
    // A module that broke is not used again.
    if (outcome.failed) this.renew();
    this.resolve?.(outcome);
  }

  broken(failed) {
    clearTimeout(this.timer);
    this.renew();
    this.resolve?.({ failed });
  }

  renew() {
    this.worker.terminate();
    this.begin();
  }
}

const simulation = new Simulation();
// Counts changes: what belongs to an older text is dropped.
let version = 0;
let running = false;
let points = [];
// The right end of the load's axis, and of its slider.
let most = 1;

function slot(slider) {
  const text = editor.value;
  for (const [index, path] of slider.paths.entries()) {
    const value = read(text, path);
    const kind = kinds[slider.kind[index]];
    const number = value === undefined ? undefined : kind.parse(value);
    if (number !== undefined) return { path, kind, number };
  }
  return undefined;
}

const bounds = slider => slider.id === "load" ? { from: most / 200, to: most } : slider;

function toSlider(slider, number) {
  const { from, to, log } = { log: slider.log, ...bounds(slider) };
  return 1000 * (log ? Math.log(number / from) / Math.log(to / from) : (number - from) / (to - from));
}

function fromSlider(slider, position) {
  const { from, to, log } = { log: slider.log, ...bounds(slider) };
  return log ? from * (to / from) ** (position / 1000) : from + (to - from) * position / 1000;
}

// Sets the load's axis to twice the present load, as a round number.
function setAxis() {
  const load = slot(SLIDERS[0]);
  if (!load) return;
  const raw = load.number * 1.7, power = 10 ** Math.floor(Math.log10(raw));
  most = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map(n => n * power).find(n => n >= raw);
}

function showSliders() {
  for (const slider of SLIDERS) {
    const input = $(slider.id), output = $(`${slider.id}-value`), found = slot(slider);
    input.disabled = !found;
    output.textContent = found ? found.kind.print(found.number) : "not in this profile";
    if (!found) continue;
    if (document.activeElement !== input) input.value = toSlider(slider, found.number);
    input.setAttribute("aria-valuetext", found.kind.print(found.number));
  }
}

function tile(id, text) {
  $(id).textContent = text;
}

function showFigures(now) {
  tile("offered", si(now.offered, now.unit));
  tile("through", si(now.through, now.unit));
  tile("ratio", percent(now.ratio));
  tile("p50", time(now.p50));
  tile("p99", time(now.p99));
  const isSessions = now.unit === "/s";
  $("through-name").textContent = isSessions ? "Responses" : "Received";
  $("ratio-name").textContent = isSessions ? "Failed" : "Lost";
  $("through-caption").textContent = isSessions ? "Responses" : "Received";
  $("latency-caption").textContent = isSessions ? "Time to last byte" : "Latency";
  $("loss-caption").textContent = isSessions ? "Failed" : "Lost";
}

function showErrors(errors) {
  const list = $("errors");
  list.replaceChildren(...errors.map(error => {
    const item = document.createElement("li");
    if (error.line) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `line ${error.line}`;
      button.onclick = () => choose(error.line);
      item.append(button, " ", error.text.replace(/^line \d+: /, ""));
    } else item.textContent = error.text;
    return item;
  }));
  list.hidden = !errors.length;
  document.body.classList.toggle("failed", errors.length > 0);
}

// Selects a line of the editor.
function choose(line) {
  const lines = editor.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  editor.focus();
  editor.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
}

function showCurves() {
  const known = points.filter(Boolean), unit = known[0]?.unit ?? "pps";
  const load = slot(SLIDERS[0]);
  const common = { xMost: most, mark: load?.number, x: value => si(value, unit === "/s" ? "/s" : "").trim() };
  const curve = (key, style) => ({ points: known.filter(p => p[key] !== undefined).map(p => [p.load, p[key]]), style });
  draw($("through-chart"), {
    ...common, title: "Received, by offered load", y: value => si(value, "").trim(),
    lines: [{ points: [[0, 0], [most, most]], style: "ideal plain" }, curve("through", "through")],
  });
  draw($("loss-chart"), { ...common, title: "Lost, by offered load", y: percent, lines: [curve("ratio", "loss")] });
  draw($("latency-chart"), {
    ...common, title: "Latency, by offered load", y: time, log: true, lines: [curve("p99", "p99"), curve("p50", "p50")],
  });
  $("rows").replaceChildren(...known.map(p => {
    const row = document.createElement("tr");
    for (const text of [si(p.load, unit), si(p.through, unit), percent(p.ratio), time(p.p50), time(p.p99)]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
}

function setState(text) {
  $("state").textContent = text;
  document.body.dataset.state = running || text ? "running" : "ready";
}

// Runs the text, then its curve, point by point; begins again whenever the text changes.
async function work() {
  if (running) return;
  running = true;
  for (let mine = -1; mine !== version;) {
    mine = version;
    const text = editor.value;
    const outcome = await simulation.run(text);
    if (mine !== version) continue;
    const errors = outcome.failed ? [{ text: outcome.failed }] : outcome.reply.errors ?? [];
    showErrors(errors);
    if (errors.length) continue;
    globalThis.playground.result = outcome.reply.result;
    showFigures(figures(outcome.reply.result));
    const load = slot(SLIDERS[0]);
    if (!load) { points = []; showCurves(); continue; }
    for (let index = 0; index < POINTS && mine === version; index++) {
      const number = most * (index + 1) / POINTS;
      const point = await simulation.run(write(text, load.path, load.kind.print(number)));
      if (mine !== version) break;
      points[index] = point.reply?.result ? { load: number, ...figures(point.reply.result) } : undefined;
      showCurves();
    }
  }
  history.replaceState(null, "", `#${encode(editor.value)}`);
  running = false;
  setState("");
}

let later;

// The text is another: with `axis` another profile, or else another load, buffer and so on.
function changed({ axis = false, pause = 0 } = {}) {
  version += 1;
  if (axis) { setAxis(); points = []; }
  showSliders();
  setState("simulating …");
  clearTimeout(later);
  if (pause) later = setTimeout(work, pause);
  else work();
}

// Text in an address: UTF-8 as base64url.
function encode(text) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return `p=${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

function decode(hash) {
  try {
    const bytes = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes, byte => byte.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

async function preset(name) {
  const answer = await fetch(`${name}.yaml`);
  return answer.text();
}

async function choosePreset(name) {
  editor.value = await preset(name);
  changed({ axis: true });
}

function listen() {
  for (const slider of SLIDERS) {
    $(slider.id).addEventListener("input", () => {
      const found = slot(slider);
      if (!found) return;
      editor.value = write(editor.value, found.path, found.kind.print(fromSlider(slider, Number($(slider.id).value))));
      changed();
    });
  }
  editor.addEventListener("input", () => { $("preset").value = ""; changed({ axis: true, pause: PAUSE_MS }); });
  $("preset").addEventListener("change", () => { if ($("preset").value) choosePreset($("preset").value); });
  $("copy").addEventListener("click", async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    $("copy").textContent = "Copied";
    setTimeout(() => { $("copy").textContent = "Copy link"; }, 1500);
  });
  $("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([editor.value], { type: "text/yaml" }));
    link.download = "playground.yaml";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  addEventListener("hashchange", open);
}

// The text of the address, or the first preset.
async function open() {
  const given = /^#p=(.+)$/.exec(location.hash), text = given && decode(given[1]);
  const named = PRESETS.find(name => location.hash === `#${name}`);
  if (text !== undefined && text !== null) {
    if (text === editor.value) return;
    editor.value = text;
    $("preset").value = "";
    changed({ axis: true });
    return;
  }
  $("preset").value = named ?? PRESETS[0];
  await choosePreset(named ?? PRESETS[0]);
}

// The documentation's choice of colours.
function colours() {
  let theme = null;
  try { theme = localStorage.getItem("mdbook-theme"); } catch { /* no storage: the system's choice */ }
  if (["coal", "navy", "ayu"].includes(theme)) document.documentElement.dataset.theme = "dark";
  if (["light", "rust"].includes(theme)) document.documentElement.dataset.theme = "light";
}

// For tests and the console.
globalThis.playground = { result: undefined, place, read, write };
colours();
if (location.protocol === "file:") {
  showErrors([{ text: "Browsers run no WebAssembly from a folder. 'eagre serve' delivers this page under /docs; so does 'python3 -m http.server' here." }]);
} else {
  listen();
  open();
}
