"use strict";
// The whole record of the trial that the address names, and its throughput over time.
const campaign = about();

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

function is_object(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Names and values, one below the other; what is inside a value is indented below its name.
function outline(object) {
  return create("dl", { class: "outline" }, ...Object.entries(object).map(([name, value]) => {
    const nested = is_object(value) && Object.keys(value).length;
    const listed = Array.isArray(value) && value.some(is_object);
    const content = nested ? outline(value) : listed ? outline({ ...value })
      : value === null ? "none" : typeof value === "object" ? JSON.stringify(value)
      : Number.isSafeInteger(value) ? String(value) : number(value);
    return create("div", {}, create("dt", {}, name.replaceAll("_", " ")), create("dd", {}, content === "" ? "-" : content));
  }));
}

// A table with one column for each thing that `columns` names and any of `things` has: [name, what gives it].
function table_of(caption, columns, things) {
  const shown = columns.filter(([, value]) => things.some((thing) => value(thing) !== undefined));
  return table(caption, shown.map(([name]) => name), things.map((thing, i) => shown.map(([, value]) => value(thing, i) ?? "")));
}

function in_ms(ns) {
  return ns === undefined ? undefined : ns / 1e6;
}

function operations_columns(things) {
  const kinds = [...new Set(things.flatMap((thing) => Object.keys(thing.operations ?? {})))];
  return kinds.map((kind) => [`${kind}: succeeded of attempted`, ({ operations }) => {
    const count = operations?.[kind];
    return count && `${number(count.succeeded)} of ${number(count.attempted)}`;
  }]);
}

function threads_table(threads) {
  return table_of("Threads", [
    ["thread", (_, i) => i ?? 0],
    ["role", ({ role }) => role],
    ["bound to", ({ bound_to }) => bound_to?.join(" ")],
    ["last ran on", ({ last_ran_on }) => last_ran_on ?? undefined],
    ["measured ms", ({ measured_ns }) => in_ms(measured_ns)],
    ["share of operations", ({ share }) => share],
    ["longest operation at most, ms", ({ longest_ns }) => in_ms(longest_ns)],
    ["unfinished", ({ unfinished }) => unfinished && `${unfinished.operation}, ${number(in_ms(unfinished.age_ns))} ms old`],
    ...operations_columns(threads),
    ["seed", ({ seed }) => seed],
  ], threads);
}

function roles_table(roles) {
  return table_of("Roles", [
    ["role", ({ name }) => name],
    ["threads", ({ threads }) => threads],
    ["operations per second", ({ throughput }) => throughput],
    ["longest operation at most, ms", ({ longest_ns }) => in_ms(longest_ns)],
    ["arrived", ({ arrived }) => arrived],
    ["due but not begun at the end", ({ backlog }) => backlog],
    ["the oldest of them, ms", ({ oldest_waiting_ns }) => in_ms(oldest_waiting_ns)],
    ...operations_columns(roles),
  ], roles);
}

// A chart of its own in a figure; what is in the specification is ours, what others wrote is in its data.
function figure(caption, note, specification, name) {
  const holder = create("div", { class: "chart", role: "img", "aria-label": caption });
  const whole = { width: "container", height: 220, autosize: { type: "fit-x", contains: "padding" }, ...specification };
  setTimeout(() => draw(holder, whole, name)); // once it has its place
  return create("figure", { class: "series" }, create("figcaption", {}, caption, create("span", { class: "note" }, note)), holder);
}

const PERCENTILES = { p50: "50%", p90: "90%", p99: "99%", p99_9: "99.9%", p99_99: "99.99%" };

const COUNTED_FROM = {
  start: "Counted from the start of each.",
  arrival: "Counted from the moment at which each was due.",
  mixed: "In an open loop counted from the moment at which each was due, otherwise from its start.",
};

// The share of operations that took longer than each bucket ends, on two logarithmic scales: what is rare is
// as wide as what is common.
function latency_figure({ histograms: every, from }, trial) {
  const histograms = every.filter(({ count }) => count);
  const names = histograms.map(({ role, operation }) => `${role}: ${operation}`);
  const rows = histograms.flatMap(({ buckets, count }, i) => {
    let left = count;
    const points = buckets.map(([lowest, highest, inside]) => ({ low: Math.max(lowest, 1), ns: Math.max(highest, 1), share: (left -= inside) / count, series: names[i] }));
    const kept = points.filter(({ share }, place) => share > 0 && (place % Math.ceil(points.length / 300) === 0 || place > points.length - 50));
    return points.length ? [{ ns: points[0].low, share: 1, series: names[i] }, ...kept] : [];
  });
  const specification = {
    data: { values: rows },
    transform: [{ calculate: TIME.replaceAll("datum.value", "datum.ns"), as: "time" }],
    mark: { type: "line", interpolate: "step-after", point: { size: 14 } },
    encoding: {
      x: { field: "ns", type: "quantitative", scale: { type: "log" }, title: "latency, log scale", axis: { labelExpr: TIME, labelOverlap: "greedy", labelSeparation: 4 } },
      y: { field: "share", type: "quantitative", scale: { type: "log" }, title: "share that took longer, log scale", axis: { format: "~%" } },
      color: { field: "series", type: "nominal", title: "role: operation", scale: { domain: names, range: names.map((_, i) => COLORS[i % COLORS.length]) }, legend: names.length > 1 ? { orient: "bottom", columns: 3 } : null },
      strokeDash: { field: "series", type: "nominal", title: "role: operation", scale: { domain: names } },
      tooltip: [{ field: "series", title: "operation" }, { field: "time", title: "longer than" }, { field: "share", title: "share", format: ".3~%" }],
    },
  };
  return figure("Share of operations that took longer", COUNTED_FROM[from] ?? COUNTED_FROM.start, specification, `trial-${trial}-latency`);
}

// Operations that the end of the trial interrupted have no latency, and would be the longest ones.
function unfinished(threads) {
  const ages = threads.flatMap(({ unfinished: left }) => (left ? [left.age_ns] : []));
  if (!ages.length) return "";
  const many = ages.length === 1 ? "1 operation was" : `${number(ages.length)} operations were`;
  return ` ${many} unfinished at the end and ${ages.length === 1 ? "is" : "are"} not counted here, the oldest ${number(in_ms(Math.max(...ages)))} ms old.`;
}

function latency(told, threads, trial) {
  const { histograms = [], sampling, clock_ns } = told;
  const sampled = sampling === "all" ? "every operation" : `one operation in ${number(sampling)}`;
  const clock = clock_ns === undefined ? "" : ` Reading the clock takes ${number(clock_ns)} ns.`;
  const content = [create("p", {}, `Of ${sampled}.${clock}${unfinished(threads)}`)];
  if (!histograms.length) return [...content, create("p", {}, "None was sampled.")];
  return [...content,
    table_of("Latency, ns", [
      ["role", ({ role }) => role],
      ["operation", ({ operation }) => operation],
      ["counted from", ({ from }) => from],
      ["sampled", ({ count }) => count],
      ...Object.entries(PERCENTILES).map(([name, shown]) => [shown, ({ count, percentiles }) => (count ? percentiles?.[name] ?? "too few" : undefined)]),
      ["longest timed", ({ max_ns }) => max_ns],
    ], histograms),
    ...(histograms.some(({ count }) => count) ? [latency_figure(told, trial)] : [])];
}

// A histogram that recorded only zeros has a bucket for them.
function recorded({ sum, max, threads = [], buckets = [], values = [] }) {
  return Boolean(sum || max || threads.some(Boolean) || buckets.some(([, , count]) => count) || values.some((list) => list.length));
}

function probes(told, trial) {
  const every = Object.entries(told).map(([name, probe]) => ({ name, ...probe }));
  const named = every.filter(recorded);
  const silent = every.filter((probe) => !recorded(probe)).map(({ name }) => name);
  const drawn = named.filter(({ buckets }) => buckets?.length);
  return [
    ...(silent.length ? [create("p", {}, `Nothing recorded: ${silent.join(", ")}.`)] : []),
    ...(!named.length ? [] : [table_of("Probes", [
      ["probe", ({ name }) => name],
      ["kind", ({ kind }) => kind],
      ["what it counts", ({ description }) => description],
      ["unit", ({ unit }) => unit],
      ...["sum", "mean", "min", "max"].map((of) => [of, (probe) => probe[of]]),
      ["by thread", ({ threads }) => threads?.map(number).join("; ")],
      ["recorded", ({ values }) => values && create("details", {}, create("summary", {}, "values"),
        ...values.map((each, i) => create("p", {}, `Thread ${i}: ${each.map(number).join(", ")}`)))],
    ], named)]),
    ...drawn.map(({ name, description, unit, buckets }, i) => figure(`${name}: ${description}`, `Records in each bucket${unit ? `; ${unit}` : ""}.`, {
      data: { values: buckets.map(([low, high, count]) => ({ bucket: low === high ? `${low}` : `${number(low)} to ${number(high)}`, count })) },
      mark: { type: "bar" },
      encoding: {
        x: { field: "bucket", type: "ordinal", sort: null, title: "value", axis: { labelOverlap: true } },
        y: { field: "count", type: "quantitative", title: "records" },
        tooltip: [{ field: "bucket" }, { field: "count" }],
      },
    }, `trial-${trial}-probe-${i + 1}`)),
  ];
}

function memory({ resident = [], policy }, trial) {
  const rows = resident.map(([ms, bytes]) => ({ ms, mib: bytes / 2 ** 20 }));
  const content = policy === undefined ? [] : [create("p", {}, `Memory policy: ${policy}.`)];
  if (rows.length < 2) return content;
  return [...content, figure("Resident memory over the measured interval", "Of the whole process.", {
    data: { values: rows },
    mark: { type: "line", point: { size: 16 } },
    encoding: {
      x: { field: "ms", type: "quantitative", scale: { domainMin: 0 }, title: "milliseconds since the measured interval began" },
      y: { field: "mib", type: "quantitative", title: "MiB" },
      tooltip: [{ field: "ms" }, { field: "mib", format: ".5~g" }],
    },
  }, `trial-${trial}-memory`)];
}

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

const SUM = "all threads";
// The colours that the charts of a campaign use; threads beyond them are grey.
const COLORS = ["#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377",
  "#EE7733", "#44AA99", "#8866DD", "#997755", "#EE99CC", "#999999"];
// A number of nanoseconds in the unit that fits, as an expression.
const TIME = [["1e9", "s"], ["1e6", "ms"], ["1e3", "µs"]].map(([scale, unit]) =>
  `datum.value >= ${scale} ? format(datum.value / ${scale}, '.4~r') + ' ${unit}' : `).join("") + "format(datum.value, '.4~r') + ' ns'";

function series_figure(record) {
  const rows = series_rows(record);
  if (rows.length < 2) return create("p", {}, "This trial has no throughput series.");
  const names = [...new Set(rows.map((row) => row.series))];
  const threads = names.filter((name) => name !== SUM);
  const several = threads.length > 1;
  const shown = several ? rows : rows.filter((row) => row.series !== SUM);
  const ink = color("--ink");
  const domain = several ? [SUM, ...threads] : threads;
  const range = domain.map((name, i) => (several && i === 0 ? ink : COLORS[i - Number(several)] ?? "#999999"));
  const after = record.derived?.steady_after_ms;
  const steady = record.derived?.steady;
  const y = { field: "rate", type: "quantitative", title: "operations per second", axis: { format: "~s" } };
  const layers = [{
    mark: { type: "line", interpolate: "step-after", point: rows.length <= 400 ? { size: 16 } : false },
    encoding: {
      x: { field: "ms", type: "quantitative", title: "milliseconds since the common start" },
      y,
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
  const holder = create("div", { class: "chart", role: "img", "aria-label": "Throughput over the time of the trial" });
  const specification = {
    width: "container", height: 260,
    autosize: { type: "fit-x", contains: "padding" }, data: { values: shown }, layer: layers,
  };
  setTimeout(() => draw(holder, specification, `trial-${record.trial}-throughput`)); // once it has its place
  const found = steady === 1
    ? after > 0 ? `Steady after ${number(after)} ms (dashed).` : "Steady from the start."
    : steady === 0 ? "No steady state was found in it." : "";
  return create("figure", { class: "series" }, create("figcaption", {}, "Operations per second in each interval",
    create("span", { class: "note" }, `${number(record.request.interval_ms)} ms an interval; a last one cut short to less than half is left out. ${found}`)), holder);
}

function calibrations(record) {
  const [before, after] = [record.calibration_before, record.calibration_after];
  const names = [...new Set([before, after].flatMap((each) => Object.keys(each?.metrics ?? {})))];
  const rows = names.map((name) => [name, before?.metrics[name] ?? "", after?.metrics[name] ?? ""]);
  const error = record.calibration_error ? [create("p", {}, record.calibration_error)] : [];
  return [...error, table("Calibrations of the host", ["calibration", "before", "after"], rows)];
}

// What roles, latency and probes tell stands in sections of their own; as metrics they are folded away.
function metrics_tables(metrics) {
  const rows = Object.entries(metrics).sort(([a], [b]) => (a < b ? -1 : 1));
  const folded = rows.filter(([name]) => /^(role|latency|probe)_/.test(name));
  const caption = "Metrics of roles, latency and probes";
  const columns = ["metric", "value", "unit"];
  const explained = ([name, value]) => {
    const [unit, anchor] = campaign.metrics[name] ?? ["", ""];
    return [anchor ? create("a", { href: `../guide/metrics.html#${anchor}` }, name) : name, value, unit];
  };
  return [
    table("Metrics", columns, rows.filter((row) => !folded.includes(row)).map(explained)),
    ...(folded.length ? [create("details", {}, create("summary", {}, caption), table(caption, columns, folded.map(explained)))] : []),
  ];
}

// What moved a setting is in percent; bytes say their unit, and the seeds of orders are numbers as they are.
function drawn({ seed, perturbation }) {
  const isSeed = (name) => ["thread_order", "placement"].includes(name);
  const told = Object.entries(perturbation).map(([name, value]) => {
    const isPercent = typeof value === "number" && !name.endsWith("_bytes") && !isSeed(name);
    return [name.replaceAll("_", " "), isPercent ? `moved by ${number(value)}%` : value];
  });
  return outline({ seed, ...Object.fromEntries(told) });
}

async function show(match) {
  if (!match) throw new Error("No trial is named: an address such as trial.html#17 names one.");
  const id = Number(match[1]);
  const { record, raw, condition, neighbours } = await read(id);
  const name = campaign.conditions[condition - 1].name;
  const trials = document.getElementById("condition");
  trials.textContent = name;
  trials.href = `trials.html#condition-${condition}`;
  document.getElementById("here").textContent = `Trial ${id}`;
  document.getElementById("title").textContent = `Trial ${id}: ${record.status.replace("_", " ")}`;
  document.getElementById("facts").textContent = `${name}; block ${record.block} and group ${record.group}, both counted from 0`;
  document.title = `Trial ${id}, campaign ${campaign.campaign}`;
  const { threads = [], roles = [], metrics = {}, latency: latencies, probes: probed = {}, memory: resident, validation, prefill, counters, simulated, energy,
    environment, details, ...others } = record.result ?? {};
  const { result, request, perturbation, levels, derived, reason, stdout, stderr,
    calibration_before, calibration_after, calibration_error, ...run } = record;
  const steps = neighbours.map((to, i) => to === undefined ? ""
    : create("a", { href: `#${to}`, rel: i ? "next" : "prev" }, i ? `Trial ${to} \u2192` : `\u2190 Trial ${to}`));
  const printed = [["Standard error", stderr], ["Standard output", stdout]].filter(([, text]) => text);
  const told = [["Validation", validation], ["Prefill", prefill], ["Counters", counters], ["Simulated, not counted", simulated], ["Energy, joules", energy], ["Details", details]];
  return [
    create("p", { class: "steps" }, ...steps),
    ...(reason ? [create("p", { class: "reason" }, reason)] : []),
    ...printed.map(([heading, text]) => section(heading, create("pre", {}, text))),
    section("Throughput over time", series_figure(record)),
    create("div", { class: "columns" },
      section(record.status === "valid" ? "Metrics" : "Metrics, which do not count",
        ...metrics_tables({ ...derived, ...metrics })),
      create("div", {},
        section("Condition", outline(levels)),
        section("Calibrations", ...calibrations(record)),
        section("Drawn at random", drawn(record)))),
    ...(roles.length > 1 || roles[0]?.arrived !== undefined ? [section("Roles", roles_table(roles))] : []),
    ...(threads.length ? [section("Threads", threads_table(threads))] : []),
    ...(latencies ? [section("Latency, ns", ...latency(latencies, threads, id))] : []),
    ...(Object.keys(probed).length ? [section("Probes", ...probes(probed, id))] : []),
    ...(resident ? [section("Memory", ...memory(resident, id))] : []),
    create("div", { class: "columns" },
      ...told.filter(([, value]) => value && Object.keys(value).length).map(([heading, value]) => section(heading, outline(value))),
      section("How it was run", outline(run)),
      section("What it was asked", outline(request)),
      ...(Object.keys(others).length ? [section("What it answered", outline(others))] : []),
      ...(environment ? [section("Environment", outline(environment))] : [])),
    section("Whole record", create("p", {}, "As ", create("code", {}, `assay store show ${id} --json`), " gives it."),
      create("details", { id: "raw" }, create("summary", {}, "JSON"), create("pre", {}, raw))),
  ];
}

follow(/^#([0-9]+)$/, show);
