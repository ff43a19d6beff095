"""Draws the pictures of docs/guide/distributions.md.

Every picture shows keys that the trial's own generators drew, counted here:

    cmake --build build/release --target drawn_operations && .venv/bin/python benchmarks/distributions.py
"""

import json
import tempfile
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import vl_convert

from assay.report.charts.style import COLORS, PAPER
from harness import output

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/guide/distributions"

KEYS = 10_000
CELLS = 100
DRAWS = 500_000
SEARCHES = {"insert": 0, "erase": 0, "find": 100}
# Requests of a day by the hour, say: what a file for the empirical distribution may hold.
WEIGHTS = [3, 2, 1, 1, 1, 2, 5, 9, 14, 16, 15, 14, 13, 14, 15, 15, 14, 13, 11, 10, 9, 8, 6, 4]


def main() -> None:
    """Draw every picture."""
    PICTURES.mkdir(exist_ok=True)
    for name, chart in pictures().items():
        file = PICTURES / f"{name}.svg"
        # Labels for each mark would make the files several times as long.
        specification = chart.configure(**PAPER, aria=False).to_dict()
        file.write_text(vl_convert.vegalite_to_svg(specification) + "\n")
        print(file.relative_to(ROOT))


def pictures() -> dict[str, Any]:
    """Each picture by its name."""
    normal = {"kind": "normal", "mean_percent": 50, "deviation_percent": 10}
    return {
        "uniform": shares({"uniform": {"kind": "uniform"}}),
        "zipf": zipf_by_rank([0.5, 0.99, 1.2, 2], 1_000_000),
        "zipf-order": shares(
            {
                "ordered": {"kind": "zipf", "exponent": 0.99, "order": "ordered"},
                "scrambled": {"kind": "zipf", "exponent": 0.99, "order": "scrambled"},
            },
            cells=CELLS * 5,
        ),
        "hot-set": shares(
            {
                "ordered": {
                    "kind": "hot_set",
                    "operations_percent": 90,
                    "keys_percent": 10,
                    "order": "ordered",
                },
                "scrambled": {"kind": "hot_set", "operations_percent": 90, "keys_percent": 10},
            },
            cells=CELLS * 5,
        ),
        "binomial": shares(
            {f"p = {p}": {"kind": "binomial", "p": p} for p in (0.1, 0.5)}, keys=200, cells=200
        ),
        "exponential": shares(
            {
                f"mean {mean}%": {"kind": "exponential", "mean_percent": mean, "order": "ordered"}
                for mean in (10, 50)
            }
        ),
        "normal": shares(
            {
                "mean 50%, deviation 10%": normal,
                "mean 0%, deviation 30%": normal | {"mean_percent": 0, "deviation_percent": 30},
            }
        ),
        "sequential": in_order({"kind": "sequential"}, SEARCHES, 100, 2, 120),
        "latest": in_order(
            {"kind": "latest", "exponent": 0.99}, {"insert": 10, "erase": 10, "find": 80}, 400, 1, 1200
        ),
        "empirical": empirical(),
    }


def draw(
    distribution: dict[str, Any], keys: int, count: int, mix: Mapping[str, float], threads: int = 1
) -> pd.DataFrame:
    """Return the operations that threads of a trial draw, each with its thread, kind and key, in order."""
    request = {
        "protocol": 1,
        "subject": "noop",
        "seed": 42,
        "threads": threads,
        "pinning": "none",
        "key_range": keys,
        "keys": "dense",
        "mix": mix,
        "distribution": distribution,
        "duration_ms": 1,
        "interval_ms": 1,
    }
    drawn = output("drawn_operations", str(count), given=json.dumps(request))
    return pd.read_csv(StringIO(drawn), sep=" ", names=["thread", "operation", "key"])


