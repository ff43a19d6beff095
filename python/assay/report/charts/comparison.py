"""The comparison itself: medians over threads with what they have to beat, and ratios to the baseline."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from assay.analysis.types import Aggregate, Estimate, LevelEffect
from assay.plan.types import Level
from assay.report import words
from assay.report.charts import alt
from assay.report.charts.axes import Across, Up, drawable
from assay.report.charts.defaults import over_threads
from assay.report.charts.drawings import ENDS, table, tooltip
from assay.report.charts.drawn import Figure, Row, Specification, noted, numbers, titled, together
from assay.report.charts.panels import NAME_CHARACTERS, Condition, Panels
from assay.report.charts.style import GREY, VERDICTS, to_dict
from assay.report.metrics import measured
from assay.words import condition_name, counted, listed, shortened

MANY = 15  # conditions in a panel, beyond which their rows are drawn closer
CAP = 9  # length of the caps of an interval, pixels


def ratios(panels: Panels) -> Iterator[Figure]:
    """Yield the ratios to the baseline for each panel, then those over workloads."""
    yield from _forests(panels, "ratios", panels.report.analysis.comparisons)
    yield from _forests(panels, "aggregates", panels.report.analysis.aggregates)


def medians(panels: Panels) -> Iterator[Figure]:
    """Yield medians over threads for each panel."""
    metric = panels.report.analysis.metric
    title = measured(panels.experiment, metric)
    yield from over_threads(panels, "estimates", metric, title, beside=partial(_beside, panels))


def _beside(panels: Panels, conditions: Sequence[Condition]) -> tuple[list[Row], str]:
    """Return what is drawn with medians over threads, and at how many threads which series beats the best.

    The best is that with one thread: a program that scales has gained nothing before it beats that (McSherry,
    Isard and Murray 2015, "Scalability! But at what COST?").
    """
    if not panels.by_threads:
        return [], ""
    boundaries = list(_boundaries(panels, conditions))
    sign = 1 if panels.report.analysis.better == "higher" else -1
    known = [
        (condition, sign * condition.summary.median)
        for condition in conditions
        if condition.summary.median is not None and condition.typical
    ]
    single = [pair for pair in known if pair[0].levels["threads"] == 1]
    if not single:
        return boundaries, ""
    best, value = max(single, key=itemgetter(1))
    by_level = panels.factor != "threads"
    first: dict[str, int] = {}
    for condition, median in known:
        threads = condition.levels["threads"]
        if isinstance(threads, int) and median > value:
            series = f"{panels.level(condition)} at " if by_level else ""
            first[series] = min(threads, first.get(series, threads))
    beaten = ", ".join(f"{series}{threads} threads" for series, threads in first.items()) or "none"
    name = str(best.levels[panels.factor]) if by_level else "1 thread"
    label = f"best with 1 thread: {name}"
    row = {"part": "best", "value": sign * value, "label": label}
    return [*boundaries, row], f"The best with 1 thread is {name}; first to beat it: {beaten}."


def _boundaries(panels: Panels, conditions: Sequence[Condition]) -> Iterator[Row]:
    """Yield where threads begin to share cores and where each further socket begins, between two numbers."""
    topology = _mapping(_mapping(panels.report.example.get("environment")).get("topology"))
    pinnings = {str(condition.settings.get("pinning")) for condition in conditions}
    marks = _mapping(_mapping(topology.get("marks")).get(pinnings.pop())) if len(pinnings) == 1 else {}
    across = Across("threads", panels.experiment.factors["threads"])
    low, high = across.domain() if across.numeric else (0.0, 0.0)
    sockets = marks.get("socket")
    boundaries = [(marks.get("smt"), "cores shared")]
    for number, threads in enumerate(sockets if isinstance(sockets, list) else [], start=2):
        boundaries.append((threads, f"socket {number}"))
    for threads, label in boundaries:
        if isinstance(threads, int) and low < threads - 0.5 < high:
            yield {"part": "boundary", "at": threads - 0.5, "label": label}


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of others' making if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def hosts(panels: Panels) -> Iterator[Figure]:
    """Yield the ratio of all hosts together and of each host, the largest first, for each answer."""
    analysis = panels.report.analysis
    figures = []
    for index, answer in enumerate(analysis.answers if analysis.hosts else ()):
        assert analysis.hosts is not None
        each = [(host, host.answers[index]) for host in analysis.hosts.each]
        each.sort(key=lambda pair: (-(pair[1].ratio or 0), pair[0].name))
        odd = [host.name for host, _ in each if host.odd]
        rows = [_estimate_row("all together", answer, "")]
        rows += [
            _estimate_row(shortened(host.name, NAME_CHARACTERS), estimate, f"{host.trials} trials")
            for host, estimate in each
        ]
        note = noted(
            "Intervals of hosts hold together among themselves.",
            f"Not like the others: {listed(odd)}." * bool(odd),
        )
        place = words.place(analysis, answer)
        figures.append(Figure("hosts", f"Ratios of {analysis.metric} by host: {place}", rows, note))
    most = max((len(figure.rows) for figure in figures), default=0)
    yield from together(figures, partial(_forest, panels, 17 if most > MANY else 26))


def _ratio_row(panels: Panels, threads: Level | None, answer: LevelEffect) -> Row:
    """Return the row of an answer."""
    level = panels.names[panels.factor][answer.level]
    about = condition_name(answer.context) if answer.context else ""
    return _estimate_row(level if threads is None else f"{threads} · {level}", answer, about)


def _estimate_row(name: str, answer: Estimate, about: str) -> Row:
    """Return a ratio with its interval, each None where a logarithmic axis has no place for it."""
    shown = answer.ratio if answer.ratio and drawable(answer.ratio) else None
    ends = (answer.interval.low, answer.interval.high) if answer.interval and shown else ()
    low, high = ends if ends and ends[0] > 0 and all(map(drawable, ends)) else (None, None)
    return {
        "row": name,
        "ratio": shown,
        "low": low,
        "high": high,
        "series": answer.verdict,
        "pairs": answer.pairs,
        "about": about,
    }


def _forests(panels: Panels, kind: str, answers: Sequence[LevelEffect]) -> list[Figure]:
    """Return the ratios of each context in rows, by threads where those vary, on one scale."""
    order = list(panels.names["threads"]) if panels.by_threads and panels.factor != "threads" else []
    found: dict[tuple[tuple[str, Level], ...], list[tuple[Level | None, LevelEffect]]] = defaultdict(list)
    for answer in answers:
        rest = dict(answer.context)
        threads = rest.pop("threads", None) if order else None
        found[tuple(rest.items())].append((threads, answer))
    figures = []
    for context, members in found.items():
        if order:
            members.sort(key=lambda member: order.index(member[0]) if member[0] in order else 0)
        rows = [_ratio_row(panels, *member) for member in members]
        what = f"Ratios of {panels.report.analysis.metric}" + " over workloads" * (kind == "aggregates")
        left = sum(row["ratio"] is None and row["pairs"] > 0 for row in rows)
        note = noted(
            f"Rows: threads · {panels.factor}." * any(threads is not None for threads, _ in members),
            *(_over(row["row"], answer) for row, (_, answer) in zip(rows, members, strict=True)),
            f"Not drawn, as there is no ratio above 0: {counted(left, 'comparison')}." * bool(left),
        )
        if not numbers(rows, "ratio"):
            rows = []
            note = "There is no ratio above 0 to draw: no pair of valid trials, or values of 0 or below."
        figures.append(Figure(kind, titled(what, dict(context)), rows, note))
    many = max((len(figure.rows) for figure in figures), default=0) > MANY
    return together(figures, partial(_forest, panels, 17 if many else 26))


def _over(name: str, answer: LevelEffect) -> str:
    """Return over which workloads a ratio is, and which of them contradict it; empty in one context."""
    if not isinstance(answer, Aggregate):
        return ""
    against = [f"{condition_name(workload)} ({verdict})" for workload, verdict in answer.against]
    contradicted = f", contradicted by {listed(against)}" if against else ""
    return f"{name}: over {words.workloads(answer)} of {', '.join(answer.across)}{contradicted}."


def _forest(panels: Panels, step: int, rows: Sequence[Row]) -> Specification:
    """Draw ratios with intervals in rows, by verdict, over the band of the smallest effect.

    Columns: row, ratio, low, high, series (the verdict), pairs, about. `step` is the height of a row, pixels.
    """
    analysis = panels.report.analysis
    largest = 1 + analysis.smallest_effect_percent / 100
    inside = [1 / largest, largest]
    up = Up.sharing(
        f"ratio to {analysis.baseline}", [*inside, *numbers(rows, "ratio", "low", "high")], log=True
    )
    verdicts = VERDICTS.only({row["series"] for row in rows})
    base = table(
        y=alt.Y("row:N", title=None, sort=None).axis(labelLimit=200, grid=True, tickSize=0),
        **verdicts.by("color"),
        **tooltip(
            {"row": panels.factor, "about": "where", "series": verdicts.title},
            {"ratio": "ratio", **ENDS, "pairs": "pairs"},
        ),
    )
    x = {"x": up.on("x", "ratio", titleAnchor="end"), **verdicts.by("shape")}
    ends = [alt.X(f"{end}:Q", title=up.title) for end in ENDS]
    low, one = (alt.XDatum(value, title=up.title) for value in (inside[0], 1))
    layers = [
        alt.Chart().mark_rect(color=GREY, opacity=0.25).encode(x=low, x2=alt.datum(largest)),
        alt.Chart().mark_rule(color=GREY, strokeWidth=1).encode(x=one),
        # The mark is smaller than the caps, so that an interval narrower than it is still seen.
        base.mark_point(filled=True, size=26, opacity=1).encode(**x),
        base.mark_rule(strokeWidth=1.5).encode(x=ends[0], x2="high:Q"),
        *(base.mark_tick(orient="vertical", size=CAP, thickness=1.5).encode(x=end) for end in ends),
    ]
    return to_dict(alt.layer(*layers), {"step": step}, verdicts)
