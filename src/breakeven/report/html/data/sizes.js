// The step at any size: between the sizes of the shipped table times are interpolated on logarithmic scales.
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
    value: valueBetween(a.value, b.value, part),
    step_ms: step,
    source: "predicted",
    account: [...parts].map(([cause, share]) => ({ cause, share: share / whole, ms: (step.mid * share) / whole })),
    factor: a.factor && b.factor ? stepBetween(a.factor, b.factor, part) : null,
    probability: a.probability === null || b.probability === null ? null : a.probability * (1 - part) + b.probability * part,
  };
}

function valueBetween(a, b, part) {
  const value = between(a, b, part);
  return Number.isInteger(a) && Number.isInteger(b) ? Math.round(value) : value;
}

function valueText(value) {
  return Number.isInteger(value) ? value.toLocaleString("en") : figures(value, 3);
}

function named(device) {
  return device === "cpu" ? "the CPU" : `the ${device}`;
}

// As `diagnose/verdict.py`: from here on a device is named though the interval holds 1.
const LIKELY = 0.8;

// One GPU against the CPU, where the table holds the factor between them.
function verdictOf(curve, point) {
  const { low, mid, high } = point.factor;
  const gpu = named(curve.device);
  const tie = low <= 1 && 1 <= high;
  const wins = mid >= 1;
  const [a, b, c] = wins ? [low, mid, high] : [1 / high, 1 / mid, 1 / low];
  const sure = chance(wins ? point.probability : 1 - point.probability);
  const likely = Math.max(point.probability, 1 - point.probability) >= LIKELY;
  if (tie && !likely) return `too close to call between the CPU and ${gpu} (${gpu} is faster with a probability of ${chance(point.probability)})`;
  return `${wins ? gpu : "the CPU"} is ${tie ? "probably " : ""}≈ ${figures(b, 2)} times as fast as ${wins ? "the CPU" : gpu} (${figures(a, 2)}–${figures(c, 2)}, probability ${sure})`;
}

// The fastest of all, where the table holds how probable it is that each is: under 95 % it is named with a "probably", or not at all.
const SURE = 0.95;

function fastestOf(points) {
  const [best, next] = [...points].sort((a, b) => a[1].step_ms.mid - b[1].step_ms.mid);
  if (!next) return `${named(best[0].device)} alone is known`;
  const cpu = points.find(([curve]) => curve.kind === "cpu") ?? next;
  const other = best === cpu ? next : cpu;
  const chanceOf = best[1].probability;
  if (chanceOf === null || chanceOf < LIKELY) {
    const said = chanceOf === null ? "" : ` (${named(best[0].device)} is the fastest with a probability of ${chance(chanceOf)})`;
    return `too close to call between ${named(best[0].device)} and ${named(next[0].device)}${said}`;
  }
  const times = figures(other[1].step_ms.mid / best[1].step_ms.mid, 2);
  return `${named(best[0].device)} is ${chanceOf < SURE ? "probably " : ""}the fastest, ≈ ${times} times as fast as ${named(other[0].device)} (probability ${chance(chanceOf)})`;
}

class SizesView {
  constructor(holder, panel, causes) {
    this.panel = panel;
    this.causes = causes;
    const part = (name) => holder.querySelector(`.${name}`);
    this.parts = { slider: part("slide"), now: part("at"), verdict: part("live"), bars: part("live-bars"), chart: part("chart") };
    this.choices = [...holder.querySelectorAll("select")];
    part("moving").hidden = false;
    this.parts.slider.addEventListener("input", () => this.show());
    for (const choice of this.choices) choice.addEventListener("change", () => this.turn());
    this.button = part("to-today");
    this.button?.addEventListener("click", () => this.go(this.today));
    this.turn();
    new ResizeObserver(() => this.show()).observe(this.parts.chart);
  }

  // The table of the other parameters' values as they are chosen; the slider stays where it was, as far as it can.
  turn() {
    const before = this.table ? this.here.value : this.panel.today;
    const place = this.choices.reduce((at, choice) => at * choice.length + choice.selectedIndex, 0);
    this.table = this.panel.tables[place];
    const values = this.table.curves.length ? this.table.curves[0].points.map((point) => point.value) : [];
    this.today = values.indexOf(this.panel.today);
    if (this.button) this.button.hidden = this.today < 0;
    this.parts.slider.disabled = values.length < 2;
    this.parts.slider.max = String(Math.max(values.length - 1, 0) * STEPS_BETWEEN);
    const nearest = values.reduce((best, value, i) => (Math.abs(value - before) < Math.abs(values[best] - before) ? i : best), 0);
    this.go(before === null ? Math.floor(values.length / 2) : nearest);
  }

