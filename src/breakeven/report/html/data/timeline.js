// A step on a canvas: lanes below each other, deeper bars inside of theirs. Every frame draws what is in sight, once a pixel.
const ROW = 20;
const LANE_GAP = 26;
const LEFT = 8;

class TimelineView {
  constructor(holder, step, causes) {
    this.step = step;
    this.bars = step.bars;
    this.count = step.bars.lane.length;
    this.canvas = holder.querySelector("canvas");
    this.told = holder.querySelector(".told");
    this.whole = { from: Math.min(0, ...this.starts(1)), to: this.last() };
    this.view = { ...this.whole };
    this.chosen = -1;
    this.waiting = false;
    this.fingers = new Map();
    this.causes = step.causes.map((name) => {
      const number = causes.findIndex((cause) => cause.name === name);
      return { name, colour: number < 0 ? causes.length : number, words: number < 0 ? "" : causes[number].words };
    });
    this.place();
    this.listen(holder);
    this.draw();
  }

  starts(most) {
    return this.bars.start_ns.slice(0, most);
  }

  last() {
    let end = this.step.length_ns;
    for (let i = 0; i < this.count; i += 1) end = Math.max(end, this.bars.start_ns[i] + this.bars.duration_ns[i]);
    return Math.max(end, 1);
  }

  // Where each lane begins, and the bars of each lane in their order.
  place() {
    const depth = this.step.lanes.map(() => 0);
    this.ofLane = this.step.lanes.map(() => []);
    for (let i = 0; i < this.count; i += 1) {
      const lane = this.bars.lane[i];
      depth[lane] = Math.max(depth[lane], this.bars.depth[i]);
      this.ofLane[lane].push(i);
    }
    this.top = [];
    let top = 24;
    for (const deepest of depth) {
      this.top.push(top + 18);
      top += LANE_GAP + 18 + deepest * ROW;
    }
    this.height = top + 6;
    this.canvas.style.height = `${this.height}px`;
  }

