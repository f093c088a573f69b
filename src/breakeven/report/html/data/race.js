// The loss of each device after any time of training: between two points of its curve on a straight line.
function lossAt(racer, seconds) {
  const after = racer.at_s.findIndex((at) => at >= seconds);
  if (after < 0 || racer.loss.length === 0) return null;
  if (after === 0) return racer.at_s[0] <= seconds ? racer.loss[0] : null;
  const part = (seconds - racer.at_s[after - 1]) / (racer.at_s[after] - racer.at_s[after - 1] || 1);
  return racer.loss[after - 1] * (1 - part) + racer.loss[after] * part;
}

function racerName({ device, variant }) {
  return variant ? `${device}, ${variant}` : device;
}

class RaceView {
  constructor(holder, race) {
    this.race = race;
    this.racers = race.racers.filter((racer) => racer.loss.length);
    const part = (name) => holder.querySelector(`.${name}`);
    this.parts = { slider: part("slide"), now: part("at"), verdict: part("live"), chart: part("chart") };
    this.longest = Math.max(...this.racers.map((racer) => racer.at_s[racer.at_s.length - 1]));
    part("moving").hidden = false;
    this.parts.slider.addEventListener("input", () => this.show());
    this.parts.slider.value = this.parts.slider.max;
    new ResizeObserver(() => this.show()).observe(this.parts.chart);
    this.show();
  }

  show() {
    const seconds = (this.longest * Number(this.parts.slider.value)) / Number(this.parts.slider.max);
    const losses = this.racers.map((racer) => lossAt(racer, seconds));
    const text = duration(1000 * seconds, 3);
    this.parts.now.textContent = text;
    this.parts.slider.setAttribute("aria-valuetext", `${text} of training`);
    const known = this.racers.map((racer, i) => [racer, losses[i]]).filter(([, loss]) => loss !== null).sort((a, b) => a[1] - b[1]);
    const said = known.map(([racer, loss]) => `${racerName(racer)} at a loss of ${figures(loss, 4)}`).join(", ");
    this.parts.verdict.textContent = `After ${text} of training: ${said || "no loss was seen yet"}.`;
    const curves = this.racers.map((racer, number) => ({
      name: racerName(racer), colour: number % 5, measured: true,
      points: racer.loss.map((loss, i) => ({ x: racer.at_s[i], low: loss, mid: loss, high: loss, measured: true })),
    }));
    const { target } = this.race;
    drawCurves(this.parts.chart, {
      curves, now: { x: seconds, y: losses }, level: target === null ? null : { value: target, name: `loss ${figures(target, 4)}` },
      x: { log: false, least: 0, title: "seconds of training", text: (s) => String(+s.toPrecision(4)) },
      y: { log: false, text: (loss) => String(+loss.toPrecision(3)) },
    });
  }
}

function startRace(data) {
  const holder = document.querySelector("[data-race]");
  if (holder && data.race) holder.view = new RaceView(holder, data.race);
}
