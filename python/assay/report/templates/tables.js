"use strict";
// Tables that sort by a click on a heading, filter, and copy as Markdown or CSV. Rows are sorted and kept within
// their context; a note stays below its row.
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

// What a table shows, as rows of texts: with its contexts as a first column and its notes as a last one.
function texts_of(table) {
  const text = (cell) => cell.innerText.trim().replace(/\s+/g, " ");
  const groups = groups_of(table);
  const shown = groups.map(({ context, rows }) => ({ context, rows: rows.filter(([row]) => !row.hidden) }));
  const some_context = shown.some(({ context }) => context);
  const some_note = shown.some(({ rows }) => rows.some(([, ...notes]) => notes.length));
  const wide = (row) => [...row.cells].flatMap((cell) => [text(cell), ...Array(cell.colSpan - 1).fill("")]);
  const lines = shown.flatMap(({ context, rows }) => rows.map(([row, ...notes]) =>
    [...(some_context ? [context] : []), ...wide(row), ...(some_note ? [notes.map((note) => note.innerText.trim()).join("; ")] : [])]));
  const head = table.tHead
    ? [[...(some_context ? ["context"] : []), ...wide(table.tHead.rows[0]), ...(some_note ? ["note"] : [])]]
    : [];
  return [...head, ...lines];
}

function as_markdown(lines) {
  const row = (cells) => `| ${cells.map((cell) => cell.replace(/([\\|`<*_])/g, "\\$1")).join(" | ")} |`;
  const [head, ...rest] = lines.map(row);
  return [head, `|${" --- |".repeat(lines[0].length)}`, ...rest, ""].join("\n");
}

function as_csv(lines) {
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return lines.map((cells) => `${cells.map(cell).join(",")}\n`).join("");
}

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // without the permission or the interface
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

function make_button(text, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", () => act(button));
  return button;
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
  bar.append(
    make_button("Copy as Markdown", (button) => copy(as_markdown(texts_of(table)), button)),
    make_button("Copy as CSV", (button) => copy(as_csv(texts_of(table)), button)),
  );
  const cue = document.createElement("span");
  cue.className = "cue";
  cue.textContent = "\u2194 scroll sideways";
  bar.append(cue);
  new ResizeObserver(() => { cue.hidden = region.scrollWidth <= region.clientWidth + 1; }).observe(region);
  region.before(bar);
  if (rows < 2) return;
  for (const heading of table.tHead.rows[0].cells) {
    const button = make_button("", () => sort_by(table, heading));
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
  }
}

document.querySelectorAll(".wide").forEach(tool);
