// The step at any batch: between the sizes of the shipped table times are interpolated on logarithmic scales.
const STEPS_BETWEEN = 12;

function between(a, b, part) {
  return a > 0 && b > 0 ? Math.exp(Math.log(a) * (1 - part) + Math.log(b) * part) : a * (1 - part) + b * part;
}

function stepBetween(a, b, part) {
  return { low: between(a.low, b.low, part), mid: between(a.mid, b.mid, part), high: between(a.high, b.high, part) };
}

// The point of a curve at a place on its grid: 2.5 lies half-way between the third size and the fourth.
function pointAt(curve, place) {
  const first = Math.min(Math.floor(place), curve.points.length - 1);
  const a = curve.points[first];
  const b = curve.points[Math.min(first + 1, curve.points.length - 1)];
  const part = place - first;
  if (part === 0 || a === b) return a;
  const parts = new Map(a.account.map((share) => [share.cause, share.share * (1 - part)]));
  for (const share of b.account) parts.set(share.cause, (parts.get(share.cause) ?? 0) + share.share * part);
  const step = stepBetween(a.step_ms, b.step_ms, part);
  const whole = [...parts.values()].reduce((sum, share) => sum + share, 0) || 1;
  return {
    value: Math.max(1, Math.round(between(a.value, b.value, part))),
    step_ms: step,
    account: [...parts].map(([cause, share]) => ({ cause, share: share / whole, ms: (step.mid * share) / whole })),
    factor: a.factor && b.factor ? stepBetween(a.factor, b.factor, part) : null,
    probability: a.probability === null || b.probability === null ? null : a.probability * (1 - part) + b.probability * part,
  };
}

function verdictOf(curve, point) {
  const { low, mid, high } = point.factor;
  const gpu = `the ${curve.device}`;
  const tie = low <= 1 && 1 <= high;
  const wins = mid >= 1;
  const [a, b, c] = wins ? [low, mid, high] : [1 / high, 1 / mid, 1 / low];
  if (tie) return `too close to call between the CPU and ${gpu} (${gpu} is faster with a probability of ${chance(point.probability)})`;
  const sure = chance(wins ? point.probability : 1 - point.probability);
  return `${wins ? gpu : "the CPU"} is ≈ ${figures(b, 2)} times as fast as ${wins ? "the CPU" : gpu} (${figures(a, 2)}–${figures(c, 2)}, probability ${sure})`;
}

function startSizes(data) {
  const section = document.getElementById("sizes");
  const table = data.sizes;
  if (!section || !table || table.curves.length < 2) return;
  section.hidden = false;
  const slider = document.getElementById("size");
  const count = Math.min(...table.curves.map((curve) => curve.points.length));
  const today = Math.max(0, table.curves[0].points.findIndex((point) => point.value === table.today));
  slider.max = String((count - 1) * STEPS_BETWEEN);
  slider.value = String(today * STEPS_BETWEEN);
  const show = () => {
    const place = Number(slider.value) / STEPS_BETWEEN;
    showSizes(data, place, place === today);
    drawChart(data, place, today);
  };
  slider.addEventListener("input", show);
  document.getElementById("size-today").addEventListener("click", () => {
    slider.value = String(today * STEPS_BETWEEN);
    show();
  });
  new ResizeObserver(show).observe(document.getElementById("size-chart"));
  show();
}

function showSizes(data, place, isToday) {
  const [cpu, ...gpus] = data.sizes.curves;
  const here = pointAt(cpu, place);
  const value = here.value.toLocaleString("en");
  const said = gpus.map((curve) => verdictOf(curve, pointAt(curve, place))).join("; ");
  document.getElementById("size-now").textContent = value;
  document.getElementById("size").setAttribute("aria-valuetext", `${data.sizes.parameter} ${value}`);
  document.getElementById("size-verdict").textContent =
    `At a ${data.sizes.parameter} of ${value}${isToday ? ", as today" : ""}: ${said}.`;
  const points = data.sizes.curves.map((curve) => [curve, pointAt(curve, place)]);
  const longest = Math.max(...points.map(([, point]) => point.step_ms.mid));
  const bars = points.map(([curve, point]) => bar(data, curve, point, longest, isToday && curve === cpu));
  document.getElementById("size-bars").replaceChildren(...bars);
}

