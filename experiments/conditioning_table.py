#!/usr/bin/env python3
"""Prints the table of the experiment `conditioning` from a store: what each factor was worth, with intervals.

    experiments/conditioning_table.py STORE [CAMPAIGN]

CAMPAIGN is a number, by default the last campaign of the experiment. As Markdown, first come the medians of
every condition with 95% intervals; then, for each factor, the ratios between its levels, where the experiment
itself compares scheduling only. A pair is two trials of the same block. The interquartile ranges of a factor
are a family, and so are its other metrics.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from assay.analysis import Comparison, median, median_interval, summarise
from assay.errors import AssayError
from assay.experiment import Experiment, overridden
from assay.store import Store
from assay.store.types import StoredTrial
from assay.words import ratio

METRICS = (
    "iteration_iqr_ns",
    "iteration_p50_ns",
    "iteration_p99_ns",
    "iteration_p99_9_ns",
    "iteration_max_ns",
)
FACTORS = {
    "scheduling": ("conditioning", "default", ("default", "fifo")),
    "real-time share": ("conditioning", "fifo", ("fifo", "fifo_unlimited")),
    "load": ("load", "unloaded", ("unloaded", "loaded")),
    "seeding": ("seeding", "fresh", ("fresh", "fixed")),
    "governor": ("governor", "as_found", ("as_found", "performance")),
}
"""What is compared -> the factor of the experiment, the baseline, and the levels."""


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return nanoseconds as a person reads them."""
    return f"{value:,.0f}"


def medians(experiment: Experiment, trials: Sequence[StoredTrial]) -> Iterator[str]:
    """Give the rows of all conditions: the median over trials, and its interval."""
    factors = [name for name, levels in experiment.factors.items() if len(levels) > 1]
    yield row(
        [*factors, *(f"{metric.removeprefix('iteration_').removesuffix('_ns')}, ns" for metric in METRICS)]
    )
    yield row(["---"] * (len(factors) + len(METRICS)))
    for levels in experiment.conditions():
        cells = [str(levels[name]) for name in factors]
        of = [trial for trial in trials if trial.levels == levels and trial.status == "valid"]
        for metric in METRICS:
            values = [trial.metrics[metric] for trial in of if metric in trial.metrics]
            interval = median_interval(values) if values else None
            shown = number(median(values)) if values else "none"
            cells.append(
                f"{shown} ({number(interval.low)} to {number(interval.high)})" if interval else shown
            )
        yield row(cells)


def compared(experiment: Experiment, trials: Sequence[StoredTrial], what: str) -> list[Comparison]:
    """Return the ratios between the levels of a factor, in each context, for each metric."""
    factor, baseline, levels = FACTORS[what]
    comparison = experiment.comparison.model_copy(
        update={"factor": factor, "baseline": baseline, "stand_ins": ()}
    )
    only = [f"{factor}={','.join(levels)}"]
    asked = overridden(experiment.model_copy(update={"comparison": comparison}), only=only)
    # The trials of a pair are in one block; only those of the experiment's own comparison are in one group.
    paired = [
        replace(trial, group=trial.block, repeats=None) for trial in trials if trial.levels[factor] in levels
    ]
    analysis = summarise(paired, asked)
    return [*analysis.comparisons, *analysis.also]


def main() -> None:
    """Print the tables."""
    if len(sys.argv) not in {2, 3}:
        sys.exit("usage: conditioning_table.py STORE [CAMPAIGN]")
    with Store.open(Path(sys.argv[1]), create=False) as store:
        ours = [campaign.id for campaign in store.campaigns() if campaign.experiment == "conditioning"]
        if not ours:
            sys.exit(f"{sys.argv[1]} has no campaign of the experiment conditioning: run it first")
        number_of = int(sys.argv[2]) if len(sys.argv) > 2 else max(ours)
        experiment, trials = store.experiment(number_of), store.trials(number_of)
    for line in medians(experiment, trials):
        print(line)
    print()
    print(row(["compared", "in", "metric", "ratio", "95% interval", "pairs", "verdict"]))
    print(row(["---"] * 7))
    for what, (factor, *_) in FACTORS.items():
        if len(experiment.factors.get(factor, ())) < 2:
            continue
        for found in compared(experiment, trials, what):
            interval = found.interval
            print(
                row(
                    [
                        f"{what}: {found.level} over {found.baseline}",
                        ", ".join(map(str, found.context.values())),
                        found.metric.removeprefix("iteration_"),
                        ratio(found.ratio),
                        f"{ratio(interval.low)} to {ratio(interval.high)}" if interval else "none",
                        str(found.pairs),
                        found.verdict,
                    ]
                )
            )


if __name__ == "__main__":
    try:
        main()
    except AssayError as error:
        sys.exit(f"error: {error}")
