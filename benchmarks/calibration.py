"""Checks by simulation that the verdicts are as right as docs/statistics.md says.

Prints tables in Markdown and ends with 1 where a rate is worse than promised by more than Monte Carlo error.
With --write they also replace the tables in docs/statistics.md.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alternatives import NEVER, exact_spending, martingale, student_interval, wilcoxon_interval
from assay.analysis import Analysis, Look, holm, looks, settled, sign_flips, summarise
from assay.experiment.types import Blocks, Comparison, Design, Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial
from simulation import NOISES, Array, host_campaign, log_ratios

PAGE = Path(__file__).parents[1] / "docs/statistics.md"
BEGIN, END = "<!-- make calibration: begin -->\n", "<!-- make calibration: end -->\n"

CAMPAIGNS = 4000
"""That a row of the first table rests on."""

LEVEL = 0.05
ERRORS = 3
"""A promise is broken where a rate is so many standard errors of the simulation beyond it."""

SIZES = (8, 12, 20, 30, 60)
EFFECTS = (0.01, 0.02, 0.05)
SMALLEST_EFFECT = 0.03
BOUND = math.log1p(SMALLEST_EFFECT)
EARLY = Blocks(most=60, until="verdict", fewest=8)

Promise = Literal["at most 5%", "at least 95%", "above 5%", ""]


@dataclass(frozen=True)
class Rate:
    """A share of simulated campaigns, and what is promised of it."""

    share: float
    campaigns: int
    promise: Promise = ""

    @classmethod
    def of(cls, hits: ArrayLike, promise: Promise = "") -> "Rate":
        """Return the share of what is true."""
        return cls(float(np.mean(np.asarray(hits, dtype=bool))), np.size(hits), promise)

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, up to Monte Carlo error."""
        slack = ERRORS * math.sqrt(LEVEL * (1 - LEVEL) / self.campaigns)
        match self.promise:
            case "at most 5%":
                return self.share <= LEVEL + slack
            case "at least 95%":
                return self.share >= 1 - LEVEL - slack
            case "above 5%":
                return self.share > LEVEL + slack
            case _:
                return True

    def __str__(self) -> str:
        """Return percent, with the standard error of the simulation."""
        error = math.sqrt(self.share * (1 - self.share) / self.campaigns)
        return f"{100 * self.share:.1f} ± {100 * error:.1f}" + ("" if self.holds else " **FAIL**")


Cell = str | int | float | Rate
Row = tuple[Cell, ...]

METHODS = ("equal", "square root", "proportional", "exact, equal", "exact, square root", "martingale")


@dataclass(frozen=True)
class Table:
    """What is printed: a heading, a paragraph, and rows, each of them the result of a function."""

    title: str
    text: str
    header: tuple[str, ...]
    rows: tuple[Callable[[], Row], ...]


