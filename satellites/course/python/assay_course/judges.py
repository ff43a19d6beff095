"""How lessons are judged: the naive claim and the honest one, from the same kind of stored trials.

Pure functions. Where the flaw is in the measurement, the two versions are levels of one experiment, and a
number is compared over the pairs of its groups. Where it is in the analysis, the naive claim is made here of
honest trials.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray

from assay.analysis import (
    CONFIDENCE,
    Interval,
    median,
    median_interval,
    sign_flips,
    summarise,
)
from assay.analysis.pairs import counting_pairs
from assay.audit.design import ADVISED
from assay.findings import Finding
from assay.satellites import added
from assay.store.types import StoredTrial
from assay.words import counted, in_percent, number, ratio
from assay_course.lesson import Judge
from assay_course.outcome import FLAWED, HONEST, VERSION, LessonCampaign, LessonResult, Observations

Number = Callable[[StoredTrial], float | None]
"""Returns the number of a trial, or None."""


def metric(name: str, over: str = "", less: str = "") -> Number:
    """Return a function for a valid trial's metric, minus another metric or as a share of it."""

    def of(trial: StoredTrial) -> float | None:
        if trial.status != "valid" or name not in trial.metrics:
            return None
        value = trial.metrics[name]
        if less:
            return value - trial.metrics[less] if less in trial.metrics else None
        if over:
            return value / trial.metrics[over] if trial.metrics.get(over) else None
        return value

    return of


def updates_share(trial: StoredTrial) -> float | None:
    """Return the share of a valid trial's updates that changed something."""
    if trial.status != "valid":
        return None
    updates = trial.metrics.get("insert_throughput", 0) + trial.metrics.get("erase_throughput", 0)
    return trial.metrics.get("effective_update_throughput", 0) / updates if updates else None


def invalid(trial: StoredTrial) -> float:
    """Return 1 for a trial that does not count, 0 for a valid one."""
    return float(trial.status != "valid")


