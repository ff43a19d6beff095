"""Checks by simulation that the verdicts are as right as docs/statistics.md says.

Prints tables in Markdown and ends with 1 where a rate is worse than promised by more than Monte Carlo error.
With --write they also replace the tables in docs/statistics.md. Rows are simulated in as many processes as
there are processors.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import bisection_tables
import host_tables
import sensitivity_tables
from alternatives import NEVER, exact_spending, martingale, student_interval, wilcoxon_interval
from assay.analysis import (
    Analysis,
    Comparison,
    Look,
    Verdict,
    looks,
    sign_flips,
    stop_reason,
    summarise,
)
from assay.analysis.pairs import Sample, sample_of
from assay.analysis.types import Estimate
from assay.analysis.verdicts import Question, decide
from assay.experiment.types import ComparisonDesign, Design, Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial
from promises import LEVEL, Cell, Promise, Rate, Row, Table, broken, markdown, rng_of
from simulation import NOISES, Array, host_campaign, log_ratios

PAGE = Path(__file__).parents[1] / "docs/statistics.md"
BEGIN, END = "<!-- make calibration: begin -->\n", "<!-- make calibration: end -->\n"

CAMPAIGNS = 4000
"""That a row of the first table rests on."""

SIZES = (8, 12, 20, 30, 60)
EFFECTS = (0.01, 0.02, 0.05)
SMALLEST_EFFECT = 0.03
BOUND = math.log1p(SMALLEST_EFFECT)
TINY_EFFECT = 0.005
"""So small that identical code is rarely called equivalent, and a false alarm is seen."""

GATE = 0.02
UNTIL_GATE = Design(blocks=60, until="gate", at_least=8)

EARLY = Design(blocks=60, until="verdict", at_least=8)

FAMILIES = {2: (1, 3), 16: (4, 5), 40: (8, 6)}
"""Comparisons -> in how many contexts they are, with how many levels, one of which is the baseline."""

TOGETHER = (0.0, 0.03, 0.05, 0.01, 0.5)
TOGETHER_BLOCKS = 20

METHODS = ("equal", "square root", "proportional", "exact, equal", "exact, square root", "martingale")


def tables(campaigns: int) -> list[Table]:
    """Return all tables; `campaigns` is how many a cell rests on, fewer where they take long."""
    half, quarter, few, fewest = (campaigns // part for part in (2, 4, 16, 40))
    counts = ", ".join(str(look.blocks) for look in looks(EARLY))
    return [
        Table(
            "A fixed number of blocks",
            f"{campaigns} campaigns a row, each of one comparison. *False alarms*: the share of campaigns "
            "with identical code that call it different. *Coverage*: of the ratio by its interval, from the "
            "same draws, so that it is what the false alarms leave. *Width*: the median of 100 (high / low "
            "- 1). *Best other*: the narrower of Student's t interval and that of Wilcoxon's signed ranks "
            "around the Hodges-Lehmann estimate, among those that cover 95% in the same campaigns. "
            "*Found*: the interval excludes 1, in the right direction, where the code differs.",
            (
                "noise",
                "blocks",
                "false alarms %",
                "coverage %",
                "width %",
                "best other",
                "its width %",
                "its coverage %",
                *(f"found {100 * effect:g}%" for effect in EFFECTS),
            ),
            tuple(partial(fixed, noise, blocks, campaigns) for noise in NOISES for blocks in SIZES),
        ),
        Table(
            "Looking early",
            f"{half} campaigns a row, each of one comparison of identical code, with looks after {counts} "
            "blocks. *False alarms*: it is called different at any of them. *Naive*: p is at "
            "most 5% at any of them; that has to exceed 5%, which shows that these checks can fail. "
            "*Coverage*: by the interval at which a campaign ends that runs until it is so narrow; the "
            "widths are those after about 27 blocks.",
            ("noise", "false alarms %", "naive %", "until width %", "coverage %", "blocks on average"),
            tuple(partial(early, noise, half) for noise in NOISES),
        ),
        Table(
            "Until a verdict",
            f"{quarter} campaigns a row, each of one comparison; they end at the first look with a "
            f"verdict. The smallest effect is {100 * SMALLEST_EFFECT:g}%. *Wrong*: identical code is "
            "called different; different code is called different in the wrong direction or, from the "
            "smallest effect on, equivalent.",
            ("noise", "true effect", "wrong %", "decided %", "blocks on average"),
            tuple(
                partial(until_verdict, noise, effect, quarter)
                for noise in NOISES
                for effect in (0.0, *EFFECTS)
            ),
        ),
        Table(
            "Families of 16 comparisons",
            f"{quarter} campaigns a row, with a baseline and 4 levels in 4 contexts. *Any*: the share of "
            "campaigns that call identical code different anywhere. *Two planted*: two of the levels "
            f"differ by 10%, the other 8 comparisons are of identical code. *Early*: with looks, {few} "
            "campaigns.",
            ("noise", "blocks", "uncorrected: any %", "any %", "two planted: any %", "early: any %"),
            tuple(
                partial(family, noise, blocks, quarter, few if blocks == 12 else 0)
                for noise in NOISES
                for blocks in (12, 20)
            ),
        ),
        Table(
            "Intervals that hold together",
            f"{fewest} campaigns a row, of families in which comparisons differ by "
            f"{', '.join(f'{100 * effect:g}%' for effect in TOGETHER)} in turn, with a smallest effect "
            f"of {100 * SMALLEST_EFFECT:g}%. *All hold*: the share of campaigns in which every interval "
            "holds its true ratio. *Wrong*: any verdict is wrong, in its direction or by calling "
            f"equivalent what differs by the smallest effect or more. After {TOGETHER_BLOCKS} blocks; then "
            f"*until* every comparison has a verdict or {EARLY.blocks} blocks have ended, at the look that "
            "ends the campaign.",
            (
                "noise",
                "comparisons",
                "all hold %",
                "wrong %",
                "until: all hold %",
                "until: wrong %",
                "until: decided %",
            ),
            tuple(
                partial(together, noise, comparisons, fewest)
                for comparisons, noises in ((2, NOISES), (16, NOISES), (40, ("normal", "heavy-tailed")))
                for noise in noises
            ),
        ),
        Table(
            "Values of 0",
            f"{few} campaigns a row of {TOGETHER_BLOCKS} blocks, each of one comparison in which a value "
            "is 0 with the given probability, and otherwise the noise's. *False alarms*: identical code "
            "is called different. *Starved*: one side is 0 in half of the other trials too; it is *found* if "
            "it is called slower, *wrong* if it is called faster or equivalent, with a smallest effect "
            f"of {100 * SMALLEST_EFFECT:g}%. *Coverage*: of the ratio of the means, which is then 0.5.",
            ("noise", "0 in", "false alarms %", "starved: found %", "starved: wrong %", "coverage %"),
            tuple(partial(zeros, noise, share, few) for noise in NOISES for share in (0.1, 0.5)),
        ),
        Table(
            "A gate",
            f"{few} campaigns a row, which end at the first look at which every comparison has passed or "
            f"failed a gate of {100 * GATE:g}%, or after {UNTIL_GATE.blocks} blocks. One of them is slower "
            "by this much, the others are of identical code. *Failed*: any comparison has. *Passed*: all "
            "have. *Wrong*: any fails that is not beyond the gate, or all pass while one is at the gate or "
            "beyond. *Decided*: each has passed or failed.",
            (
                "noise",
                "comparisons",
                "slower by",
                "failed %",
                "passed %",
                "wrong %",
                "decided %",
                "blocks on average",
            ),
            tuple(
                partial(gate, noise, comparisons, slower, few)
                for noise in NOISES
                for comparisons in (1, 16)
                for slower in (0.0, GATE, 2 * GATE)
            ),
        ),
        Table(
            "A host with two modes, from trials to verdicts",
            f"{half} campaigns a row, of a baseline and 2 levels with 1 and 2 threads, on a host whose mode "
            "flips every 10 trials on average and slows two threads to 1/2.4; a trial's own noise is 2%. "
            "Groups whose calibrations disagree are repeated up to twice. The verdicts are those of "
            f"`summarise`, with a smallest effect of {100 * TINY_EFFECT:g}%, so that wrong verdicts are not "
            "hidden behind *equivalent*. The effect is that of one level; the other is identical to the "
            "baseline. *Wrong*: as above, in any of the four comparisons and two aggregates. The other "
            "columns are about the level with the effect: *coverage* and *width* of its comparison with 2 "
            "threads, with exclusions and without; *decided*, that comparison, and the aggregate over "
            "threads.",
            (
                "blocks",
                "true effect",
                "wrong %",
                "coverage %",
                "all groups: coverage %",
                "width %",
                "all groups: width %",
                "decided %",
                "aggregate: decided %",
            ),
            tuple(
                partial(two_modes, design, effect, half)
                for design, effect in (
                    (Design(blocks=12), 0.0),
                    (Design(blocks=12), 0.05),
                    (Design(blocks=20), 0.0),
                    (Design(blocks=24, until="verdict"), 0.0),
                    (Design(blocks=24, until="verdict"), 0.05),
                )
            ),
        ),
        Table(
            "Ways to look early",
            f"{few} campaigns a row, each of one comparison with normal noise, until a verdict at a "
            f"smallest effect of {100 * SMALLEST_EFFECT:g}% and at most 60 blocks. Each cell: blocks on "
            "average, and the share that is decided. *Scatter*: the standard deviation of the log "
            "ratios. *Among*: the number of comparisons; of one among 16 the levels are a sixteenth.",
            ("scatter", "true effect", "among", *METHODS),
            tuple(
                partial(ways, scatter, effect, comparisons, few)
                for scatter in (0.03, 0.08)
                for effect in (0.0, 0.02, 0.05)
                for comparisons in (1, 16)
            ),
        ),
        *sensitivity_tables.tables(campaigns),
        *bisection_tables.tables(campaigns),
        *host_tables.tables(campaigns),
    ]


class Judged(NamedTuple):
    """What is said of campaigns at one look; arrays of shape (campaigns, comparisons).

    Attributes:
        p: of each comparison by itself.
        low, high: the ends of its interval, as logarithms.
        gate: whether it has passed or failed.
    """

    verdict: NDArray[np.str_]
    p: Array
    low: Array
    high: Array
    gate: NDArray[np.str_]


def judged(data: Array, look: Look, smallest_effect: float = 0, gate: float | None = None) -> Judged:
    """Judge campaigns by the code that gives verdicts to users.

    Args:
        data: log ratios, shape (campaigns, comparisons, blocks); the comparisons of a campaign are a family.
        smallest_effect: without one, nothing is equivalent.
    """
    campaigns, family, _ = data.shape
    percent = None if gate is None else 100 * gate
    question = Question(100 * smallest_effect, "family", look, gate_percent=percent)
    families = [
        decide([Sample("logs", sample) for sample in campaign], ["higher"] * family, question)
        for campaign in data
    ]
    estimates = [estimate for estimates in families for estimate in estimates]
    ends = [
        (math.nan, math.nan) if interval is None else (interval.low, interval.high)
        for interval in (estimate.interval for estimate in estimates)
    ]
    low, high = np.log(ends).T.reshape(2, campaigns, family)
    return Judged(
        verdict=np.array([estimate.verdict for estimate in estimates]).reshape(campaigns, family),
        p=np.array([estimate.p for estimate in estimates]).reshape(campaigns, family),
        low=low,
        high=high,
        gate=np.array([str(estimate.gate) for estimate in estimates]).reshape(campaigns, family),
    )


def wrong_verdicts(effect: float, smallest_effect: float) -> tuple[Verdict, ...]:
    """Return what is wrong to say of code that is faster by `effect`."""
    if not effect:
        return ("faster", "slower")
    return ("slower", "equivalent") if effect >= smallest_effect else ("slower",)


def fixed(noise: str, blocks: int, campaigns: int) -> Row:
    """One comparison after a fixed number of blocks."""
    data = log_ratios(NOISES[noise], rng_of("fixed", noise, blocks), campaigns, blocks)
    result = judged(data, looks(Design(blocks=blocks))[-1])
    low, high = result.low[:, 0], result.high[:, 0]
    others = {"Student": student_interval(data[:, 0]), "Wilcoxon": wilcoxon_interval(data[:, 0])}
    width, best, coverage = min(
        (_width(*ends), name, coverage)
        for name, ends in others.items()
        if (coverage := _coverage(*ends, "at least 95%")).holds
    )
    return (
        noise,
        blocks,
        Rate.of(np.isin(result.verdict, wrong_verdicts(0, 0)), "at most 5%"),
        _coverage(low, high, "at least 95%"),
        _width(low, high),
        best,
        width,
        replace(coverage, promise=""),
        *(Rate.of(low + math.log1p(effect) > 0) for effect in EFFECTS),
    )


def early(noise: str, campaigns: int) -> Row:
    """Identical code, with looks."""
    data = log_ratios(NOISES[noise], rng_of("early", noise), campaigns, EARLY.blocks)
    planned = looks(EARLY)
    results = [judged(data[..., : look.blocks], look) for look in planned]
    alarms = [np.isin(result.verdict, wrong_verdicts(0, 0)) for result in results]
    low = np.array([result.low[:, 0] for result in results])
    high = np.array([result.high[:, 0] for result in results])
    wanted = next(_width(*ends) for *ends, look in zip(low, high, planned, strict=True) if look.blocks > 20)
    narrow = 100 * np.expm1(high - low) <= wanted
    narrow[-1] = True
    at = narrow.argmax(axis=0), np.arange(campaigns)
    return (
        noise,
        Rate.of(np.any(alarms, axis=0), "at most 5%"),
        Rate.of(np.any([result.p <= LEVEL for result in results], axis=0), "above 5%"),
        wanted,
        _coverage(low[at], high[at], "at least 95%"),
        float(np.mean([planned[look].blocks for look in at[0]])),
    )


def until_verdict(noise: str, effect: float, campaigns: int) -> Row:
    """One comparison, which ends the campaign as soon as it has a verdict."""
    data = log_ratios(NOISES[noise], rng_of("verdict", noise, effect), campaigns, EARLY.blocks)
    data += math.log1p(effect)
    planned = looks(EARLY)
    verdicts = np.array(
        [judged(data[..., : look.blocks], look, SMALLEST_EFFECT).verdict[:, 0] for look in planned]
    )
    decided = verdicts != "undecided"
    at = np.where(decided.any(axis=0), decided.argmax(axis=0), len(planned) - 1), np.arange(campaigns)
    return (
        noise,
        f"{100 * effect:g}%",
        Rate.of(np.isin(verdicts[at], wrong_verdicts(effect, SMALLEST_EFFECT)), "at most 5%"),
        Rate.of(decided.any(axis=0)),
        float(np.mean([planned[look].blocks for look in at[0]])),
    )


def family(noise: str, blocks: int, campaigns: int, early_campaigns: int) -> Row:
    """Sixteen comparisons, of which all or half are of identical code."""
    rng = rng_of("family", noise, blocks)
    planted = np.tile([0.1, 0.1, 0, 0], 4)
    look = looks(Design(blocks=blocks))[-1]
    data = log_ratios(NOISES[noise], rng, campaigns, blocks, contexts=4, levels=5)
    identical = judged(data, look)
    half = judged(data + planted[:, None], look)
    early: Cell = ""
    if early_campaigns:
        data = log_ratios(NOISES[noise], rng, early_campaigns, EARLY.blocks, contexts=4, levels=5)
        alarms = [_any_alarm(judged(data[..., : look.blocks], look)) for look in looks(EARLY, 16)]
        early = Rate.of(np.any(alarms, axis=0), "at most 5%")
    return (
        noise,
        blocks,
        Rate.of((identical.p <= LEVEL).any(axis=1), "above 5%"),
        Rate.of(_any_alarm(identical), "at most 5%"),
        Rate.of(np.isin(half.verdict[:, planted == 0], wrong_verdicts(0, 0)).any(axis=1), "at most 5%"),
        early,
    )


def _any_alarm(result: Judged) -> NDArray[np.bool_]:
    alarms: NDArray[np.bool_] = np.any(np.isin(result.verdict, wrong_verdicts(0, 0)), axis=1)
    return alarms


def together(noise: str, comparisons: int, campaigns: int) -> Row:
    """Families of comparisons of which some differ: whether all intervals hold, and all verdicts."""
    contexts, levels = FAMILIES[comparisons]
    rng = rng_of("together", noise, comparisons)
    data = log_ratios(NOISES[noise], rng, campaigns, EARLY.blocks, contexts=contexts, levels=levels)
    effects = np.resize(TOGETHER, comparisons)
    truth = np.log1p(effects)
    data += truth[:, None]
    wrong_of = [wrong_verdicts(effect, SMALLEST_EFFECT) for effect in effects]

    def seen(look: Look) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return of each campaign whether all intervals hold, any verdict is wrong, all are decided."""
        result = judged(data[..., : look.blocks], look, SMALLEST_EFFECT)
        holds = np.all((result.low <= truth) & (truth <= result.high), axis=1)
        wrong = [np.isin(result.verdict[:, at], words) for at, words in enumerate(wrong_of)]
        return holds, np.any(wrong, axis=0), np.all(result.verdict != "undecided", axis=1)

    once, *_ = looks(Design(blocks=TOGETHER_BLOCKS))
    holds, wrong, _ = seen(once)
    planned = looks(EARLY, comparisons)
    held, erred, decided = (np.array(values) for values in zip(*map(seen, planned), strict=True))
    at = np.where(decided.any(axis=0), decided.argmax(axis=0), len(planned) - 1), np.arange(campaigns)
    return (
        noise,
        comparisons,
        Rate.of(holds, "at least 95%"),
        Rate.of(wrong, "at most 5%"),
        Rate.of(held[at], "at least 95%"),
        Rate.of(erred[at], "at most 5%"),
        Rate.of(decided.any(axis=0)),
    )


