"use strict";
// The whole record of the trial that the address names, and its throughput over time.
const campaign = JSON.parse(document.getElementById("about").textContent);
const FOLDED_FROM = 400; // characters of a list

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
  const size = Math.abs(value);
  if (size > Number.MAX_SAFE_INTEGER || (size > 0 && size < 1e-6)) return Number(value.toPrecision(6)).toExponential().replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 });
}

// A table in a region that can be scrolled by keyboard.
function table(caption, columns, rows) {
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const cell = (tag, value, i) => create(tag, { ...(numeric[i] && { class: "number" }), ...(tag === "th" && { scope: "col" }) }, shown(value, columns[i]));
  const element = create("table", {},
    create("caption", {}, caption),
    create("thead", {}, create("tr", {}, ...columns.map((name, i) => cell("th", name, i)))),
    create("tbody", {}, ...rows.map((row) => create("tr", {}, ...row.map((value, i) => cell("td", value, i))))));
  const region = create("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption }, element);
  const holder = create("div", {}, region);
  tool(region);
  return holder;
}

function is_object(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readable(name) {
  return name.replaceAll("_", " ");
}

// A chart that is drawn once it has its place.
function chart(label, specification, file_name) {
  const holder = create("div", { class: "chart", role: "img", "aria-label": label });
  setTimeout(() => draw(holder, { width: "container", autosize: { type: "fit-x", contains: "padding" }, ...specification }, file_name));
  return holder;
}

// Two parts of a record are long lists of numbers, and are drawn: the buckets of a histogram, and the memory that
// a trial held over time.
const POWERS = [0, ...Array.from({ length: 19 }, (_, power) => 10 ** power)];
const DRAWN = {
  buckets: (rows) => ({
    data: { values: rows.map(([low, high, count]) => ({ from: low, to: high, below: high + 1, count })) },
    mark: "rect",
    encoding: {
      x: { field: "from", type: "quantitative", title: "value, log scale", scale: { type: "symlog", zero: false, nice: false }, axis: { labelExpr: "format(datum.value, '~s')", values: POWERS } },
      x2: { field: "below" },
      y: { field: "count", type: "quantitative" },
      y2: { datum: 0 },
      tooltip: ["from", "to", "count"].map((field) => ({ field })),
    },
  }),
  resident: (rows) => ({
    data: { values: rows.map(([ms, bytes]) => ({ ms, MiB: bytes / 2 ** 20 })) },
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "ms", type: "quantitative", title: "milliseconds since the measured interval began" },
      y: { field: "MiB", type: "quantitative" },
      tooltip: [{ field: "ms" }, { field: "MiB", format: ".5~g" }],
    },
  }),
};

// Any value of a record: an object as names with their values below each other, a list of objects as a table.
function shown(value, caption = "") {
  if (value instanceof Node) return value;
  if (value === undefined || value === "") return "-";
  if (value === null) return "none";
  if (typeof value === "number") return number(value);
  if (typeof value !== "object") return String(value);
  if (DRAWN[caption] && value.length > 1) return chart(caption, { height: 100, ...DRAWN[caption](value) }, caption);
  if (Array.isArray(value) && value.length && value.every(is_object)) {
    const names = [...new Set(value.flatMap(Object.keys))];
    return table(caption, names.map(readable), value.map((item) => names.map((name) => item[name] ?? "")));
  }
  if (is_object(value) && Object.keys(value).length) {
    return create("dl", { class: "outline" }, ...Object.entries(value).map(([name, inner]) =>
      create("div", {}, create("dt", {}, readable(name)), create("dd", {}, shown(inner, readable(name))))));
  }
  const text = JSON.stringify(value);
  return text.length < FOLDED_FROM ? text : create("details", {}, create("summary", {}, `${value.length} values`), text);
}

