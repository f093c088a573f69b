// Numbers as people read them: the same words and digits as the rest of the page (report/numbers.py).
const UNITS = [[600000, 60000, "min"], [1000, 1000, "s"], [0.1, 1, "ms"], [0, 0.001, "µs"]];

function places(value, digits) {
  return value > 0 && Number.isFinite(value) ? digits - 1 - Math.floor(Math.log10(value)) : 0;
}

function figures(value, digits) {
  const fine = places(value, digits);
  return fine >= 0 ? value.toFixed(Math.min(fine, 20)) : String(Math.round(value * 10 ** fine) / 10 ** fine);
}

function unitOf(ms) {
  return UNITS.find((unit) => ms >= unit[0]) ?? UNITS[3];
}

function duration(ms, digits = 2) {
  const [, per, unit] = unitOf(ms);
  return ms > 0 ? `${figures(ms / per, digits)} ${unit}` : "0 ms";
}

function about(step) {
  const [, per, unit] = unitOf(step.mid);
  const fine = Math.max(places(step.mid / per, 2), 0);
  return `≈ ${figures(step.mid / per, 2)} ${unit} (${(step.low / per).toFixed(fine)}–${(step.high / per).toFixed(fine)})`;
}

function chance(part) {
  return part > 0.99 ? "over 99 %" : `${Math.round(100 * part)} %`;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function html(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