def tables(campaigns: int) -> list[Table]:
    """Return all tables; `campaigns` is how many a cell rests on, fewer where they take long."""
    half, quarter, few = campaigns // 2, campaigns // 4, campaigns // 16
    counts = ", ".join(str(look.blocks) for look in looks(EARLY))
    return [
        Table(
            "A fixed number of blocks",
            f"{campaigns} campaigns a row, each of one comparison. *False alarms*: the share of those of "
            "identical code with p at most 5%. *Coverage*: of the ratio by its interval, from the same "
            "draws, so that it is what the false alarms leave. *Width*: the median of 100 (high / low - "
            "1). *Best*: the narrowest interval known for that noise, Student's t for normal noise, "
            "otherwise that of Wilcoxon's signed ranks around the Hodges-Lehmann estimate. *Found*: "
            "called different, in the right direction, where the code differs by so much.",
            (
                "noise",
                "blocks",
                "false alarms %",
                "coverage %",
                "width %",
                "best: width %",
                "best: coverage %",
                *(f"found {100 * effect:g}%" for effect in EFFECTS),
            ),
            tuple(partial(fixed, noise, blocks, campaigns) for noise in NOISES for blocks in SIZES),
        ),
        Table(
            "Looking early",
            f"{half} campaigns a row, each of one comparison of identical code, with looks after {counts} "
            "blocks. *False alarms*: p is at most the level of a look at any of them. *Naive*: p is at "
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
            "A host with two modes, from trials to verdicts",
            f"{few} campaigns a row, of 2 levels with 1 and 2 threads, on a host whose mode flips every "
            "10 trials on average and slows two threads to 1/2.4. Groups whose calibrations disagree are "
            "repeated up to twice. The verdicts are those of `summarise`. *Wrong*: as above, in any of "
            "the two comparisons. *Coverage* and *width*: of the comparison with 2 threads, with "
            "exclusions and without. *Decided*: that comparison. *Aggregate*: of both.",
            (
                "blocks",
                "true effect",
                "wrong %",
                "coverage %",
                "all groups: coverage %",
                "width %",
                "all groups: width %",
                "decided %",
                "aggregate: wrong %",
                "aggregate: decided %",
            ),
            tuple(
                partial(two_modes, blocks, effect, few)
                for blocks in (Blocks(12), Blocks(30), Blocks(30, until="verdict"))
                for effect in (0.0, 0.05)
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
    ]


def fixed(noise: str, blocks: int, campaigns: int) -> Row:
    """One comparison after a fixed number of blocks."""
    data = log_ratios(NOISES[noise], _rng("fixed", noise, blocks), campaigns, blocks)[:, 0]
    tested = sign_flips(data)
    low, high = _ends(tested.low, tested.high)
    best_low, best_high = (student_interval if noise == "normal" else wilcoxon_interval)(data)
    return (
        noise,
        blocks,
        Rate.of(tested.p <= LEVEL, "at most 5%"),
        Rate.of((low <= 0) & (high >= 0), "at least 95%"),
        _width(low, high),
        _width(best_low, best_high),
        Rate.of((best_low <= 0) & (best_high >= 0)),
        *(Rate.of(low + math.log1p(effect) > 0) for effect in EFFECTS),
    )


def early(noise: str, campaigns: int) -> Row:
    """Identical code, with looks."""
    data = log_ratios(NOISES[noise], _rng("early", noise), campaigns, EARLY.most)[:, 0]
    planned = looks(EARLY)
    tests = [sign_flips(data[:, : look.blocks], look.confidence) for look in planned]
    p = np.array([each.p for each in tests])
    ends = [_ends(each.low, each.high) for each in tests]
    wanted = next(_width(*each) for each, look in zip(ends, planned, strict=True) if look.blocks > 20)
    widths = np.array([100 * np.expm1(high - low) for low, high in ends])
    narrow = widths <= wanted
    narrow[-1] = True
    at = narrow.argmax(axis=0)
    covered = np.array([(low <= 0) & (high >= 0) for low, high in ends])[at, np.arange(campaigns)]
    return (
        noise,
        Rate.of((p <= _levels(planned)).any(axis=0), "at most 5%"),
        Rate.of((p <= LEVEL).any(axis=0), "above 5%"),
        wanted,
        Rate.of(covered, "at least 95%"),
        float(np.mean([planned[look].blocks for look in at])),
    )


def until_verdict(noise: str, effect: float, campaigns: int) -> Row:
    """One comparison, which ends the campaign as soon as it has a verdict."""
    data = log_ratios(NOISES[noise], _rng("verdict", noise, effect), campaigns, EARLY.most)[:, 0]
    planned = looks(EARLY)
    tests = [
        sign_flips(data[:, : look.blocks] + math.log1p(effect), look.confidence, BOUND) for look in planned
    ]
    levels = _levels(planned)
    equivalent = np.array([each.p_equivalent for each in tests]) <= levels
    different = (np.array([each.p for each in tests]) <= levels) & ~equivalent
    higher = np.array([each.center for each in tests]) > 0
    decided = equivalent | different
    at = np.where(decided.any(axis=0), decided.argmax(axis=0), len(planned) - 1), np.arange(campaigns)
    wrong = different & ~higher if effect else different
    if effect >= SMALLEST_EFFECT:
        wrong |= equivalent
    return (
        noise,
        f"{100 * effect:g}%",
        Rate.of(wrong[at], "at most 5%"),
        Rate.of(decided.any(axis=0)),
        float(np.mean([planned[look].blocks for look in at[0]])),
    )


def family(noise: str, blocks: int, campaigns: int, early_campaigns: int) -> Row:
    """Sixteen comparisons, of which all or half are of identical code."""
    rng = _rng("family", noise, blocks)
    planted = np.tile([0.1, 0.1, 0, 0], 4)
    identical = planted == 0
    data = log_ratios(NOISES[noise], rng, campaigns, blocks, contexts=4, levels=5)
    p = _p(data, 16)
    half = np.array([holm(each) for each in _p(data + planted[:, None], 16)])
    early: Cell = ""
    if early_campaigns:
        planned = looks(EARLY, 16)
        data = log_ratios(NOISES[noise], rng, early_campaigns, EARLY.most, contexts=4, levels=5)
        alarms = [
            [min(holm(each)) <= 1 - look.confidence for each in _p(data[..., : look.blocks], 16, look)]
            for look in planned
        ]
        early = Rate.of(np.any(alarms, axis=0), "at most 5%")
    return (
        noise,
        blocks,
        Rate.of((p <= LEVEL).any(axis=1), "above 5%"),
        Rate.of([min(holm(each)) <= LEVEL for each in p], "at most 5%"),
        Rate.of((half[:, identical] <= LEVEL).any(axis=1), "at most 5%"),
        early,
    )


def two_modes(blocks: Blocks, effect: float, campaigns: int) -> Row:
    """Whole campaigns, from their trials by what the laboratory itself does with them."""
    rng = _rng("modes", blocks.most, blocks.until, effect)
    experiment = _experiment(blocks)
    effects: Mapping[Level, float] = {"a": 0.0, "b": math.log1p(effect)}
    wrong, aggregate_wrong, ended = [], [], []
    for _ in range(campaigns):
        trials = host_campaign(rng, experiment, effects)
        analysis = _ended(trials, experiment)
        bad = ("slower", "equivalent") if effect else ("slower", "faster")
        wrong.append(any(one.verdict in bad for one in analysis.comparisons))
        aggregate_wrong.append(any(one.verdict in bad for one in analysis.aggregates))
        ended.append(analysis)
    two = [analysis.comparisons[1] for analysis in ended]
    main = [one.interval for one in two if one.interval is not None]
    every = [one.all_groups.interval for one in two if one.all_groups.interval is not None]
    return (
        f"{blocks.most}" if blocks.until is None else f"until a verdict, at most {blocks.most}",
        f"{100 * effect:g}%",
        Rate.of(wrong, "at most 5%"),
        Rate.of([each.low <= 1 + effect <= each.high for each in main], "at least 95%"),
        Rate.of([each.low <= 1 + effect <= each.high for each in every], "at least 95%"),
        float(np.median([100 * (each.high / each.low - 1) for each in main])),
        float(np.median([100 * (each.high / each.low - 1) for each in every])),
        Rate.of([one.verdict != "undecided" for one in two]),
        Rate.of(aggregate_wrong, "at most 5%"),
        Rate.of([each.aggregates[0].verdict != "undecided" for each in ended]),
    )


def ways(scatter: float, effect: float, comparisons: int, campaigns: int) -> Row:
    """The same campaigns, ended by several ways to look early."""
    rng = _rng("ways", scatter, effect)
    data = math.log1p(effect) + scatter * rng.standard_normal((campaigns, EARLY.most))
    counts = [8, *(look.blocks for look in looks(EARLY))]
    tests = [sign_flips(data[:, :count], 1 - LEVEL / comparisons, BOUND, comparisons) for count in counts]
    p = np.minimum([each.p for each in tests], [each.p_equivalent for each in tests])
    cells: list[Cell] = []
    for power in (0, 0.5, 1):
        cells.append(_ended_after(_first(p <= _split(counts, power, comparisons)[:, None], counts)))
    for power in (0, 0.5):
        cells.append(
            _ended_after(
                _earliest(
                    partial(exact_spending, counts=counts, levels=_split(counts, power, comparisons)), data
                )
            )
        )
    cells.append(_ended_after(_earliest(partial(martingale, level=LEVEL / comparisons), data)))
    return (f"{100 * scatter:g}%", f"{100 * effect:g}%", comparisons, *cells)


def _split(counts: Sequence[int], power: float, comparisons: int) -> Array:
    """Split the level by a power of the blocks over those looks that could decide anything."""
    weights: Array = np.array(counts, dtype=np.float64) ** power
    for first, count in enumerate(counts):
        levels: Array = LEVEL * weights / weights.sum()
        if 2.0 ** (1 - count) * comparisons <= levels[first]:
            return levels / comparisons
        weights[first] = 0
    return weights


def _first(decided: NDArray[np.bool_], counts: Sequence[int]) -> NDArray[np.int64]:
    return np.where(decided.any(axis=0), np.array(counts)[decided.argmax(axis=0)], NEVER)


def _earliest(decide: Callable[[Array, float, int], NDArray[np.int64]], data: Array) -> NDArray[np.int64]:
    """Return when a center other than 0 or, if that is earlier, one within the smallest effect is decided."""
    equivalent = np.maximum(decide(data, BOUND, -1), decide(data, -BOUND, 1))
    return np.minimum(decide(data, 0, 0), equivalent)


def _ended_after(decided: NDArray[np.int64]) -> str:
    blocks = float(np.minimum(decided, EARLY.most).mean())
    return f"{blocks:.1f}, {100 * float((decided != NEVER).mean()):.0f}%"


def _experiment(blocks: Blocks) -> Experiment:
    subjects, threads = ("a", "b"), (1, 2)
    return Experiment(
        name="two-modes",
        question="?",
        factors={"subject": subjects, "threads": threads},
        comparison=Comparison(
            "throughput", "subject", "a", 100 * SMALLEST_EFFECT, "higher", across=("threads",)
        ),
        design=Design(blocks, None, (), 0),
        programs={},
        fixed={"pinning": "compact"},
        changes={
            "subject": {subject: {} for subject in subjects},
            "threads": {number: {"threads": number} for number in threads},
        },
        source="",
        path=Path("two-modes.toml"),
    )


def _ended(trials: Sequence[StoredTrial], experiment: Experiment) -> Analysis:
    """Return the analysis at the look at which the campaign ends."""
    blocks = experiment.design.blocks
    for look in looks(blocks, len(experiment.factors["threads"])):
        seen = [trial for trial in trials if trial.block < look.blocks]
        analysis = summarise(seen, experiment)
        if settled(analysis, blocks):
            break
    return analysis


def _p(data: Array, comparisons: int, look: Look | None = None) -> Array:
    """Return the p-values of data of shape (campaigns, comparisons, blocks)."""
    confidence = 1 - LEVEL if look is None else look.confidence
    tested = sign_flips(data.reshape(-1, data.shape[-1]), confidence, family=comparisons)
    return tested.p.reshape(data.shape[:2])


def _levels(planned: Sequence[Look]) -> Array:
    return np.array([[1 - look.confidence] for look in planned]) * (1 + 1e-9)


def _ends(low: Array | None, high: Array | None) -> tuple[Array, Array]:
    assert low is not None
    assert high is not None
    return low, high


def _width(low: Array, high: Array) -> float:
    return float(np.median(100 * np.expm1(high - low)))


def _rng(*what: object) -> np.random.Generator:
    """Return chance that depends on what it is for alone, not on which process draws it or when."""
    return np.random.default_rng(crc32(repr(what).encode()))


def broken(table: Table, rows: Sequence[Row]) -> list[str]:
    """Return the promises that the rows of a table break."""
    return [
        f"{table.title}: {row[0]}, {row[1]}: {name} is {cell}, promised {cell.promise}"
        for row in rows
        for name, cell in zip(table.header, row, strict=True)
        if isinstance(cell, Rate) and not cell.holds
    ]


def markdown(table: Table, rows: Sequence[Row]) -> str:
    """Return a table as docs/statistics.md shows it."""
    lines = [
        table.header,
        ["---"] * len(table.header),
        *([f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows),
    ]
    return "\n".join(
        [f"### {table.title}", "", table.text, "", *(f"| {' | '.join(each)} |" for each in lines)]
    )


def main() -> None:
    """Simulate, print, and say what does not hold."""
    pages, wrong = [], []
    with ProcessPoolExecutor() as pool:
        asked = [(table, [pool.submit(row) for row in table.rows]) for table in tables(CAMPAIGNS)]
        for table, waiting in asked:
            rows = [row.result() for row in waiting]
            pages.append(markdown(table, rows))
            wrong += broken(table, rows)
            print(pages[-1], end="\n\n", flush=True)
    if sys.argv[1:] == ["--write"]:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + "\n\n".join(pages) + "\n\n" + END + rest.split(END)[1])
    if wrong:
        sys.exit("\n".join(["error: promises that do not hold:", *wrong]))
    print("Every promise holds.")


if __name__ == "__main__":
    main()
