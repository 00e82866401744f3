// Curves over the load, as SVG: what is shown is also in the table below them.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 400, HEIGHT = 160, LEFT = 54, RIGHT = 24, TOP = 8, BOTTOM = 24;

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Even steps: 1, 2 or 5 times a power of ten, up to `most`.
function ticks(most, count) {
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw);
  const made = [];
  for (let value = 0; value <= most * 1.0001; value += step) made.push(value);
  return made;
}

function decades(least, most) {
  const made = [];
  for (let value = 10 ** Math.floor(Math.log10(least)); value <= most * 1.0001; value *= 10) if (value >= least * 0.9999) made.push(value);
  return made;
}

// Draws lines, each {points: [[x, y]], style}, with the place of the present load marked. `log`: a logarithmic y axis.
export function draw(svg, { lines, x, y, xMost, mark, log, title }) {
  const all = lines.flatMap(line => line.points.map(point => point[1])).filter(value => !log || value > 0);
  let most = Math.max(...all, log ? 1 : 0), least = log ? Math.min(...all, most) : 0;
  if (log) { least = 10 ** Math.floor(Math.log10(least)); most = 10 ** Math.ceil(Math.log10(most * 1.0001)); }
  else most = most > 0 ? most * 1.08 : 1;
  const px = value => LEFT + value / xMost * (WIDTH - LEFT - RIGHT);
  const share = value => log ? Math.log(value / least) / Math.log(most / least) : value / most;
  const py = value => HEIGHT - BOTTOM - share(value) * (HEIGHT - TOP - BOTTOM);
  const parts = [element("title", {}, title)];
  for (const value of log ? decades(least, most) : ticks(most, 4)) {
    parts.push(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value) }));
    parts.push(element("text", { class: "tick", x: LEFT - 6, y: py(value) + 4, "text-anchor": "end" }, y(value)));
  }
  for (const value of ticks(xMost, 4)) {
    parts.push(element("line", { class: "grid", x1: px(value), x2: px(value), y1: TOP, y2: HEIGHT - BOTTOM }));
    parts.push(element("text", { class: "tick", x: px(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, x(value)));
  }
  if (mark !== undefined && mark <= xMost) {
    parts.push(element("line", { class: "mark", x1: px(mark), x2: px(mark), y1: TOP, y2: HEIGHT - BOTTOM }));
  }
  for (const { points, style } of lines) {
    const shown = points.filter(point => !log || point[1] > 0).map(point => [px(point[0]), py(point[1])]);
    parts.push(element("polyline", { class: `line ${style}`, points: shown.map(point => point.map(n => n.toFixed(1)).join(",")).join(" ") }));
    if (!style.includes("plain")) for (const [cx, cy] of shown) parts.push(element("circle", { class: `dot ${style}`, cx, cy, r: 2.5 }));
  }
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren(...parts);
}