def zeros(noise: str, share: float, campaigns: int) -> Row:
    """One comparison of values of which some are 0."""
    rng = rng_of("zeros", noise, share)
    shape = campaigns, TOGETHER_BLOCKS
    times = NOISES[noise](rng, campaigns, 2 * TOGETHER_BLOCKS).reshape(*shape, 2)
    in_random_order = np.moveaxis(rng.permuted(times, axis=2), 2, 0)  # two trials of a block
    level, baseline = (np.exp(side) * (rng.random(shape) >= share) for side in in_random_order)
    [look] = looks(Design(blocks=TOGETHER_BLOCKS))

    def estimates(level: Array, smallest_effect: float) -> list[Estimate]:
        samples = [
            sample_of(*([[value] for value in side] for side in pairs), by_difference=False)
            for pairs in zip(level.tolist(), baseline.tolist(), strict=True)
        ]
        question = Question(100 * smallest_effect, "none", look)
        return decide(samples, ["higher"] * campaigns, question)

    alarms = [estimate.verdict in wrong_verdicts(0, 0) for estimate in estimates(level, 0)]
    starved = estimates(level * (rng.random(shape) >= 0.5), SMALLEST_EFFECT)
    intervals = [of.interval for of in starved if of.interval is not None and of.ratio is not None]
    return (
        noise,
        f"{100 * share:g}%",
        Rate.of(alarms, "at most 5%"),
        Rate.of([of.verdict == "slower" for of in starved]),
        Rate.of([of.verdict in ("faster", "equivalent") for of in starved], "at most 5%"),
        Rate.of([interval.low <= 0.5 <= interval.high for interval in intervals]),
    )


