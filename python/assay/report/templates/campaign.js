"use strict";
// Draws the figures of a campaign: those in view first, then the others one after the other, so that a
// print has them all.
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const data = JSON.parse(document.getElementById("data").textContent);
const MANY = 500; // marks that a canvas draws faster than elements of a page

const waiting = new Set(document.querySelectorAll(".chart"));
async function draw_figure(element) {
  if (!waiting.delete(element)) return;
  const [kind, name, columns, rows] = data[Number(element.dataset.figure)];
  const table = rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i], value])));
  await draw(element, { ...specifications[kind], datasets: { rows: table } }, name, rows.length > MANY);
}

const watch = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw_figure(entry.target)),
  { rootMargin: "300px" },
);
waiting.forEach((element) => watch.observe(element));

// A pause after each figure leaves the page responsive.
async function draw_next() {
  const [next] = waiting;
  if (next) {
    await draw_figure(next);
    setTimeout(draw_next);
  } else {
    document.body.dataset.drawn = "all";
  }
}
requestAnimationFrame(() => setTimeout(draw_next));
