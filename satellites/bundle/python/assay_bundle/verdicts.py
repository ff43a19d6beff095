"""Whether the verdicts of a campaign hold in its replay."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.report import Report
from assay.report.answers import AnswerRow

Holds = Literal["confirmed", "contradicted", "undecided"]


@dataclass(frozen=True)
class Replayed:
    """A verdict and what its replay says.

    Attributes:
        name: what is compared, where.
        holds: confirmed: both have the same verdict. contradicted: both have one, and they differ. undecided:
            one of them has none.
        then, now: the verdicts in the word for the metric.
        size_then, size_now: the ratio or difference, with its interval; empty where there is none.
        why: the reason if one of them is undecided.
    """

    name: str
    holds: Holds
    then: str
    now: str
    size_then: str
    size_now: str
    why: str = ""


def replayed(then: Report, now: Report) -> list[Replayed]:
    """Return every comparison of a campaign, with what its replay says."""
    again = dict(_rows(now))
    return [_replayed(name, row, again.get(key)) for key, row in _rows(then) for name in [_name(key)]]


def _replayed(name: str, then: AnswerRow, now: AnswerRow | None) -> Replayed:
    decided = [row for row in (then, now) if row is not None and row.verdict != "undecided"]
    holds: Holds = "undecided"
    if len(decided) == 2:
        holds = "confirmed" if then.verdict == decided[1].verdict else "contradicted"
    undecided = next((row for row in (then, now) if row is not None and row.verdict == "undecided"), None)
    return Replayed(
        name=name,
        holds=holds,
        then=then.word,
        now="missing" if now is None else now.word,
        size_then=_size(then),
        size_now="" if now is None else _size(now),
        why="" if undecided is None or undecided.answer is None else undecided.answer.reason,
    )


def _rows(report: Report) -> Iterator[tuple[tuple[str, ...], AnswerRow]]:
    """Yield what identifies an answer, and the answer."""
    for row in report.answers:
        assert row.answer is not None
        over = row.workloads and f"over {row.workloads}"
        yield (row.answer.metric, row.level, str(row.answer.baseline), row.context, over), row


def _name(key: tuple[str, ...]) -> str:
    metric, level, baseline, context, over = key
    where = ", ".join(filter(None, (context, over)))
    return f"{level} against {baseline}{f' ({where})' * bool(where)}, {metric}"


def _size(row: AnswerRow) -> str:
    return " ".join(part for part in (row.brief.value, row.brief.interval) if part not in {"", "-"})


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the facts about a host that differ: a name, then and now."""
    before, after = dict(_leaves(then)), dict(_leaves(now))
    names = dict.fromkeys([*before, *after])
    return [
        (name, before.get(name, "unknown"), after.get(name, "unknown"))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list | tuple):
        yield name, ", ".join(str(part) for part in value)
    else:
        yield name, str(value)
