"use strict";
// Tables that sort by a click on a heading, and filter. Rows are sorted and kept within their context; a note
// stays below its row.
const SUFFIXES = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

// What a cell is sorted by: its number if it begins with one, else its text.
function sort_key(cell) {
  const text = cell?.innerText.trim() ?? "";
  const match = text.replaceAll(",", "").match(/^[^\w.+-]*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([kMGT]?)(?=$|[\s%;)])/);
  return match ? Number(match[1]) * (SUFFIXES[match[2]] ?? 1) : text;
}

function compare(one, other) {
  const [a, b] = [typeof one === "number", typeof other === "number"];
  if (a && b) return one - other;
  return a ? -1 : b ? 1 : one === "" ? 1 : other === "" ? -1 : one.localeCompare(other, undefined, { numeric: true });
}

// The rows below a heading of their context, each with the notes below it: [{ context, body, rows: [[row, ...notes]] }].
function groups_of(table) {
  const groups = [];
  for (const body of table.tBodies) {
    let group;
    for (const row of body.rows) {
      if (row.classList.contains("context") || !group) {
        group = { body, head: null, context: "", rows: [] };
        groups.push(group);
      }
      if (row.classList.contains("context")) Object.assign(group, { head: row, context: row.innerText.trim() });
      else if (row.classList.contains("note") && group.rows.length) group.rows.at(-1).push(row);
      else group.rows.push([row]);
    }
  }
  return groups;
}

function sort_by(table, heading) {
  const column = heading.cellIndex;
  const down = heading.ariaSort === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.ariaSort = down ? "descending" : "ascending";
  const groups = groups_of(table);
  for (const { body, head, rows } of groups) {
    rows.sort(([one], [other]) => {
      const keys = [one, other].map((row) => sort_key(row.cells[column]));
      return keys.includes("") || !down ? compare(...keys) : -compare(...keys); // what is empty stays last
    });
    body.append(...(head ? [head] : []), ...rows.flat());
  }
}

function filter_by(table, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const { context, head, rows } of groups_of(table)) {
    let some = false;
    for (const row of rows) {
      const content = `${context} ${row.map((part) => part.textContent).join(" ")}`.toLowerCase();
      const hidden = !words.every((word) => content.includes(word));
      some ||= !hidden;
      row.forEach((part) => { part.hidden = hidden; });
    }
    if (head) head.hidden = !some;
  }
}

// Adds the tools to a table in a region of the class `wide`, unless they are there.
const FILTERED_FROM = 8; // rows
function tool(region) {
  const table = region.querySelector("table");
  if (!table?.tHead || region.previousElementSibling?.classList.contains("tools")) return;
  const rows = groups_of(table).reduce((count, group) => count + group.rows.length, 0);
  const bar = document.createElement("div");
  bar.className = "tools";
  if (rows > FILTERED_FROM) {
    const filter = document.createElement("input");
    Object.assign(filter, { type: "search", placeholder: "Filter", ariaLabel: `Filter: ${region.ariaLabel ?? table.caption?.innerText ?? "table"}` });
    filter.addEventListener("input", () => filter_by(table, filter.value));
    bar.append(filter);
  }
  const cue = document.createElement("span");
  cue.className = "cue";
  cue.textContent = "\u2194 scroll sideways";
  bar.append(cue);
  new ResizeObserver(() => { cue.hidden = region.scrollWidth <= region.clientWidth + 1; }).observe(region);
  region.before(bar);
  if (rows < 2) return;
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "sort" });
    button.addEventListener("click", () => sort_by(table, heading));
    button.append(...heading.childNodes);
    heading.append(button);
  }
}

document.querySelectorAll(".wide").forEach(tool);