function bar(data, curve, point, longest, measured) {
  const source = measured ? "measured" : "predicted";
  const total = measured ? duration(point.step_ms.mid, 3) : `≈ ${duration(point.step_ms.mid)}`;
  const drawn = svg("svg", { role: "img", width: "100%", height: 30, "aria-label": `${curve.device}, ${source}, ${total}` });
  const length = (100 * point.step_ms.mid) / longest;
  const letters = [];
  const account = point.account.length ? point.account : [{ cause: "", share: 1 }];
  let begun = 0;
  for (const share of account) {
    const width = length * Math.max(share.share, 0);
    const number = data.causes.findIndex((cause) => cause.name === share.cause);
    const colour = `c${number < 0 ? data.causes.length : number}`;
    if (width > 0) drawn.append(svg("rect", { class: colour, x: `${begun}%`, width: `${width}%`, y: 0, height: 30 }));
    if (width >= 3 && number >= 0) {
      letters.push(svg("text", { x: `${begun + width / 2}%`, y: 20 }, data.causes[number].letter));
    }
    begun += width;
  }
  if (!measured) drawn.append(svg("rect", { class: "over", width: `${length}%`, height: 30, fill: "url(#hatch)" }));
  drawn.append(...letters);
  const row = html("div", `bar ${source}`, html("span", "device", curve.device), drawn, html("span", "total", total));
  row.dataset.device = curve.device;
  return row;
}

function drawChart(data, place, today) {
  const chart = document.getElementById("size-chart");
  const width = Math.max(chart.clientWidth, 240);
  const frame = { left: 62, right: width - 12, top: 26, bottom: 280 };
  const { curves } = data.sizes;
  const sizes = curves[0].points.map((point) => point.value);
  const ends = curves.flatMap((curve) => curve.points.flatMap((point) => [point.step_ms.low, point.step_ms.high]));
  const x = scale(sizes[0], sizes[sizes.length - 1], frame.left, frame.right);
  const y = scale(Math.min(...ends.filter((ms) => ms > 0)), Math.max(...ends), frame.bottom, frame.top);
  const parts = [...grid(x, y, frame, width, data)];
  curves.forEach((curve, number) => parts.push(...line(curve, number % 5, x, y)));
  const now = pointAt(curves[0], place).value;
  parts.push(svg("line", { class: "today", x1: x(sizes[today]), x2: x(sizes[today]), y1: frame.top, y2: frame.bottom }));
  parts.push(svg("line", { class: "now", x1: x(now), x2: x(now), y1: frame.top, y2: frame.bottom }));
  curves.forEach((curve, number) => {
    const point = pointAt(curve, place);
    parts.push(svg("rect", { class: `dot d${number % 5}`, x: x(now) - 5, y: y(point.step_ms.mid) - 5, width: 10, height: 10 }));
  });
  const measured = curves[0].points[today];
  parts.push(svg("circle", { class: "dot d0", cx: x(measured.value), cy: y(measured.step_ms.mid), r: 7, "data-measured": "" }));
  parts.push(...names(curves, frame));
  chart.replaceChildren(...parts);
}

function scale(low, high, from, to) {
  const span = Math.log(high / low) || 1;
  return (value) => from + ((to - from) * Math.log(Math.max(value, low / 2) / low)) / span;
}

function* grid(x, y, frame, width, data) {
  const sizes = data.sizes.curves[0].points;
  const every = Math.ceil(sizes.length / Math.max(2, Math.floor(width / 80)));
  for (let i = 0; i < sizes.length; i += every) {
    const at = x(sizes[i].value);
    yield svg("line", { class: "grid", x1: at, x2: at, y1: frame.top, y2: frame.bottom });
    yield svg("text", { x: at, y: frame.bottom + 18, "text-anchor": "middle" }, sizes[i].value.toLocaleString("en"));
  }
  for (let power = -6; power <= 8; power += 1) {
    const at = y(10 ** power);
    if (at > frame.bottom || at < frame.top) continue;
    yield svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: at, y2: at });
    yield svg("text", { x: frame.left - 8, y: at + 4, "text-anchor": "end" }, duration(10 ** power, 1));
  }
  yield svg("text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 36, "text-anchor": "middle" }, data.sizes.parameter);
}

function* line(curve, colour, x, y) {
  const at = (point, end) => `${x(point.value).toFixed(1)} ${y(point.step_ms[end]).toFixed(1)}`;
  const upper = curve.points.map((point) => at(point, "high"));
  const lower = curve.points.map((point) => at(point, "low")).reverse();
  yield svg("path", { class: `band d${colour}`, stroke: "none", d: `M${[...upper, ...lower].join("L")}Z` });
  yield svg("path", { class: `curve d${colour}`, d: `M${curve.points.map((point) => at(point, "mid")).join("L")}` });
}

function* names(curves, frame) {
  let left = frame.left;
  for (const [number, curve] of curves.entries()) {
    yield svg("rect", { class: `d${number % 5}`, x: left, y: 4, width: 10, height: 10 });
    yield svg("text", { class: "name", x: left + 15, y: 13 }, curve.device);
    left += 34 + 7.5 * curve.device.length;
  }
}
