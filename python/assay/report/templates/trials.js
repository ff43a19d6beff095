"use strict";
// The trials of the condition that the address names, or all conditions.
const campaign = about();
const title = document.getElementById("title");
const facts = document.getElementById("facts");

function counted(counts) {
  const ended = Object.entries(counts).filter(([, count]) => count);
  return ended.map(([status, count]) => `${count} ${status.replace("_", " ")}`).join(", ") || "no trial has ended";
}

function conditions() {
  title.textContent = "Trials";
  facts.textContent = "Click a condition to see its trials.";
  const rows = campaign.conditions.map(({ name, counts }, i) =>
    [create("a", { href: `#condition-${i + 1}` }, name), counted(counts)]);
  return [table("Conditions", ["condition", "trials"], rows)];
}

async function trials(place) {
  const condition = campaign.conditions[place - 1];
  const { columns, rows, values } = JSON.parse(await load(`trials-${place}`));
  title.textContent = condition.name;
  facts.textContent = `${counted(condition.counts)}. Click a number to see the trial's whole record.`;
  const statuses = ["every status", ...new Set(values[3])];
  const chosen = create("select", { id: "status" }, ...statuses.map((status) => create("option", {}, status)));
  const shown = create("div");
  function draw() {
    const kept = Array.from({ length: rows }, (_, row) => row)
      .filter((row) => chosen.selectedIndex === 0 || values[3][row] === chosen.value);
    const cells = kept.map((row) => [
      create("a", { href: `trial.html#${values[0][row]}` }, String(values[0][row])),
      ...values.slice(1).map((column) => column[row]),
    ]);
    shown.replaceChildren(table(`Trials: ${kept.length}`, columns, cells));
  }
  chosen.addEventListener("change", draw);
  draw();
  return [
    create("p", {}, create("a", { href: "#" }, "All conditions")),
    create("p", {}, create("label", { for: "status" }, "Show "), chosen),
    shown,
  ];
}

follow(/^#condition-([0-9]+)$/, (match) => {
  const place = match && Number(match[1]);
  return place >= 1 && place <= campaign.conditions.length ? trials(place) : conditions();
});