def gate(noise: str, comparisons: int, slower: float, campaigns: int) -> Row:
    """Comparisons of which one is slower, until each has passed or failed the gate."""
    shape = {} if comparisons == 1 else {"contexts": 4, "levels": 5}
    data = log_ratios(
        NOISES[noise], rng_of("gate", noise, comparisons, slower), campaigns, UNTIL_GATE.blocks, **shape
    )
    data[:, 0] -= math.log1p(slower)
    planned = looks(UNTIL_GATE)
    gates = np.array([judged(data[..., : look.blocks], look, gate=GATE).gate for look in planned])
    decided = np.all(gates != "undecided", axis=2)
    at = np.where(decided.any(axis=0), decided.argmax(axis=0), len(planned) - 1), np.arange(campaigns)
    failed, passed = gates[at] == "failed", np.all(gates[at] == "passed", axis=1)
    wrongly_failed = failed[:, 1 if slower > GATE else 0 :].any(axis=1)
    return (
        noise,
        comparisons,
        f"{100 * slower:g}%",
        Rate.of(failed.any(axis=1)),
        Rate.of(passed),
        Rate.of(wrongly_failed | (passed & (slower >= GATE)), "at most 5%"),
        Rate.of(decided.any(axis=0)),
        float(np.mean([planned[look].blocks for look in at[0]])),
    )


