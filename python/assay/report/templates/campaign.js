"use strict";
// Draws the figures of a campaign: those in view first, then the others one after the other, so that a
// print has them all.
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const data = JSON.parse(document.getElementById("data").textContent);
const MANY = 500; // marks that a canvas draws faster than elements of a page

const waiting = new Set(document.querySelectorAll(".chart"));
async function draw_figure(element) {
  if (!waiting.delete(element)) return;
  const name = element.dataset.figure;
  const [kind, columns, rows] = data[name];
  const table = rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i], value])));
  await draw(element, { ...specifications[kind], datasets: { rows: table } }, name, rows.length > MANY);
}

const watch = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw_figure(entry.target)),
  { rootMargin: "300px" },
);
waiting.forEach((element) => watch.observe(element));

// What is folded has no width, and is drawn when it is unfolded. A pause after each figure leaves the page
// responsive.
let drawing = false;
async function draw_next() {
  drawing = true;
  const next = [...waiting].find((element) => element.checkVisibility());
  if (next) {
    await draw_figure(next);
    setTimeout(draw_next);
  } else {
    drawing = false;
    document.body.dataset.drawn = "all";
  }
}
requestAnimationFrame(() => setTimeout(draw_next));

function draw_unfolded() {
  if (drawing) return;
  delete document.body.dataset.drawn;
  draw_next();
}
document.querySelectorAll("details.part").forEach((fold) => fold.addEventListener("toggle", draw_unfolded));
document.getElementById("unfold")?.addEventListener("click", () => {
  document.querySelectorAll("main details:not(.vega-embed details)").forEach((fold) => { fold.open = true; });
  draw_unfolded();
});

// What an address names is unfolded, whatever it stands in.
function unfold_target() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", unfold_target);
unfold_target();
