"""What a page says of how far verdicts hold, and how to measure what has not been (Blackwell 1998, 3.5)."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from assay.analysis import Comparison
from assay.analysis.meaningfulness import (
    Agreement,
    Meaning,
    PredictiveValue,
    Repeatability,
    Reproducibility,
    Robustness,
)
from assay.experiment import Experiment
from assay.report.gather import Report
from assay.words import counted, number, ratio

QUALITIES = ("repeatable", "robust", "reproducible", "predictive")
"""Qualities of a verdict, by ever larger changes that it survives."""


@dataclass(frozen=True)
class MeaningRow:
    """What is known of one verdict.

    Attributes:
        cells: for each of QUALITIES what was measured; empty where nothing was.
    """

    comparison: Comparison
    cells: tuple[str, str, str, str]


@dataclass(frozen=True)
class MeaningSection:
    """What a page says of how far verdicts hold.

    Attributes:
        moved: what was moved at random in some trial, by the names of `[perturb]`.
        commands: quality -> what measures it, of those that have not been measured of every verdict.
        asked_otherwise: if no other campaign has the same question, how the latest one's differs.
    """

    rows: tuple[MeaningRow, ...]
    moved: tuple[str, ...]
    commands: Mapping[str, str]
    asked_otherwise: str


def section(report: Report, store: Path, resolved: Path, every: Sequence[Meaning]) -> MeaningSection:
    """Return what there is to say of the verdicts of a campaign.

    Args:
        store: the file that holds it.
        resolved: the file of the campaign's resolved experiment.
        every: how far each verdict holds, as `verdicts.how_far` has it.
    """
    rows = tuple(MeaningRow(of.comparison, _cells(of)) for of in every)
    drawn = chain.from_iterable(trial.perturbation.items() for trial in report.trials)
    moved = dict.fromkeys(
        name.removesuffix("_bytes").replace("_", " ") for name, value in drawn if value != 0
    )
    commands = {
        name: command
        for place, (name, command) in enumerate(_commands(report, store, resolved).items())
        if not all(row.cells[place] for row in rows)
    }
    otherwise = next((of.asked_otherwise for of in every), "")
    return MeaningSection(rows, tuple(moved), commands, otherwise)


def _cells(meaning: Meaning) -> tuple[str, str, str, str]:
    return (
        _repeatable(meaning.repeatability),
        _robust(meaning.robustness),
        _reproducible(meaning.reproducibility),
        _predictive(meaning.predictive_value),
    )


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


def _commands(report: Report, store: Path, resolved: Path) -> dict[str, str]:
    """Return for each of QUALITIES what measures it."""
    experiment = report.experiment
    file = shlex.quote(str(experiment.path if experiment.path.exists() else resolved))
    where = f" --store {shlex.quote(str(store.absolute()))}"
    valid = (str(trial.id) for trial in report.trials if trial.status == "valid")
    again = f"assay run {file}{' --identical' * experiment.identical}"
    values = (
        f"assay store replay {next(valid, 'TRIAL')}{where}",
        f"assay run {file} --sensitivity{where}",
        f"{again}{where}",
        f"{again}{_another_factor(experiment)}{where}",
    )
    return dict(zip(QUALITIES, values, strict=True))


def _another_factor(experiment: Experiment) -> str:
    """Return the option that makes a factor of a setting; empty where only commands are measured."""
    if all(experiment.is_command(subject) for subject in experiment.subjects()):
        return ""
    threads, key_range = (experiment.fixed.get(name) for name in ("threads", "key_range"))
    if isinstance(threads, int):
        return f" --set threads=1,{max(threads, 2)}"
    if isinstance(key_range, int):
        return f" --set key_range={key_range},{key_range // 10 if key_range >= 20 else 10 * key_range}"
    return ""