def two_modes(design: Design, effect: float, campaigns: int) -> Row:
    """Whole campaigns, from their trials by what the laboratory itself does with them."""
    rng = rng_of("modes", design.blocks, design.end, effect)
    experiment = host_experiment(design)
    faster = {"a": 0.0, "b": effect, "c": 0.0}
    effects: Mapping[Level, float] = {level: math.log1p(by) for level, by in faster.items()}
    wrong_of: Mapping[Level, tuple[Verdict, ...]] = {
        level: wrong_verdicts(by, TINY_EFFECT) for level, by in faster.items()
    }
    analyses = [_at_end(host_campaign(rng, experiment, effects), experiment) for _ in range(campaigns)]
    planted = [_planted(analysis.comparisons, threads=2) for analysis in analyses]
    intervals = [comparison.interval for comparison in planted if comparison.interval is not None]
    of_all_groups = [
        comparison.all_groups.interval for comparison in planted if comparison.all_groups.interval is not None
    ]
    wrong = [
        any(answer.verdict in wrong_of[answer.level] for answer in analysis.answers) for analysis in analyses
    ]
    return (
        f"{design.blocks}" if design.end is None else f"until a verdict, at most {design.blocks}",
        f"{100 * effect:g}%",
        Rate.of(wrong, "at most 5%"),
        Rate.of([interval.low <= 1 + effect <= interval.high for interval in intervals], "at least 95%"),
        Rate.of([interval.low <= 1 + effect <= interval.high for interval in of_all_groups], "at least 95%"),
        float(np.median([100 * (interval.high / interval.low - 1) for interval in intervals])),
        float(np.median([100 * (interval.high / interval.low - 1) for interval in of_all_groups])),
        Rate.of([comparison.verdict != "undecided" for comparison in planted]),
        Rate.of(
            [
                aggregate.verdict != "undecided"
                for analysis in analyses
                for aggregate in analysis.aggregates
                if aggregate.level == "b"
            ]
        ),
    )