// Numbers that JavaScript would round stay as they were written, where the browser can.
function exactly(key, value, context) {
  const rounded = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return rounded && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

async function read(id) {
  const chunk = campaign.chunks.findLastIndex((first) => first <= id) + 1;
  const [records, series] = chunk ? await Promise.all([load(`records-${chunk}`), load(`series-${chunk}`)]) : ["{}", ""];
  const start = records.indexOf("\n");
  const { trials = [], environments } = JSON.parse(start < 0 ? records : records.slice(0, start));
  const place = trials.findIndex(([trial]) => trial === id);
  if (place < 0) throw new Error(`Campaign ${campaign.campaign} has no trial ${id} that has ended.`);
  const [, condition, environment] = trials[place];
  const line = records.split("\n")[place + 1];
  const threads = JSON.parse(series.split("\n")[place]);
  const whole = (reviver) => {
    const record = JSON.parse(line, reviver);
    if (environment !== null) record.result.environment = environments[environment];
    threads.forEach((counts, i) => { record.result.threads[i].series = counts; });
    return record;
  };
  const neighbours = [trials[place - 1], trials[place + 1]].map((trial) => trial?.[0]);
  return { record: whole(), raw: JSON.stringify(whole(exactly), null, 2), condition, neighbours };
}

function section(heading, ...content) {
  return create("section", {}, create("h2", {}, heading), ...content);
}

const SUM = "all threads";
// The colours that the charts of a campaign use; threads beyond them are grey.
const COLORS = ["#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377",
  "#EE7733", "#44AA99", "#8866DD", "#997755", "#EE99CC", "#999999"];

// Operations per second in each interval. The last interval is as long as the thread measured in it; it is
// left out where that is less than half of an interval, too short to say a rate.
function series_rows(record) {
  const interval = record.request.interval_ms;
  const threads = record.result?.threads ?? [];
  const rows = [];
  const sums = new Map();
  threads.forEach(({ series, measured_ns }, thread) => series.forEach((count, i) => {
    const length = Math.min(interval, measured_ns / 1e6 - i * interval);
    if (length < interval / 2) return;
    const rate = count / length * 1000;
    rows.push({ ms: i * interval, rate, series: `thread ${thread}` });
    const sum = sums.get(i) ?? { rate: 0, threads: 0 };
    sums.set(i, { rate: sum.rate + rate, threads: sum.threads + 1 });
  }));
  for (const [i, { rate, threads: held }] of sums) {
    if (held === threads.length) rows.push({ ms: i * interval, rate, series: SUM });
  }
  return rows;
}

function series_figure(record) {
  const rows = series_rows(record);
  if (rows.length < 2) return create("p", {}, "This trial has no throughput series.");
  const threads = [...new Set(rows.map((row) => row.series))].filter((name) => name !== SUM);
  const several = threads.length > 1;
  const ink = color("--ink");
  const domain = several ? [SUM, ...threads] : threads;
  const range = domain.map((name, i) => (several && i === 0 ? ink : COLORS[i - Number(several)] ?? "#999999"));
  const after = record.derived?.steady_after_ms;
  const steady = record.derived?.steady;
  const layers = [{
    mark: { type: "line", interpolate: "step-after", point: rows.length <= 400 ? { size: 16 } : false },
    encoding: {
      x: { field: "ms", type: "quantitative", title: "milliseconds since the common start" },
      y: { field: "rate", type: "quantitative", title: "operations per second", axis: { format: "~s" } },
      color: {
        field: "series", type: "nominal", title: null, scale: { domain, range },
        legend: domain.length > 1 && domain.length <= 8 ? { orient: "bottom", columns: 4 } : null,
      },
      strokeWidth: { condition: { test: `datum.series === '${SUM}'`, value: 2.5 }, value: 1.2 },
      tooltip: [{ field: "series" }, { field: "ms" }, { field: "rate", format: ".4s" }],
    },
  }];
  if (after > 0) {
    layers.push({
      data: { values: [{ ms: after }] },
      mark: { type: "rule", strokeDash: [5, 3], strokeWidth: 1.5, color: ink },
      encoding: { x: { field: "ms", type: "quantitative" } },
    });
  }
  const specification = { height: 260, data: { values: several ? rows : rows.filter((row) => row.series !== SUM) }, layer: layers };
  const holder = chart("Throughput over the time of the trial", specification, `trial-${record.trial}-throughput`);
  const found = steady === 1
    ? after > 0 ? `Steady after ${number(after)} ms (dashed).` : "Steady from the start."
    : steady === 0 ? "No steady state was found in it." : "";
  return create("figure", { class: "series" }, create("figcaption", {}, "Operations per second in each interval",
    create("span", { class: "note" }, `${number(record.request.interval_ms)} ms an interval; a last one cut short to less than half is left out. ${found}`)), holder);
}

function metrics_table(metrics) {
  const rows = Object.entries(metrics).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => {
    const [unit, anchor] = campaign.metrics[name] ?? ["", ""];
    return [anchor ? create("a", { href: `../guide/metrics.html#${anchor}` }, name) : name, value, unit];
  });
  return table("Metrics", ["metric", "value", "unit"], rows);
}