def levels(what: str, value_of: Number, *, times: float, per: float = 1) -> Judge:
    """Return a judge of two versions by a number of their trials.

    Args:
        what: the number in words, with its unit.
        value_of: returns the number of a trial.
        times: the effect shows if flawed over honest reaches this ratio, from below if it is below 1.
        per: the unit of `what`, such as 1e6 for millions.
    """

    def judge(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
        flawed, honest = ([value_of(trial) for trial in trials] for trials in _versions(runs))
        pairs = [
            a / b for a, b in zip(flawed, honest, strict=False) if a is not None and b is not None and b > 0
        ]
        values = [[value for value in side if value is not None] for side in (flawed, honest)]
        caught, clean = _of_versions(rule, runs)
        if not all(values):
            return LessonResult(f"{what}: nothing could be measured.", False, caught, clean)
        ours, theirs = map(median, values)
        seen = _of_both(what, [[value / per for value in side] for side in values])
        numbers = f"{what}: {number(ours / per)} with the flaw, {number(theirs / per)} without it"
        if not pairs:
            shows = ours > theirs if times > 1 else ours < theirs
            return LessonResult(f"{numbers}.", shows, caught, clean, ours, theirs, seen=seen)
        typical, interval = median(pairs), median_interval(pairs)
        shows = typical >= times if times > 1 else typical <= times
        return LessonResult(
            f"{numbers}: {ratio(typical)} times{_within(interval)}.",
            shows,
            caught,
            clean,
            ours,
            theirs,
            typical,
            interval,
            seen,
        )

    return judge


def spread(what: str, value_of: Number) -> Judge:
    """Return a judge of how far two versions' trials lie apart: the standard deviation over the mean."""

    def judge(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
        sides = [
            [value for trial in trials if (value := value_of(trial)) is not None]
            for trials in _versions(runs)
        ]
        caught, clean = _of_versions(rule, runs)
        if any(len(side) < 2 or mean(side) <= 0 for side in sides):
            return LessonResult(f"{what}: too few trials.", False, caught, clean)
        flawed, honest = (stdev(side) / mean(side) for side in sides)
        said = f"{what} differs between trials by {in_percent(flawed):.3g}% with the flaw,"
        return LessonResult(
            f"{said} {in_percent(honest):.3g}% without it (standard deviation).",
            flawed > honest,
            caught,
            clean,
            flawed,
            honest,
            flawed / honest if honest else None,
            seen=_of_both(what, sides),
        )

    return judge


def many_comparisons(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge comparisons that are each tested alone, by the levels of identical code drawn anew.

    Where code is identical, each order of the values of a block is as likely as any other. So any two levels
    of each block make a pair, and the sign of its difference is chance, whatever the noise looks like.
    """
    [run] = runs
    blocks = _logs_of_blocks(run)
    caught, clean = tuple(_named(rule, cut(run, FEW).findings())), not _named(rule, run.findings())
    if len(blocks) < FEW:
        return LessonResult("too few blocks could be measured.", False, caught, clean)
    random = np.random.default_rng(run.experiment.design.seed)
    first = random.integers(blocks.shape[1], size=(CAMPAIGNS * COMPARISONS, len(blocks)))
    second = (first + random.integers(1, blocks.shape[1], size=first.shape)) % blocks.shape[1]
    block = np.arange(len(blocks))
    differences = blocks[block, first] - blocks[block, second]
    alone = sign_flips(differences[:, :FEW]).p
    together = COMPARISONS * sign_flips(differences, 1 - (1 - CONFIDENCE) / COMPARISONS).p
    smallest = [p.reshape(CAMPAIGNS, COMPARISONS).min(axis=1) for p in (alone, together)]
    naive, honest = (float((p < 1 - CONFIDENCE).mean()) for p in smallest)
    return LessonResult(
        f"identical code, {CAMPAIGNS} campaigns of {COMPARISONS} comparisons drawn from its {len(blocks)}"
        f" blocks: with each comparison tested alone after {FEW} blocks (p < 5%), {naive:.0%} of campaigns"
        f" call something different; with all tested as one family after {len(blocks)} blocks, {honest:.0%}.",
        naive > 2 * honest and naive > 1 - CONFIDENCE,
        caught,
        clean,
        naive,
        honest,
        seen=Observations(
            "smallest p-value of a campaign, times the comparisons it is corrected for",
            dict(
                zip(
                    ("each alone", "as one family"),
                    (np.minimum(1, p).tolist() for p in smallest),
                    strict=True,
                )
            ),
        ),
    )


CAMPAIGNS, COMPARISONS = 100, 100
FEW = 8
"""Number of blocks after which a naive experimenter stops."""


def _logs_of_blocks(run: LessonCampaign) -> NDArray[np.float64]:
    """Return the logarithms of the compared metric, a row for each block in which all levels have it."""
    value_of = metric(run.experiment.comparison.metric)
    levels = [str(level) for level in run.experiment.factors[run.experiment.comparison.factor]]
    values = {(trial.block, str(trial.levels[VERSION])): value_of(trial) or 0 for trial in run.trials}
    rows = [[values.get((block, level), 0) for level in levels] for block in sorted({at for at, _ in values})]
    return np.log([row for row in rows if min(row) > 0])


def few_blocks(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge three blocks of identical code by all of the blocks."""
    [run] = runs
    differences = _differences(run)
    few = [math.exp(mean(differences[i : i + 3])) for i in range(0, len(differences) - 2, 3)]
    caught, clean = tuple(_named(rule, cut(run, 3).findings())), not _named(rule, run.findings())
    if not few:
        return LessonResult("too few pairs could be measured.", False, caught, clean)
    low, high = min(few), max(few)
    whole = math.exp(mean(differences))
    return LessonResult(
        f"identical code; campaigns of 3 blocks give ratios from {ratio(low)} to {ratio(high)}, all"
        f" {counted(differences, 'block')} together {ratio(whole)}.",
        high / low > 1 + run.experiment.comparison.smallest_effect_percent / 100,
        caught,
        clean,
        high / low,
        math.exp(abs(mean(differences))),
        seen=Observations("ratio of identical code", {"by 3 blocks": few, "by all blocks": [whole]}),
    )


def layouts(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge two programs that do the same, in one layout each, by the same two in layouts of their own."""
    caught, clean = _of_versions(rule, runs)
    ratios = [_ratios(run) for run in runs]
    if any(len(values) < 2 for values in ratios):
        return LessonResult("too few pairs could be measured.", False, caught, clean)
    (one, one_spread), (drawn, drawn_spread) = map(_center, ratios)
    return LessonResult(
        f"one of two programs that do the same has {ratio(one)} times the cache misses of the other in every"
        f" block ({ratio(min(ratios[0]))} to {ratio(max(ratios[0]))}); in layouts drawn for each block it has"
        f" {ratio(min(ratios[1]))} to {ratio(max(ratios[1]))} times, typically {ratio(drawn)}.",
        one_spread < drawn_spread and abs(math.log(one)) > abs(math.log(drawn)),
        caught,
        clean,
        one,
        drawn,
        seen=Observations(
            "ratio of the misses of two programs that do the same",
            dict(zip(("one layout", "layouts drawn"), ratios, strict=True)),
        ),
    )


def environments(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge two programs that do the same, in environments of several sizes, by the same in drawn ones."""
    caught, clean = _of_versions(rule, runs)
    fixed, drawn = _ratios_of_contexts(runs[0]), _ratios(runs[1])
    if not all(fixed) or not drawn:
        return LessonResult("too few pairs could be measured.", False, caught, clean)
    rows = dict(zip(map(str, runs[0].experiment.factors["environment"]), fixed, strict=True))
    centers = {_center(values)[0]: row for row, values in rows.items()}
    low, high, honest = min(centers), max(centers), _center(drawn)[0]
    return LessonResult(
        f"one of two programs that do the same has {ratio(high)} times the cache misses of the other in an"
        f" environment {centers[high]}, and {ratio(low)} times in one {centers[low]}, in every block; with an"
        f" environment drawn for each trial it has {ratio(min(drawn))} to {ratio(max(drawn))} times,"
        f" typically {ratio(honest)}.",
        low < 1 < high,
        caught,
        clean,
        high,
        honest,
        seen=Observations("ratio of the misses of two programs that do the same", {**rows, "drawn": drawn}),
    )


def mean_of_latencies(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge the mean of latencies by the percentile that the experiment compares, of the same trials."""
    [run] = runs
    by_mean = replace(run, experiment=run.experiment.altered(comparison={"metric": MEAN}))
    caught, clean = tuple(_named(rule, by_mean.findings())), not _named(rule, run.findings())
    means, tails = _ratios(by_mean), _ratios(run)
    if not means or not tails:
        return LessonResult("too few pairs could be measured.", False, caught, clean)
    naive, honest = median(means), median(tails)
    return LessonResult(
        f"a map whose searches are short and whose few ranges are long has {ratio(naive)} times the mean"
        f" latency of one with nothing but alike operations, and {ratio(honest)} times its 99th percentile.",
        naive < 1 < honest,
        caught,
        clean,
        naive,
        honest,
        seen=Observations("ratio of latencies", {"of their mean": means, "of their 99th percentile": tails}),
    )


MEAN = "latency_mean_ns"


def placements(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge the placement of threads without pinning by pinned ones."""
    [run] = runs
    caught, clean = _of_versions(rule, runs)
    sides = [
        [_place(run, trial) for trial in trials if trial.status == "valid"] for trials in _versions(runs)
    ]
    moves = [
        sum(trial.metrics.get("migrations", 0) for trial in trials if trial.status == "valid")
        for trials in _versions(runs)
    ]
    if not all(sides):
        return LessonResult("nothing could be measured.", False, caught, clean)
    flawed, honest = (len({*places}) for places in sides)
    return LessonResult(
        f"over {counted(sides[0], 'trial')} the threads ended on {counted(flawed, 'different placement')} and"
        f" were moved {counted(int(moves[0]), 'time')} while they were measured; pinned, they had"
        f" {counted(honest, 'placement')} and were moved {counted(int(moves[1]), 'time')}.",
        flawed + moves[0] > honest + moves[1],
        caught,
        clean,
        flawed,
        honest,
        seen=Observations(
            "different placements of the threads, counted up to each trial",
            dict(zip((FLAWED, HONEST), map(_different_so_far, sides), strict=True)),
        ),
    )


def idle_processors(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge by the processors that threads ran on, and report the throughput."""
    [run] = runs
    throughput = levels("operations a second, in millions", metric("throughput"), times=0.8, per=1e6)
    outcome = throughput(rule, runs)
    flawed, honest = (
        {processor for trial in trials if trial.status == "valid" for processor in _place(run, trial)}
        for trials in _versions(runs)
    )
    return replace(
        outcome,
        measured=f"the threads ran on {counted(flawed, 'processor')} with the flaw, on {len(honest)} without"
        f" it; {outcome.measured}",
        shows=len(flawed) < len(honest),
    )


def _different_so_far(places: Sequence[tuple[int, ...]]) -> list[float]:
    """Return for each of some placements how many different ones there are up to it."""
    return [float(len({*places[:end]})) for end in range(1, len(places) + 1)]


def _place(run: LessonCampaign, trial: StoredTrial) -> tuple[int, ...]:
    """Return the processor that each thread of a trial was on at its end."""
    return tuple(thread["last_ran_on"] for thread in run.result(trial.id)["threads"])


def _ratios_of_contexts(run: LessonCampaign) -> list[list[float]]:
    """Return the ratios of a campaign's pairs, a list for each comparison, the least first."""
    analysis = summarise(run.trials, run.experiment)
    return [
        sorted(math.exp(pair.log_ratio) for pair in counting if not math.isnan(pair.log_ratio))
        for counting in counting_pairs(run.trials, run.experiment, analysis)
    ]


def _ratios(run: LessonCampaign) -> list[float]:
    """Return those of the only comparison."""
    [values] = _ratios_of_contexts(run)
    return values


def _center(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the geometric mean of some ratios, and the standard deviation of their logarithms."""
    logs = [math.log(value) for value in ratios]
    return math.exp(mean(logs)), stdev(logs) if len(logs) > 1 else 0.0


def cut(run: LessonCampaign, blocks: int) -> LessonCampaign:
    """Return a campaign as if it had been planned with the first few blocks alone."""
    return replace(
        run,
        experiment=run.experiment.altered(design=run.experiment.design.exactly(blocks)),
        trials=[trial for trial in run.trials if trial.block < blocks],
    )


FIRST_LOOK = 6
"""Number of pairs at the first test of somebody who tests after every pair: fewer cannot give p below 5%."""


def peeked(campaigns: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return after how many pairs somebody stops each campaign who tests after every pair; 0 where never.

    Args:
        campaigns: differences of pairs, in logarithms; a row for each campaign.
    """
    looked = range(FIRST_LOOK, campaigns.shape[1] + 1)
    significant = np.array([sign_flips(campaigns[:, :n]).p < 1 - CONFIDENCE for n in looked])
    stopped = significant.any(axis=0)
    return np.where(stopped, significant.argmax(axis=0) + FIRST_LOOK, 0)


def looking(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge looking until something is significant, by the pairs of identical code drawn anew.

    Where code is identical, each sign and each order of pairs is as likely as any other.
    """
    [run] = runs
    differences = _differences(run)
    caught, clean = tuple(_named(rule, cut(run, FIRST_LOOK).findings())), not _named(rule, run.findings())
    if len(differences) < FIRST_LOOK:
        return LessonResult("too few pairs could be measured.", False, caught, clean)
    random = np.random.default_rng(run.experiment.design.seed)
    replays = random.permuted(np.tile(np.abs(differences), (REPLAYS, 1)), axis=1)
    replays *= random.choice((-1.0, 1.0), replays.shape)
    stops = peeked(replays)
    early = stops[stops > 0]
    once = int((sign_flips(replays).p < 1 - CONFIDENCE).sum())
    typical = ""
    if early.size:
        late = float((early >= ADVISED).mean())
        typical = f", typically after {int(np.median(early))} pairs ({late:.0%} after {ADVISED} or more)"
    flawed, honest = len(early) / REPLAYS, once / REPLAYS
    return LessonResult(
        f"identical code, {REPLAYS} campaigns drawn from its {len(differences)} pairs: who tests after every"
        f" pair calls {flawed:.0%} of them different{typical}; who tests once, as planned, {honest:.0%}.",
        flawed > 2 * honest and flawed > 1 - CONFIDENCE,
        caught,
        clean,
        flawed,
        honest,
        seen=Observations(
            "pairs after which identical code is called different",
            {
                "tested after every pair": early.tolist(),
                "tested once": [len(differences)] * once,
            },
        ),
    )


REPLAYS = 300


def _differences(run: LessonCampaign) -> list[float]:
    value_of = metric(run.experiment.comparison.metric)
    pairs = zip(*_versions([run]), strict=False)
    values = [(value_of(a), value_of(b)) for a, b in pairs]
    return [math.log(a / b) for a, b in values if a and b and a > 0 and b > 0]


def one_process(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge intervals from repetitions within one process, by processes that ran the same code."""
    [run] = runs
    series = [_series(run, trial) for trial in run.trials if trial.status == "valid"]
    series = [values for values in series if len(values) > 1]
    if len(series) < 2:
        return LessonResult("too few processes could be measured.", False, (), clean=False)
    naive = [interval for values in series if (interval := student_interval(values)) is not None]
    pairs = [*combinations(naive, 2)]
    share = sum(a.high < b.low or b.high < a.low for a, b in pairs) / len(pairs)
    alone = _of_saved(rule, "the flawed harness", [("the code", series[0])])
    apart = _of_saved(rule, "the honest harness", [("the code", (mean(values),)) for values in series])
    return LessonResult(
        f"{counted(naive, 'process', 'processes')} ran the same code, each with a 95% interval from its own"
        f" {len(series[0])} repetitions: {share:.0%} of pairs of these intervals do not even overlap.",
        share > 2 * (1 - CONFIDENCE),
        tuple(alone),
        not apart,
        share,
        1 - CONFIDENCE,
        seen=Observations(
            "operations of a repetition",
            {f"process {number}": values for number, values in enumerate(series, start=1)},
        ),
    )


def baseline_first(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge a comparison that ran all of the baseline before all of the rest, by turns in random order.

    All trials ran the same code. In the order in which they ran, the first half is what would have been the
    baseline, and the second half what is compared with it.
    """
    [run] = runs
    value_of = metric(run.experiment.comparison.metric)
    honest = _differences(run)
    if not honest:
        return LessonResult("too few pairs could be measured.", False, (), clean=False)
    in_time = [
        (str(trial.levels[VERSION]), value)
        for trial in sorted(run.trials, key=lambda trial: trial.started_at)
        if (value := value_of(trial)) is not None and value > 0
    ]
    logs = [math.log(value) for _, value in in_time]
    claim, by_turns = halves(logs), math.exp(mean(honest))
    middle = len(logs) // 2
    one_by_one = [("first" if at < middle else "second", (value,)) for at, (_, value) in enumerate(in_time)]
    first_then_second = _of_saved(rule, "the flawed harness", one_by_one)
    in_turns = _of_saved(rule, "the honest harness", [(version, (value,)) for version, value in in_time])
    return LessonResult(
        f"identical code: the half of its trials that ran last has {claim:.4g} times the throughput of the"
        " other half;"
        f" by turns in random order it is {by_turns:.4g} times.",
        abs(math.log(claim)) > abs(math.log(by_turns)),
        tuple(first_then_second),
        not in_turns,
        claim,
        by_turns,
        claim / by_turns,
        seen=Observations(
            "throughput, operations a second",
            {"ran first": np.exp(logs[:middle]).tolist(), "ran last": np.exp(logs[middle:]).tolist()},
        ),
    )


def halves(logs: Sequence[float]) -> float:
    """Return the ratio of the geometric means of the second half of some logarithms and of the first."""
    middle = len(logs) // 2
    return math.exp(mean(logs[middle:]) - mean(logs[:middle])) if middle else 1.0


def student_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95% interval of the mean that holds if values were independent and bell-shaped."""
    from scipy.stats import ttest_1samp  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    if len(values) < 2:
        return None
    interval = ttest_1samp(values, 0).confidence_interval(CONFIDENCE)
    return Interval(float(interval.low), float(interval.high), CONFIDENCE)


def _series(run: LessonCampaign, trial: StoredTrial) -> list[float]:
    """Return the operations of a trial's whole intervals; the end cuts the last one."""
    threads = run.result(trial.id).get("threads", ())
    return [
        float(sum(counts)) for counts in zip(*(thread["series"][:-1] for thread in threads), strict=False)
    ]


def two_modes(rule: str, runs: Sequence[LessonCampaign]) -> LessonResult:
    """Judge a mean of values that gather in two places by how far it is from any value."""
    caught, clean = _of_versions(rule, runs)
    value_of = metric(runs[0].experiment.comparison.metric)
    sides = [[value for trial in run.trials if (value := value_of(trial)) is not None] for run in runs]
    if not all(sides):
        return LessonResult("nothing could be measured.", False, caught, clean)
    flawed, honest = map(distance_to_mean, sides)
    center = number(mean(sides[0]))
    return LessonResult(
        f"the mean of {counted(sides[0], 'trial')} is {center} ns an operation, and the nearest"
        f" trial is {flawed:.0%} away from it; of the version with one mode {honest:.0%}.",
        flawed > 0.1 and flawed > honest,
        caught,
        clean,
        flawed,
        honest,
        seen=_of_both("ns an operation", sides),
    )


def distance_to_mean(values: Sequence[float]) -> float:
    """Return how far the value nearest to the mean of all is away from it, as a share of the mean."""
    center = mean(values)
    return min(abs(value - center) for value in values) / abs(center) if center else 0.0


def _of_saved(rule: str, tool: str, measured: Sequence[tuple[str, Sequence[float]]]) -> list[Finding]:
    """Return what a rule for other tools' results says of what a harness would have saved of some processes.

    Args:
        rule: the rule's id.
        tool: what the harness is called.
        measured: the benchmark that each process ran and its samples, in the order in which they ran.
    """
    audit_samples = added("assay_course.samples")["foreign"].load()
    processes: dict[str, list[Sequence[float]]] = {}
    for name, samples in measured:
        processes.setdefault(name, []).append(samples)
    changes = sum(before != after for (before, _), (after, _) in pairwise(measured))
    return _named(rule, audit_samples(tool, processes, randomised=changes >= len(processes)))


def _of_both(what: str, sides: Sequence[Sequence[float]]) -> Observations:
    """Return the numbers of the flawed version and of the honest one, which come in this order."""
    return Observations(what, dict(zip((FLAWED, HONEST), sides, strict=True)))


def _versions(runs: Sequence[LessonCampaign]) -> tuple[list[StoredTrial], list[StoredTrial]]:
    """Return the flawed and the honest trials: of one campaign, or of one each."""
    if len(runs) == 1:
        return runs[0].trials_of(FLAWED), runs[0].trials_of(HONEST)
    flawed, honest = ([*run.trials] for run in runs)
    return flawed, honest


def _of_versions(rule: str, runs: Sequence[LessonCampaign]) -> tuple[tuple[Finding, ...], bool]:
    """Return what a rule says of the flawed version, and whether it is silent about the honest one."""
    found = [_named(rule, run.findings()) for run in runs]
    if len(runs) == 2:
        return tuple(found[0]), not found[1]
    [findings] = found
    return tuple(_about(findings, FLAWED)), not _about(findings, HONEST)


def _about(findings: Iterable[Finding], version: str) -> list[Finding]:
    return [
        finding for finding in findings if any(f"{VERSION}={version}" in place for place in finding.where)
    ]


def _named(rule: str, findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule == rule]


def _within(interval: Interval | None) -> str:
    return "" if interval is None else f" ({ratio(interval.low)} to {ratio(interval.high)})"