def _planted(comparisons: Sequence[Comparison], threads: int) -> Comparison:
    return next(
        comparison
        for comparison in comparisons
        if comparison.level == "b" and comparison.context["threads"] == threads
    )


def ways(scatter: float, effect: float, comparisons: int, campaigns: int) -> Row:
    """The same campaigns, ended by several ways to look early."""
    rng = rng_of("ways", scatter, effect)
    data = math.log1p(effect) + scatter * rng.standard_normal((campaigns, EARLY.blocks))
    splits: tuple[Callable[[float], float], ...] = (lambda _: 1.0, math.sqrt, float)
    equal, root, proportional = (looks(EARLY, comparisons, weight) for weight in splits)
    cells = [_first(data, planned, comparisons) for planned in (equal, root, proportional)]
    for planned in (equal, root):
        counts = [look.blocks for look in planned]
        levels = np.array([1 - look.confidence for look in planned]) / comparisons
        cells.append(_earliest(partial(exact_spending, counts=counts, levels=levels), data))
    cells.append(_earliest(partial(martingale, level=LEVEL / comparisons), data))
    return (f"{100 * scatter:g}%", f"{100 * effect:g}%", comparisons, *map(_ended_after, cells))


def _first(data: Array, planned: Sequence[Look], comparisons: int) -> NDArray[np.int64]:
    """Return when one among this many comparisons is decided, each look by itself."""
    decided = np.full(len(data), NEVER)
    for look in reversed(planned):
        tested = sign_flips(data[:, : look.blocks], 1 - (1 - look.confidence) / comparisons)
        if tested.low is not None and tested.high is not None:
            equivalent = (tested.low > -BOUND) & (tested.high < BOUND)
            decided[equivalent | (tested.low > 0) | (tested.high < 0)] = look.blocks
    return decided


