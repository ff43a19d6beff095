"use strict";
// Draws charts in the colours of the page, and again when those change.
const dark = matchMedia("(prefers-color-scheme: dark)");
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colors() {
  const text = { labelColor: color("--ink"), titleColor: color("--ink"), labelFontSize: 11, titleFontSize: 12 };
  const lines = { gridColor: color("--line"), domainColor: color("--quiet"), tickColor: color("--quiet") };
  return {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { ...text, ...lines, titleFontWeight: "normal" }, legend: text, header: text,
    title: { color: color("--ink") }, text: { color: color("--ink") },
  };
}

// A specification's own settings stand above those of the page.
function merged(ours, theirs = {}) {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  const both = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  return Object.fromEntries([...names].map((name) => [name,
    both(ours[name]) && both(theirs[name]) ? merged(ours[name], theirs[name]) : theirs[name] ?? ours[name]]));
}

// Vega's own tooltip would load an image for a field of that name; this one shows names and values as text.
function tooltip(value, to_html) {
  if (typeof value !== "object" || value === null) return to_html(value);
  const rows = Object.entries(value).map(([name, shown]) =>
    `<tr><td class="key">${to_html(name)}</td><td class="value">${to_html(shown)}</td></tr>`);
  return `<table>${rows.join("")}</table>`;
}

// In a narrow place the names in a legend stand one below the other.
function fitted(element, settings) {
  const width = element.clientWidth;
  return width > 420 ? settings : merged(settings, { legend: { columns: 1, labelLimit: width - 60 } });
}

// Small planes share the width of their place; of a narrow one, fewer stand side by side.
function planes(element, specification) {
  if (!specification.facet) return specification;
  const columns = Math.min(specification.columns, Math.max(2, Math.floor((element.clientWidth - 60) / 80)));
  const width = Math.floor((element.clientWidth - 60) / columns) - 12;
  return { ...specification, columns, spec: { ...specification.spec, width } };
}

const drawings = new Map();
function draw(element, specification, file_name = "chart", canvas = false) {
  if (typeof vegaEmbed === "undefined") {  // the site was written without vl-convert
    element.textContent = "This chart needs: pip install 'assay[charts]', and the page written again.";
    return Promise.resolve();
  }
  drawings.set(element, () => draw(element, specification, file_name, canvas));
  element.dataset.scheme = dark.matches ? "dark" : "light";
  const config = fitted(element, merged(colors(), specification.config));
  return vegaEmbed(element, { ...planes(element, specification), config }, {
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: file_name, mode: "vega-lite", renderer: canvas ? "canvas" : "svg",
    tooltip: { formatTooltip: tooltip, disableDefaultStyle: true },
  }).catch((error) => { element.textContent = `This chart cannot be drawn: ${error.message}`; });
}

dark.addEventListener("change", () => {
  drawings.forEach((again, element) => element.isConnected && again());
});