  listen(holder) {
    const { canvas } = this;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    const acts = { in: () => this.zoom(0.5), out: () => this.zoom(2), whole: () => this.show(this.whole.from, this.whole.to),
      back: () => this.move(-0.4), on: () => this.move(0.4) };
    holder.querySelectorAll("button[data-do]").forEach((button) => button.addEventListener("click", acts[button.dataset.do]));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
      canvas.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    }
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.timeAt(event.offsetX)));
    canvas.addEventListener("keydown", (event) => this.key(event, acts));
  }

  get width() {
    return Math.max(this.canvas.clientWidth - 2 * LEFT, 1);
  }

  timeAt(x) {
    return this.view.from + ((x - LEFT) / this.width) * (this.view.to - this.view.from);
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, 200), this.whole.to - this.whole.from);
    const begin = Math.min(Math.max(from, this.whole.from), this.whole.to - span);
    this.view = { from: begin, to: begin + span };
    this.draw();
  }

  zoom(by, about = (this.view.from + this.view.to) / 2) {
    this.show(about - (about - this.view.from) * by, about + (this.view.to - about) * by);
  }

  move(by) {
    const span = this.view.to - this.view.from;
    this.show(this.view.from + by * span, this.view.to + by * span);
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.timeAt(event.offsetX));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.move(event.deltaX / this.width);
    }
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event.offsetX);
    this.point(event);
  }

  moved(event) {
    const before = this.fingers.get(event.pointerId);
    if (before === undefined) {
      this.point(event);
      return;
    }
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    this.fingers.set(event.pointerId, event.offsetX);
    if (others.length) {
      const [was, is] = [Math.abs(before - others[0]), Math.abs(event.offsetX - others[0])];
      if (was > 4 && is > 4) this.zoom(was / is, this.timeAt((event.offsetX + others[0]) / 2));
    } else {
      this.move((before - event.offsetX) / this.width);
    }
  }

  point(event) {
    const found = this.at(event.offsetX, event.offsetY);
    if (found >= 0 && found !== this.chosen) this.choose(found);
  }

  // The bar at a place, of several the innermost, with two pixels of grace for thin ones.
  at(x, y) {
    const grace = ((this.view.to - this.view.from) / this.width) * 2;
    const time = this.timeAt(x);
    let found = -1;
    for (let i = 0; i < this.count; i += 1) {
      const top = this.top[this.bars.lane[i]] + this.bars.depth[i] * ROW;
      const start = this.bars.start_ns[i];
      if (y >= top && y < top + ROW && time >= start - grace && time <= start + this.bars.duration_ns[i] + grace) {
        if (found < 0 || Math.abs(this.middle(i) - time) <= Math.abs(this.middle(found) - time)) found = i;
      }
    }
    return found;
  }

  middle(i) {
    return this.bars.start_ns[i] + this.bars.duration_ns[i] / 2;
  }

  choose(i) {
    this.chosen = i;
    const { name, line, cause, lane, start_ns: start, duration_ns: length } = this.bars;
    const guess = this.step.source === "predicted" ? "≈ " : "";
    const why = cause[i] >= 0 ? this.causes[cause[i]] : null;
    const said = [`${this.step.names[name[i]]}: ${guess}${duration(length[i] / 1e6)}, ${this.step.source}`];
    said.push(line[i] >= 0 ? this.step.places[line[i]] : "no line of the script");
    if (why) said.push(why.words ? `${why.name} (${why.words})` : why.name);
    said.push(`${this.step.lanes[lane[i]]}, ${guess}${duration(Math.max(start[i], 0) / 1e6)} after the start`);
    this.told.className = `told ${this.step.source}`;
    this.told.textContent = said.join(" · ");
    this.draw();
  }

  key(event, acts) {
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const upwards = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const act = { "+": acts.in, "=": acts.in, "-": acts.out, 0: acts.whole, Home: acts.whole }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!sideways && !upwards && !act)) return;
    event.preventDefault();
    if (act) act();
    else if (sideways && event.shiftKey) this.move(sideways * 0.2);
    else if (sideways) this.next(sideways);
    else this.otherLane(upwards);
  }

  next(by) {
    const lane = this.chosen < 0 ? 0 : this.bars.lane[this.chosen];
    const bars = this.ofLane[lane];
    const place = this.chosen < 0 ? (by > 0 ? -1 : bars.length) : bars.indexOf(this.chosen);
    this.reach(bars[Math.min(Math.max(place + by, 0), bars.length - 1)]);
  }

  otherLane(by) {
    const from = this.chosen < 0 ? -1 : this.bars.lane[this.chosen];
    const lane = Math.min(Math.max(from + by, 0), this.ofLane.length - 1);
    const time = this.chosen < 0 ? this.view.from : this.middle(this.chosen);
    let best = -1;
    for (const i of this.ofLane[lane]) {
      if (best < 0 || Math.abs(this.middle(i) - time) < Math.abs(this.middle(best) - time)) best = i;
    }
    this.reach(best);
  }

  // Chooses a bar, and brings it into sight.
  reach(i) {
    if (i === undefined || i < 0) return;
    const middle = this.middle(i);
    if (middle < this.view.from || middle > this.view.to) {
      const half = (this.view.to - this.view.from) / 2;
      this.show(middle - half, middle + half);
    }
    this.choose(i);
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    const { canvas } = this;
    const sharp = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(canvas.clientWidth * sharp), Math.round(this.height * sharp)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink");
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, this.height);
    pen.font = "12px system-ui, sans-serif";
    this.paintScale(pen, style.getPropertyValue("--soft"), style.getPropertyValue("--line"));
    pen.fillStyle = ink;
    this.step.lanes.forEach((lane, i) => pen.fillText(lane, LEFT, this.top[i] - 5));
    this.paintBars(pen);
    if (this.chosen >= 0) this.paintChosen(pen, ink);
  }

  paintScale(pen, soft, faint) {
    const span = this.view.to - this.view.from;
    const most = Math.max(2, Math.floor(this.width / 110));
    const rough = 10 ** Math.floor(Math.log10(span / most));
    const step = [1, 2, 5, 10].map((k) => k * rough).find((ns) => span / ns <= most) ?? 10 * rough;
    for (let at = Math.ceil(this.view.from / step) * step; at <= this.view.to; at += step) {
      const x = LEFT + ((at - this.view.from) / span) * this.width;
      pen.fillStyle = faint;
      pen.fillRect(x, 20, 1, this.height - 24);
      pen.fillStyle = soft;
      const text = step >= 1e5 ? `${+(at / 1e6).toPrecision(6)} ms` : `${+(at / 1e3).toPrecision(6)} µs`;
      pen.fillText(text, Math.min(x + 3, LEFT + this.width - 48), 14);
    }
  }

  paintBars(pen) {
    const { lane, depth, start_ns: start, duration_ns: length, name, cause } = this.bars;
    const perNs = this.width / (this.view.to - this.view.from);
    const reached = new Map();
    const named = [];
    for (let i = 0; i < this.count; i += 1) {
      if (start[i] > this.view.to || start[i] + length[i] < this.view.from) continue;
      const from = Math.max(LEFT, LEFT + (start[i] - this.view.from) * perNs);
      const to = Math.min(LEFT + this.width, LEFT + (start[i] + length[i] - this.view.from) * perNs);
      const row = lane[i] * 16 + depth[i];
      if (to - from < 1 && Math.floor(to) <= (reached.get(row) ?? -1)) continue;
      reached.set(row, Math.floor(Math.max(to, from + 1)));
      pen.fillStyle = this.colours[cause[i] < 0 ? this.colours.length - 1 : cause[i]];
      const y = this.top[lane[i]] + depth[i] * ROW;
      const wide = to - from;
      pen.fillRect(from, y, wide > 4 ? wide - 0.5 : Math.max(wide, 1), ROW - 2);
      if (wide > 40) named.push([this.step.names[name[i]], from + 4, y + 13, wide - 8]);
    }
    pen.fillStyle = "#10131a";
    for (const [text, x, y, room] of named) pen.fillText(fitted(pen, text, room), x, y);
  }

  get colours() {
    if (!this.known) {
      const probe = document.body.appendChild(svg("svg", { width: 0, height: 0, "aria-hidden": "true" }));
      const rect = probe.appendChild(svg("rect", {}));
      const look = (number) => {
        rect.setAttribute("class", `c${number}`);
        return getComputedStyle(rect).fill;
      };
      this.known = [...this.causes.map((cause) => look(cause.colour)), look(12)];
      probe.remove();
    }
    return this.known;
  }

  paintChosen(pen, ink) {
    const { lane, depth, start_ns: start, duration_ns: length } = this.bars;
    const i = this.chosen;
    const perNs = this.width / (this.view.to - this.view.from);
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    const x = LEFT + (start[i] - this.view.from) * perNs;
    pen.strokeRect(x - 1, this.top[lane[i]] + depth[i] * ROW - 1, Math.max(length[i] * perNs, 2) + 2, ROW);
  }
}

function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  const letters = Math.floor(room / 7);
  return letters > 3 ? `${text.slice(0, letters - 1)}…` : "";
}

function startTimelines(data) {
  document.querySelectorAll(".timeline").forEach((holder) => {
    const step = data.steps[Number(holder.dataset.step)];
    if (step && step.bars.lane.length) holder.view = new TimelineView(holder, step, data.causes);
  });
}