def shares(
    distributions: dict[str, dict[str, Any]], keys: int = KEYS, cells: int = CELLS
) -> alt.VConcatChart:
    """Show what percentage of the operations falls into each of this many equal parts of the key range."""
    charts = []
    for (name, distribution), color in zip(distributions.items(), COLORS, strict=False):
        drawn = draw(distribution, keys, DRAWS, SEARCHES)["key"]
        counts, edges = np.histogram(drawn, bins=cells, range=(0.5, keys + 0.5))
        data = pd.DataFrame({"key": edges, "percent": [*counts / DRAWS * 100, 0]})
        charts.append(
            alt.Chart(data, title=name)
            .mark_area(color=color, interpolate="step-after")
            .encode(
                x=alt.X("key:Q", scale=alt.Scale(domain=[0, keys], nice=False)),
                y=alt.Y(
                    "percent:Q",
                    title=[
                        "% of the operations",
                        f"on {keys // cells} keys" if keys > cells else "on each key",
                    ],
                ),
            )
            .properties(width=420, height=110)
        )
    return alt.vconcat(*charts)


def zipf_by_rank(exponents: list[float], keys: int) -> Any:
    """Show how often the k-th key is drawn, counted over parts of the ranks that widen, beside the law."""
    edges = np.unique(np.geomspace(1, keys + 1, 40).astype(int))
    ranks = np.arange(1, keys + 1, dtype=float)
    points = []
    for exponent in exponents:
        distribution = {"kind": "zipf", "exponent": exponent, "order": "ordered"}
        drawn = draw(distribution, keys, DRAWS, SEARCHES)["key"]
        counts, _ = np.histogram(drawn, bins=edges)
        law = ranks**-exponent / np.sum(ranks**-exponent)
        for first, end, count in zip(edges[:-1], edges[1:], counts, strict=True):
            points.append(
                {
                    "exponent": str(exponent),
                    "rank": np.sqrt(first * (end - 1)),
                    "share": count / (end - first) / DRAWS if count >= 5 else None,  # fewer say little
                    "law": law[first - 1 : end - 1].mean(),
                }
            )
    base = alt.Chart(
        pd.DataFrame(points), title=f"Zipf over {keys:,} keys: points are drawn, lines the law"
    ).encode(
        x=alt.X("rank:Q", title="key", scale=alt.Scale(type="log")),
        color=alt.Color("exponent:N", scale=alt.Scale(range=COLORS)),
    )
    axis = alt.Y(
        "law:Q",
        title="share of the operations, for each key",
        scale=alt.Scale(type="log", domain=[1e-9, 1]),
        axis=alt.Axis(format="e"),
    )
    return alt.layer(
        base.mark_line(strokeWidth=1, clip=True).encode(y=axis),
        base.mark_point(filled=True, size=22).encode(y="share:Q", shape="exponent:N"),
    ).properties(width=420, height=240)


def in_order(
    distribution: dict[str, Any], mix: Mapping[str, float], keys: int, threads: int, count: int
) -> Any:
    """Show which key each operation of each thread takes, one after the other."""
    drawn = draw(distribution, keys, count, mix, threads)
    drawn["number"] = drawn.groupby("thread").cumcount() + 1
    by = "operation" if drawn["operation"].nunique() > 1 else "thread"
    return (
        alt.Chart(drawn, title=f"{distribution['kind']}: keys in the order in which a thread takes them")
        .mark_point(filled=True, size=8)
        .encode(
            x=alt.X(
                "number:Q", title="operation of the thread", scale=alt.Scale(domain=[0, count], nice=False)
            ),
            y=alt.Y("key:Q", title="key"),
            color=alt.Color(f"{by}:N", scale=alt.Scale(range=COLORS)),
        )
        .properties(width=420, height=200)
    )


def empirical() -> alt.VConcatChart:
    """Show a distribution from a file of weights."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hours.txt"
        file.write_text("".join(f"{weight}\n" for weight in WEIGHTS))
        digest = 0xCBF29CE484222325
        for byte in file.read_bytes():
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
        return shares(
            {"24 weights": {"kind": "empirical", "file": str(file), "digest": f"0x{digest:016x}"}},
            keys=12_000,
            cells=120,
        )


if __name__ == "__main__":
    main()
