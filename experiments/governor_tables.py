#!/usr/bin/env python3
"""Table 3.2 and figures 3.5, 3.6 and 3.7 of Bonnichsen (2016), of the SIMULATED xeon.

    build/release/bin/assay-governor-simulation evaluate > evaluation.json
    build/release/bin/assay-governor-simulation sensitivity > sensitivity.json
    experiments/governor_tables.py evaluation.json [--sensitivity sensitivity.json] [--figures FOLDER]

Prints Markdown. The paper's numbers in brackets. Medians are over seeds; means over workloads geometric.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import altair as alt

PAPER = {  # D, P, E, ED and ED^2 of table 3.2, percent of 4 GHz
    "Adapt E": (162.5, 36.0, 58.5, 95.2, 154.8),
    "Adapt ED": (114.0, 64.4, 73.4, 83.6, 95.3),
    "Adapt ED2": (107.6, 77.4, 83.3, 89.7, 96.5),
    "static-1400": (230.0, 25.9, 59.7, 137.4, 316.3),
    "static-1600": (203.0, 28.7, 58.4, 118.5, 240.5),
    "static-1800": (183.4, 31.8, 58.4, 107.1, 196.5),
    "static-2000": (170.0, 35.1, 59.7, 101.4, 172.3),
    "static-2200": (155.1, 38.4, 59.6, 92.5, 143.5),
    "static-2400": (147.5, 42.8, 63.1, 93.2, 137.5),
    "static-2600": (136.0, 48.1, 65.4, 88.9, 121.0),
    "static-2800": (129.0, 52.5, 67.7, 87.4, 112.7),
    "static-3000": (121.1, 57.1, 69.2, 83.8, 101.5),
    "static-3200": (115.6, 62.1, 71.8, 83.0, 96.0),
    "static-3400": (110.3, 68.9, 76.1, 83.9, 92.6),
    "static-3600": (105.7, 76.6, 81.0, 85.7, 90.6),
    "static-4000": (100.0, 100.0, 100.0, 100.0, 100.0),
}
BASELINE = "static-4000"
EXPONENTS = (0, 1, 2)
PRODUCTS = ("E", "ED", "ED2")
Run: TypeAlias = Sequence[tuple[float, float]]
"""Joules and seconds, for each seed."""
Runs: TypeAlias = Mapping[tuple[str, str], Run]
"""By workload and setting: a governor, with the exponent where it has one."""


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def setting(result: Mapping[str, Any]) -> str:
    """Name a governor with what it minimises."""
    governor = str(result["governor"])
    weighs = governor.startswith(("oracle", "listing", "adaptive"))
    return f"{governor} {PRODUCTS[int(result['exponent'])]}" if weighs else governor


def product(run: Run, exponent: int, of_joules: int = 1) -> float:
    """Return the median of joules times seconds to the exponent."""
    return median(joules**of_joules * seconds**exponent for joules, seconds in run)


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(runs: Runs, workloads: Sequence[str], settings: Sequence[str]) -> None:
    """Print table 3.2."""
    print(row(["SIMULATED, percent of 4 GHz", "D", "P", "E", "ED", "ED2"]))
    print(row(["---"] * 6))
    paper = dict(PAPER) | {f"listing {name}": PAPER[f"Adapt {name}"] for name in PRODUCTS}
    for name in settings:
        means = []
        for joules, seconds in ((0, 1), (1, -1), (1, 0), (1, 1), (1, 2)):
            values = (
                product(runs[w, name], seconds, joules) / product(runs[w, BASELINE], seconds, joules)
                for w in workloads
            )
            means.append(100 * mean(values))
        theirs = paper.get(name)
        cells = [f"{m:.1f}" + (f" ({theirs[i]:.1f})" if theirs else "") for i, m in enumerate(means)]
        print(row([name, *cells]))


def judged(runs: Runs, workloads: Sequence[str], settings: Sequence[str]) -> None:
    """Print what each governor comes to beside the best static frequency and the oracle."""
    print("\n" + row(["SIMULATED", "for", "of best static", "worst workload", "median over oracle"]))
    print(row(["---"] * 5))
    static = [name for name in settings if name.startswith("static")]
    for exponent, name in zip(EXPONENTS, PRODUCTS, strict=True):
        cost = {key: product(run, exponent) for key, run in runs.items()}
        best = min(static, key=lambda one: mean(cost[w, one] for w in workloads))
        for one in settings:
            if one.startswith("static") or (" " in one and not one.endswith(f" {name}")):
                continue
            ratios = {w: cost[w, one] / cost[w, best] for w in workloads}
            worst = max(ratios, key=lambda w: ratios[w])
            over = median(cost[w, one] / cost[w, f"oracle {name}"] for w in workloads)
            print(
                row(
                    [
                        one.split()[0],
                        f"{name} ({best})",
                        f"{mean(ratios.values()):.3f}",
                        f"{ratios[worst]:.3f} {worst}",
                        f"{over:.3f}",
                    ]
                )
            )


def sensitivity(file: Path) -> None:
    """Print how much the mean cost rises with models that are wrong by a factor."""
    results = json.loads(file.read_text())["results"]
    cost: dict[tuple[str, float, int], list[float]] = {}
    for one in results:
        exponent = int(one["exponent"])
        run = list(zip(one["joules"], one["seconds"], strict=True))
        key = (one["mistaken"], one["factor"], exponent)
        cost.setdefault(key, []).append(product(run, exponent))
    factors = sorted({factor for _, factor, _ in cost})
    print("\n" + row(["SIMULATED, wrong", "for", *(f"x {factor:g}" for factor in factors)]))
    print(row(["---"] * (2 + len(factors))))
    for what in ("power", "memory_boundness", "overlap"):
        for exponent, name in zip(EXPONENTS, PRODUCTS, strict=True):
            right = mean(cost[what, 1.0, exponent])
            rises = [f"{100 * (mean(cost[what, factor, exponent]) / right - 1):+.2f}%" for factor in factors]
            print(row([what.replace("_", "-"), name, *rises]))


def figures(runs: Runs, workloads: Mapping[str, str], settings: Sequence[str], folder: Path) -> None:
    """Draw figures 3.5, 3.6 and 3.7 as SVG."""
    static = [name for name in settings if name.startswith("static")]
    shown = [*(f"listing {p}" for p in PRODUCTS), *(f"adaptive {p}" for p in PRODUCTS), *static]
    costs: list[dict[str, Any]] = [
        {
            "setting": s,
            "workload": w,
            "cost": p,
            "relative": product(runs[w, s], n) / product(runs[w, BASELINE], n),
        }
        for n, p in zip(EXPONENTS, PRODUCTS, strict=True)
        for s in shown
        for w in workloads
    ]
    means = [
        {
            "setting": s,
            "cost": p,
            "relative": mean(c["relative"] for c in costs if (c["setting"], c["cost"]) == (s, p)),
        }
        for s in shown
        for p in PRODUCTS
    ]
    x = alt.X("setting:N", sort=shown, title=None)
    y = alt.Y("relative:Q", title="cost / at 4 GHz, simulated", scale=alt.Scale(type="log"))
    dots = alt.Chart().mark_circle(size=8, opacity=0.5).encode(x=x, y=y)
    for_means = [
        alt.Chart(alt.InlineData(values=[m for m in means if m["cost"] == p]))
        .mark_point(size=60, filled=True, color="black")
        .encode(x=x, y=y)
        for p in PRODUCTS
    ]
    panels = [
        alt.layer(
            dots.properties(data=alt.InlineData(values=[c for c in costs if c["cost"] == p])), points
        ).properties(title=p, width=420, height=180)
        for p, points in zip(PRODUCTS, for_means, strict=True)
    ]
    chart = alt.vconcat(*panels).properties(title="Figure 3.5, simulated")
    chart.save(folder / "figure-3-5.svg")
    best = []
    for n, p in zip(EXPONENTS, PRODUCTS, strict=True):
        for kind in ("sequential", "parallel"):
            of_kind = [w for w, suite in workloads.items() if (suite == "SPEC2006") == (kind == "sequential")]
            counts = Counter(min(static, key=lambda s: product(runs[w, s], n)) for w in of_kind)
            best += [{"setting": s, "cost": p, "kind": kind, "workloads": counts[s]} for s in static]
    chart = (
        alt.Chart(alt.InlineData(values=best))
        .mark_bar()
        .encode(x=alt.X("setting:N", sort=static, title=None), y="workloads:Q", color="kind:N", row="cost:N")
        .properties(width=420, height=120, title="Figure 3.6, simulated: best static frequencies")
    )
    chart.save(folder / "figure-3-6.svg")
    against = "static-3600"
    spread = [
        {
            "setting": s.removeprefix("static-"),
            "kind": "sequential" if workloads[w] == "SPEC2006" else "parallel",
            "time": product(runs[w, s], 1, 0) / product(runs[w, against], 1, 0),
            "power": product(runs[w, s], -1) / product(runs[w, against], -1),
        }
        for s in static
        for w in workloads
    ]
    chart = (
        alt.Chart(alt.InlineData(values=spread))
        .mark_circle(size=12)
        .encode(x="time:Q", y="power:Q", color="kind:N")
        .properties(width=420, height=260, title="Figure 3.7, simulated: relative to 3.6 GHz")
    )
    chart.save(folder / "figure-3-7.svg")


def main() -> None:
    """Read the evaluation and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("--sensitivity", type=Path)
    parser.add_argument("--figures", type=Path, help="a folder")
    asked = parser.parse_args()
    results = json.loads(asked.evaluation.read_text())["results"]
    runs = {
        (one["workload"], setting(one)): list(zip(one["joules"], one["seconds"], strict=True))
        for one in results
    }
    workloads = {one["workload"]: one["suite"] for one in results}
    settings = list(dict.fromkeys(setting(one) for one in results))
    if BASELINE in settings:  # the xeon's
        table(runs, list(workloads), settings)
    judged(runs, list(workloads), settings)
    if asked.sensitivity:
        sensitivity(asked.sensitivity)
    if asked.figures:
        asked.figures.mkdir(exist_ok=True)
        figures(runs, workloads, settings, asked.figures)


if __name__ == "__main__":
    main()
