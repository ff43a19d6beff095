"""What a page says of how far verdicts hold (Blackwell 1998, 3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from assay.analysis import Comparison
from assay.analysis.meaningfulness import (
    Agreement,
    Meaning,
    PredictiveValue,
    Repeatability,
    Reproducibility,
    Robustness,
)
from assay.report.gather import Report
from assay.words import counted, number, ratio


@dataclass(frozen=True)
class MeaningSection:
    """What a page says of how far verdicts hold.

    Attributes:
        rows: each comparison, and whether it is repeatable, robust, reproducible and predictive: what was
            measured, by ever larger changes that it survives; empty where nothing was.
        moved: what was moved at random in some trial, by the names of `[perturb]`.
        asked_otherwise: if no other campaign has the same question, how the latest one's differs.
    """

    rows: tuple[tuple[Comparison, tuple[str, str, str, str]], ...]
    moved: tuple[str, ...]
    asked_otherwise: str


def section(report: Report, every: Sequence[Meaning]) -> MeaningSection:
    """Return what there is to say of the verdicts of a campaign; `verdicts.how_far` has `every`."""
    rows = []
    for of in every:
        cells = (_repeatable(of.repeatability), _robust(of.robustness))
        rows.append(
            (of.comparison, (*cells, _reproducible(of.reproducibility), _predictive(of.predictive_value)))
        )
    drawn = chain.from_iterable(trial.perturbation.items() for trial in report.trials)
    moved = dict.fromkeys(
        name.removesuffix("_bytes").replace("_", " ") for name, value in drawn if value != 0
    )
    return MeaningSection(tuple(rows), tuple(moved), next((of.asked_otherwise for of in every), ""))


def _repeatable(repeatability: Repeatability | None) -> str:
    if repeatability is None:
        return ""
    configurations = counted(repeatability.configurations, "configuration")
    return (
        f"spread {_percent(repeatability.spread_percent)}; {repeatability.trials} trials of {configurations}"
    )


def _robust(robustness: Robustness | None) -> str:
    if robustness is None:
        return ""
    pairs = counted(robustness.pairs, "pair")
    agree = (
        pairs if robustness.agreeing is None else f"{robustness.agreeing} of {robustness.pairs} pairs agree"
    )
    return f"{agree}; spread {_percent(robustness.spread_percent)}"


def _reproducible(reproducibility: Reproducibility | None) -> str:
    if reproducibility is None:
        return ""
    others = reproducibility.hosts
    hosts = f"on {counted(others, 'other host')}" if others else "all on this host"
    return f"{_agree(reproducibility.verdicts, 'campaign')}; {hosts}"


def _predictive(predicted: PredictiveValue | None) -> str:
    if predicted is None:
        return ""
    return f"{_agree(predicted.verdicts, 'context')}; they predict {ratio(predicted.predicted)}"


def _agree(agreement: Agreement, what: str) -> str:
    others = counted(agreement.of, f"other {what}")
    if agreement.agreeing is None:
        return f"{others}, no verdict here"
    contradict = {0: "none contradicts", 1: "1 contradicts"}.get(agreement.contradicting)
    agree = f"{agreement.agreeing} of {others} {'agrees' if agreement.agreeing == 1 else 'agree'}"
    return f"{agree}, {contradict or f'{agreement.contradicting} contradict'}"


def _percent(value: float) -> str:
    return f"{number(value, 2)}%"
