"use strict";
// What the pages about trials share: loading packed files, and building elements from text.

// A packed file calls receive(name, gzip in base64).
const received = new Map();
function receive(name, content) {
  received.set(name, content);
}

const loading = new Map();
function load(name) {
  if (!loading.has(name)) {
    loading.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${name}.js`;
      script.onload = () => resolve(received.get(name));
      script.onerror = () => reject(new Error(`${name}.js is missing: write the report again`));
      document.head.append(script);
    }).then(unpack));
  }
  return loading.get(name);
}

function unpack(content) {
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// An element; strings among its children are text, never markup.
function create(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A whole number that JavaScript holds exactly has all its digits, any other six; what is larger or very small
// has a power of ten.
function number(value) {
  if (typeof value !== "number") return value == null ? "" : String(value);
  const size = Math.abs(value);
  if (size > Number.MAX_SAFE_INTEGER || (size > 0 && size < 1e-6)) return Number(value.toPrecision(6)).toExponential().replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 });
}

// A table in a region that can be scrolled by keyboard. A cell is text, a number or an element.
function table(caption, columns, rows) {
  const cell = (value) => {
    const numeric = typeof value === "number";
    return create("td", numeric ? { class: "number" } : {}, value instanceof Node ? value : number(value));
  };
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const head = columns.map((name, i) => create("th", { scope: "col", ...(numeric[i] ? { class: "number" } : {}) }, name));
  const element = create("table", {},
    create("caption", {}, caption),
    create("thead", {}, create("tr", {}, ...head)),
    create("tbody", {}, ...rows.map((row) => create("tr", {}, ...row.map(cell)))));
  const region = create("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption }, element);
  const holder = create("div", {}, region);
  tool(region);
  return holder;
}

function about() {
  return JSON.parse(document.getElementById("about").textContent);
}

// Shows what the part of the address behind # asks for, now and whenever it changes; show(match) gives the
// content. What was asked for meanwhile wins.
function follow(pattern, show) {
  let latest = 0;
  async function update() {
    const mine = ++latest;
    let content;
    try {
      content = await show(location.hash.match(pattern));
    } catch (error) {
      content = [create("p", { role: "alert" }, error.message)];
    }
    if (mine !== latest) return;
    document.getElementById("content").replaceChildren(...content);
    document.body.dataset.shown = location.hash;
  }
  addEventListener("hashchange", update);
  update();
}
