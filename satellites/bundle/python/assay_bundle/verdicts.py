"""Whether the verdicts of a campaign hold in its replay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from assay.report import Report
from assay.report.answers import AnswerRow
from assay.report.hosts import HostRow, rows_of_hosts
from assay.words import listed_briefly

Holds = Literal["confirmed", "contradicted", "undecided"]


@dataclass(frozen=True)
class OfHost:
    """What one host of a campaign said by itself, and whether that holds; see `Replayed`."""

    host: str
    holds: Holds
    then: str
    size_then: str


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
        hosts: the same for each host, if the campaign ran on several; `then` is what all said together.
    """

    name: str
    holds: Holds
    then: str
    now: str
    size_then: str
    size_now: str
    why: str = ""
    hosts: Sequence[OfHost] = ()


def replayed(then: Report, now: Report) -> list[Replayed]:
    """Return every comparison of a campaign, with what its replay says."""
    again = dict(_rows(now))
    alone = _alone(then)
    return [
        _replayed(_name(key), row, again.get(key), alone.get(id(row.answer), ())) for key, row in _rows(then)
    ]


def claims(report: Report) -> list[str]:
    """Return every comparison of a campaign with its verdict, and with what its hosts say by themselves."""
    alone = _alone(report)
    return [_claim(_name(key), row, alone.get(id(row.answer), ())) for key, row in _rows(report)]


def _claim(name: str, row: AnswerRow, hosts: Sequence[HostRow]) -> str:
    by_word: dict[str, list[str]] = {}
    for of in hosts:
        by_word.setdefault(of.word, []).append(of.host)
    alone = "; ".join(
        f"{word} on {listed_briefly(names) if len(by_word) > 1 else 'each host'}"
        for word, names in by_word.items()
    )
    return f"{name}: {row.word} {_size(row)}".strip() + f" ({alone})" * bool(alone)


def _alone(report: Report) -> dict[int, Sequence[HostRow]]:
    """Return what each host says by itself, by the identity of the answer of all together."""
    rows = zip(report.analysis.answers, rows_of_hosts(report), strict=False)  # of one host, there are no rows
    return {id(answer): of_hosts for answer, (_, [_, *of_hosts]) in rows}


def _replayed(name: str, then: AnswerRow, now: AnswerRow | None, hosts: Sequence[HostRow]) -> Replayed:
    word = "missing" if now is None else now.word
    undecided = next((row for row in (then, now) if row is not None and row.verdict == "undecided"), None)
    return Replayed(
        name=name,
        holds=_holds(then.word, word),
        then=then.word,
        now=word,
        size_then=_size(then),
        size_now="" if now is None else _size(now),
        why="" if undecided is None or undecided.answer is None else undecided.answer.reason,
        hosts=[
            OfHost(row.host, _holds(row.word, word), row.word, _text(row.value, row.interval))
            for row in hosts
        ],
    )


def _holds(then: str, now: str) -> Holds:
    """Return whether a verdict holds, from the words for it, which are another one for each verdict."""
    if {then, now} & {"undecided", "missing"}:
        return "undecided"
    return "confirmed" if then == now else "contradicted"


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
    return _text(row.brief.value, row.brief.interval)


def _text(value: str, interval: str) -> str:
    return " ".join(part for part in (value, interval) if part not in {"", "-"})


class Difference(NamedTuple):
    """A fact that was another one on some hosts of a campaign than it is here."""

    name: str
    then: str
    now: str
    hosts: Sequence[str]


def differences(then: Mapping[str, Mapping[str, Any]], now: Mapping[str, Any]) -> list[Difference]:
    """Return the facts that differ; `then` is: name of a host of the campaign -> what is known of it."""
    after = dict(_leaves(now))
    before = {host: dict(_leaves(facts)) for host, facts in then.items()}
    found: list[Difference] = []
    for name in dict.fromkeys(name for facts in (*before.values(), after) for name in facts):
        here = after.get(name, "unknown")
        values: dict[str, list[str]] = {}
        for host, facts in before.items():
            values.setdefault(facts.get(name, "unknown"), []).append(host)
        found += [Difference(name, value, here, hosts) for value, hosts in values.items() if value != here]
    return found


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list | tuple):
        yield name, ", ".join(str(part) for part in value)
    else:
        yield name, str(value)
