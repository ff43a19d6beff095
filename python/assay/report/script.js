"use strict";
// Draws the figures in the colours of the page, and again when those change: the first ones at once, so that
// a print has them, the others when they come into view.
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const data = JSON.parse(document.getElementById("data").textContent);

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function config() {
  const text = { labelColor: color("--ink"), titleColor: color("--ink") };
  const lines = { gridColor: color("--line"), domainColor: color("--quiet"), tickColor: color("--quiet") };
  return {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { ...text, ...lines, titleFontWeight: "normal" }, legend: text,
  };
}

function draw(element) {
  const [kind, columns, rows] = data[Number(element.dataset.figure)];
  const table = rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i], value])));
  const specification = specifications[kind];
  return vegaEmbed(element, { ...specification, datasets: { rows: table } }, {
    actions: { export: true, source: false, compiled: false, editor: false },
    config: { ...config(), ...specification.config, legend: { ...config().legend, ...specification.config?.legend } },
    mode: "vega-lite", renderer: rows.length > 1000 ? "canvas" : "svg",
  }).catch((error) => { element.textContent = `This chart cannot be drawn: ${error.message}`; });
}

const AT_ONCE = 40;
const drawn = new Set();
function draw_once(element) {
  if (!drawn.has(element)) {
    drawn.add(element);
    draw(element);
  }
}
const watch = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw_once(entry.target)),
  { rootMargin: "400px" },
);
document.querySelectorAll(".chart").forEach(
  (element, place) => (place < AT_ONCE ? draw_once(element) : watch.observe(element)),
);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(draw));