def _earliest(decide: Callable[[Array, float, int], NDArray[np.int64]], data: Array) -> NDArray[np.int64]:
    """Return when a center other than 0 or, if that is earlier, one within the smallest effect is decided."""
    equivalent = np.maximum(decide(data, BOUND, -1), decide(data, -BOUND, 1))
    return np.minimum(decide(data, 0, 0), equivalent)


def _ended_after(decided: NDArray[np.int64]) -> str:
    blocks = float(np.minimum(decided, EARLY.blocks).mean())
    return f"{blocks:.1f}, {100 * float((decided != NEVER).mean()):.0f}%"


def host_experiment(design: Design) -> Experiment:
    """Return what is simulated on a host with two modes."""
    subjects, threads = ("a", "b", "c"), (1, 2)
    return Experiment(
        name="two-modes",
        question="?",
        comparison=ComparisonDesign(
            metric="throughput",
            factor="subject",
            baseline="a",
            smallest_effect_percent=100 * TINY_EFFECT,
            better="higher",
            across={"threads": {}},
        ),
        design=design,
        programs={},
        fixed={"pinning": "compact"},
        changes={
            "subject": {subject: {} for subject in subjects},
            "threads": {number: {"threads": number} for number in threads},
        },
        path=Path("two-modes.toml"),
    )