function content({ record, raw, condition, neighbours }) {
  const id = record.trial;
  const name = campaign.conditions[condition - 1];
  document.getElementById("here").textContent = `Trial ${id}`;
  document.getElementById("title").textContent = `Trial ${id}: ${readable(record.status)}`;
  document.getElementById("facts").replaceChildren(
    create("a", { href: `index.html#condition-${condition}` }, name), `; block ${record.block} and group ${record.group}, both counted from 0`);
  document.title = `Trial ${id}, campaign ${campaign.campaign}`;
  const { threads = [], metrics = {}, ...result } = record.result ?? {};
  const { result: _, request, perturbation, levels, derived, reason, stdout, stderr,
    calibration_before, calibration_after, ...run } = record;
  const steps = neighbours.map((to, i) => to === undefined ? ""
    : create("a", { href: `#${to}`, rel: i ? "next" : "prev" }, i ? `Trial ${to} \u2192` : `\u2190 Trial ${to}`));
  const sections = Object.entries({
    "Standard error": stderr && create("pre", {}, stderr),
    "Standard output": stdout && create("pre", {}, stdout),
    "Throughput over time": series_figure(record),
    [record.status === "valid" ? "Metrics" : "Metrics, which do not count"]: metrics_table({ ...derived, ...metrics }),
    Condition: levels,
    "Drawn at random": perturbation,
    "Calibrations": { before: calibration_before?.metrics ?? {}, after: calibration_after?.metrics ?? {} },
    Threads: threads.map(({ series, ...thread }) => thread),
    ...Object.fromEntries(Object.entries(result).map(([key, value]) => [readable(key[0].toUpperCase() + key.slice(1)), value])),
    "How it was run": run,
    Request: request,
  }).filter(([, value]) => value && (value instanceof Node || typeof value !== "object" || Object.keys(value).length));
  return [
    create("p", { class: "steps" }, ...steps),
    ...(reason ? [create("p", { class: "reason" }, reason)] : []),
    ...sections.map(([heading, value]) => section(heading, shown(value, heading))),
    section("Whole record", create("p", {}, "As ", create("code", {}, `assay store show ${id} --json`), " gives it."),
      create("details", { id: "raw" }, create("summary", {}, "JSON"), create("pre", {}, raw))),
  ];
}

// Shows the trial that the part of the address behind # names, now and whenever it changes. What was asked for
// meanwhile wins.
let latest = 0;
async function update() {
  const mine = ++latest;
  const match = location.hash.match(/^#([0-9]+)$/);
  let parts;
  try {
    if (!match) throw new Error("No trial is named: an address such as trial.html#17 names one.");
    parts = content(await read(Number(match[1])));
  } catch (error) {
    parts = [create("p", { role: "alert" }, error.message)];
  }
  if (mine !== latest) return;
  document.getElementById("content").replaceChildren(...parts);
  document.body.dataset.shown = location.hash;
}
addEventListener("hashchange", update);
update();
