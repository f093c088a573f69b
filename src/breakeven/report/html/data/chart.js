// Curves over one number, in their bands: the one chart of all pages. What was measured is solid, what was predicted dashed.
const CHART = { height: 320, left: 66, right: 14, top: 26, bottom: 40 };

// Places on the paper for values from `low` to `high`, on a logarithmic scale where the values are above 0.
function scale(low, high, from, to, log) {
  const span = (log ? Math.log(high / low) : high - low) || 1;
  return (value) => from + ((to - from) * (log ? Math.log(Math.max(value, low / 2) / low) : value - low)) / span;
}

// Round values between two: powers of ten with their 2 and 5 where few powers fit, or equal steps.
function rounded(low, high, most, log) {
  if (log) {
    const per = high / low > 300 ? [1] : [1, 2, 5];
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...per.map((k) => k * 10 ** power).filter((value) => value >= low && value <= high));
    }
    if (found.length > 1) return found.filter((_, i) => i % Math.ceil(found.length / (2 * most)) === 0);
  }
  const rough = 10 ** Math.floor(Math.log10((high - low) / most || 1));
  const step = [1, 2, 5, 10].map((k) => k * rough).find((by) => (high - low) / by <= most) ?? 10 * rough;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); at += 1) found.push(at * step);
  return found;
}

// Draws into an svg element.
// curves: name, colour (a number), measured (the whole line), points of x, low, mid, high and measured, by x.
// x, y: log, title, text (of a value); x also ticks, and where it begins at the latest. now: the place of the slider. level: a line across, with its name.
function drawCurves(chart, { curves, x, y, now, today, level }) {
  const width = Math.max(chart.clientWidth, 240);
  const frame = { left: CHART.left, right: width - CHART.right, top: CHART.top, bottom: CHART.height - CHART.bottom };
  const points = curves.flatMap((curve) => curve.points);
  const [left, right] = [Math.min(...points.map((p) => p.x), x.least ?? Infinity), Math.max(...points.map((p) => p.x))];
  const ends = points.flatMap((p) => [p.low, p.high]).filter((value) => Number.isFinite(value) && (!y.log || value > 0));
  const [least, most] = [Math.min(...ends, ...(level ? [level.value] : [])), Math.max(...ends)];
  const room = y.log ? 0 : 0.06 * (most - least || 1);
  const [bottom, top] = [least - room, most + room];
  const at = {
    x: scale(left, right, frame.left, frame.right, x.log),
    y: scale(bottom, top, frame.bottom, frame.top, y.log),
  };
  const parts = [...axes(at, x, y, [bottom, top], frame, [left, right])];
  for (const curve of curves) parts.push(...curveOf(curve, at));
  if (level) {
    const height = at.y(level.value);
    parts.push(svg("line", { class: "level", x1: frame.left, x2: frame.right, y1: height, y2: height }));
    parts.push(svg("text", { x: frame.right, y: height - 5, "text-anchor": "end" }, level.name));
  }
  if (today !== null && today !== undefined) {
    parts.push(svg("line", { class: "today", x1: at.x(today), x2: at.x(today), y1: frame.top, y2: frame.bottom }));
  }
  parts.push(svg("line", { class: "now", x1: at.x(now.x), x2: at.x(now.x), y1: frame.top, y2: frame.bottom }));
  curves.forEach((curve, i) => {
    if (now.y[i] === null) return;
    parts.push(svg("rect", { class: `dot d${curve.colour}`, x: at.x(now.x) - 5, y: at.y(now.y[i]) - 5, width: 10, height: 10 }));
  });
  chart.replaceChildren(...parts, ...namesOf(curves, frame));
}

function* axes(at, x, y, [bottom, top], frame, [left, right]) {
  const most = Math.max(2, Math.floor((frame.right - frame.left) / 80));
  const wanted = x.ticks ?? rounded(left, right, most, x.log);
  const every = Math.ceil(wanted.length / most);
  let free = -Infinity;
  for (const value of wanted.filter((_, i) => i % every === 0)) {
    const place = at.x(value);
    yield svg("line", { class: "grid", x1: place, x2: place, y1: frame.top, y2: frame.bottom });
    const text = x.text(value);
    const half = 3.6 * text.length;
    if (place - half < free) continue;
    free = place + half + 6;
    yield svg("text", { x: place, y: frame.bottom + 18, "text-anchor": "middle" }, text);
  }
  for (const value of rounded(bottom, top, 6, y.log)) {
    const height = at.y(value);
    yield svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: height, y2: height });
    yield svg("text", { x: frame.left - 8, y: height + 4, "text-anchor": "end" }, y.text(value));
  }
  yield svg("text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 36, "text-anchor": "middle" }, x.title);
}

function* curveOf(curve, at) {
  const place = (point, end) => `${at.x(point.x).toFixed(1)} ${at.y(point[end]).toFixed(1)}`;
  const upper = curve.points.map((point) => place(point, "high"));
  const lower = curve.points.map((point) => place(point, "low")).reverse();
  const line = curve.points.map((point) => place(point, "mid"));
  if (upper.join() !== [...lower].reverse().join()) {
    yield svg("path", { class: `band d${curve.colour}`, stroke: "none", d: `M${[...upper, ...lower].join("L")}Z` });
  }
  yield svg("path", { class: `curve d${curve.colour}${curve.measured ? " measured" : ""}`, d: `M${line.join("L")}` });
  if (curve.measured) return;
  for (const point of curve.points.filter((one) => one.measured)) {
    const where = { cx: at.x(point.x), cy: at.y(point.mid), r: 7 };
    yield svg("circle", { class: `dot d${curve.colour}`, ...where, "data-measured": "" });
  }
}

function* namesOf(curves, frame) {
  let left = frame.left;
  for (const curve of curves) {
    yield svg("rect", { class: `d${curve.colour}`, x: left, y: 4, width: 10, height: 10 });
    yield svg("text", { class: "name", x: left + 15, y: 13 }, curve.name);
    left += 34 + 7.5 * curve.name.length;
  }
}

// How a slider moves: `place` counts stops, `STEPS_BETWEEN` of them from one value to the next.
const STEPS_BETWEEN = 12;

function between(a, b, part) {
  return a > 0 && b > 0 ? Math.exp(Math.log(a) * (1 - part) + Math.log(b) * part) : a * (1 - part) + b * part;
}