def _at_end(trials: Sequence[StoredTrial], experiment: Experiment) -> Analysis:
    """Return the analysis at the look at which the campaign ends."""
    analysis = summarise(trials, experiment)
    for look in looks(experiment.design, len(analysis.answers))[:-1]:
        seen = summarise([trial for trial in trials if trial.block < look.blocks], experiment)
        assert seen.look == look
        if stop_reason(seen, experiment.design):
            return seen
    return analysis


def _coverage(low: Array, high: Array, promise: Promise = "") -> Rate:
    return Rate.of((low <= 0) & (high >= 0), promise)


def _width(low: Array, high: Array) -> float:
    return float(np.median(100 * np.expm1(high - low)))


def written(page: str, shown: Sequence[str]) -> str:
    """Return the page with these tables in the place of those that it has."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + "\n\n".join(shown) + "\n\n" + END + rest.split(END)[1]


def prove(proofs: Sequence[Table], page: Path) -> None:
    """Simulate, print, and say what does not hold; with --write, put the tables into a page."""
    shown, wrong = [], []
    with ProcessPoolExecutor() as pool:
        # The last tables have the rows that take longest: with those first, no process waits long at the end.
        submitted = [(table, [pool.submit(row) for row in table.rows]) for table in reversed(proofs)]
        for table, waiting in reversed(submitted):
            rows = [row.result() for row in waiting]
            shown.append(markdown(table, rows))
            wrong += broken(table, rows)
            print(shown[-1], end="\n\n", flush=True)
    if sys.argv[1:] == ["--write"]:
        page.write_text(written(page.read_text(), shown))
    if wrong:
        sys.exit("\n".join(["error: promises that do not hold:", *wrong]))
    print("Every promise holds.")


if __name__ == "__main__":
    prove(tables(CAMPAIGNS), PAGE)