  go(place) {
    this.parts.slider.value = String(place * STEPS_BETWEEN);
    this.show();
  }

  get place() {
    return Number(this.parts.slider.value) / STEPS_BETWEEN;
  }

  get here() {
    return this.table.curves.length ? pointAt(this.table.curves[0], this.place) : { value: this.panel.today };
  }

  show() {
    const { curves } = this.table;
    if (!curves.length) {
      this.parts.verdict.textContent = "None of these cells could be run, so there is nothing to show.";
      this.parts.bars.replaceChildren();
      this.parts.chart.replaceChildren();
      return;
    }
    const points = curves.map((curve) => [curve, pointAt(curve, this.place)]);
    const { value } = this.here;
    const text = valueText(value);
    this.parts.now.textContent = text;
    this.parts.slider.setAttribute("aria-valuetext", `${this.panel.parameter} ${text}`);
    const others = this.panel.choices.map((choice, i) => `, ${choice.name} ${choice.values[this.choices[i].selectedIndex]}`).join("");
    const asToday = this.panel.choices.every((choice, i) => choice.today === this.choices[i].selectedIndex);
    const isToday = asToday && this.place === this.today;
    const where = others ? `${this.panel.parameter} ${text}${others}` : `a ${this.panel.parameter} of ${text}`;
    const said = points.slice(1).every(([, point]) => point.factor)
      ? points.slice(1).map(([curve, point]) => verdictOf(curve, point)).join("; ")
      : fastestOf(points);
    this.parts.verdict.textContent = `At ${where}${isToday ? ", as today" : ""}: ${said}.`;
    const longest = Math.max(...points.map(([, point]) => point.step_ms.mid));
    this.parts.bars.replaceChildren(...points.map(([curve, point], i) => this.bar(curve, point, longest, i % 5)));
    this.draw(points, value);
  }

  bar(curve, point, longest, colour) {
    const measured = point.source === "measured";
    const source = measured ? "measured" : "predicted";
    const total = measured ? duration(point.step_ms.mid, 3) : `≈ ${duration(point.step_ms.mid)}`;
    const drawn = svg("svg", { role: "img", width: "100%", height: 30, "aria-label": `${curve.device}, ${source}, ${total}` });
    const length = (100 * point.step_ms.mid) / longest;
    const letters = [];
    const account = point.account.length ? point.account : [{ cause: null, share: 1 }];
    let begun = 0;
    for (const share of account) {
      const width = length * Math.max(share.share, 0);
      const number = this.causes.findIndex((cause) => cause.name === share.cause);
      const filled = share.cause === null ? `plain d${colour}` : `c${number < 0 ? this.causes.length : number}`;
      if (width > 0) drawn.append(svg("rect", { class: filled, x: `${begun}%`, width: `${width}%`, y: 0, height: 30 }));
      if (width >= 3 && number >= 0) {
        letters.push(svg("text", { x: `${begun + width / 2}%`, y: 20 }, this.causes[number].letter));
      }
      begun += width;
    }
    if (!measured) drawn.append(svg("rect", { class: "over", width: `${length}%`, height: 30, fill: "url(#hatch)" }));
    drawn.append(...letters);
    const row = html("div", `bar ${source}`, html("span", "device", curve.device), drawn, html("span", "total", total));
    row.dataset.device = curve.device;
    return row;
  }

  draw(points, value) {
    const curves = this.table.curves.map((curve, number) => ({
      name: curve.device, colour: number % 5, measured: false,
      points: curve.points.map((p) => ({ x: p.value, ...p.step_ms, measured: p.source === "measured" })),
    }));
    const ticks = curves[0].points.map((point) => point.x);
    drawCurves(this.parts.chart, {
      curves, now: { x: value, y: points.map(([, point]) => point.step_ms.mid) },
      today: this.today < 0 ? null : ticks[this.today],
      x: { log: ticks.every((tick) => tick > 0), title: this.panel.parameter, text: valueText, ticks },
      y: { log: true, text: (ms) => duration(ms, 1) },
    });
  }
}

function startSizes(data) {
  document.querySelectorAll("[data-panel]").forEach((holder) => {
    const panel = data.panels[Number(holder.dataset.panel)];
    if (panel) holder.view = new SizesView(holder, panel, data.causes);
  });
}
