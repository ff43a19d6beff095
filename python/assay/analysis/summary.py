"""From a campaign's trials to medians and verdicts."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from operator import attrgetter

from assay.analysis.aggregate import (
    WorkloadGroup,
    aggregate,
    dropped_blocks,
    samples_of,
    wholes,
    withheld_of,
)
from assay.analysis.busy import is_busy, without_busy
from assay.analysis.hosts import answers_of_hosts, on_one_scale, typical
from assay.analysis.intervals import CONFIDENCE, median
from assay.analysis.modes import host_modes
from assay.analysis.pairs import (
    OfCondition,
    Pairs,
    PlannedComparison,
    by_condition,
    by_context,
    by_host,
    condition_key,
    counted_trials,
    failures,
    pairs,
    planned_comparisons,
    rungs,
)
from assay.analysis.population import FEWEST_HOSTS
from assay.analysis.sensitivity import pathological
from assay.analysis.sequential import reached, sharing, waits
from assay.analysis.types import (
    Aggregate,
    Analysis,
    Comparison,
    ConditionSummary,
    Estimate,
    HostMode,
    HostModes,
    Pathology,
)
from assay.analysis.verdicts import Better, Question, decide
from assay.collection import paused
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial, representative


@paused()
def summarise(trials: Iterable[StoredTrial], experiment: Experiment, hosts_planned: int = 1) -> Analysis:
    """Summarise the compared metric of every condition, and compare levels with the baseline.

    Only valid trials count. In a comparison, a group counts only if the trials of both levels count and its
    calibrations agree. If any trial is not valid, no comparison of its condition has a verdict, unless the
    experiment accepts it. Conditions are summarised from all trials; comparisons and the host's modes use the
    blocks of the current look. The order of `trials` does not matter.

    If several hosts ran them, medians are of the hosts' medians, and modes are found on each host. From
    `FEWEST_HOSTS` hosts on, the comparisons are about the population of hosts, else about these alone.

    Args:
        trials: those that have ended.
        experiment: what they measure.
        hosts_planned: for how many hosts the campaign is planned; some may have no trial yet.
    """
    trials = sorted(trials, key=attrgetter("ordinal"))
    conditions = by_condition(trials, experiment)
    design = experiment.comparison
    main = [(target, design.metric, design.better) for target in planned_comparisons(experiment)]
    also = [(target, metric, better) for metric, better in design.also.items() for target, *_ in main]
    of_ladders = [(target, design.metric, design.better) for target in rungs(experiment)]
    together = wholes([(target.context, target.level) for target, *_ in main], experiment)
    complete = _complete_blocks(conditions.values(), experiment, hosts_planned)
    look = reached(experiment.design, complete, sharing(design, experiment.design, len(main) + len(together)))
    waiting = waits(experiment.design, complete) if look is None else ""
    counting = without_busy(trials, experiment)
    counted = counted_trials(counting, look)
    modes = host_modes(counted, experiment)
    groups = by_context(counted, experiment)
    failed = failures(conditions.values(), experiment)

    def pairs_of(target: PlannedComparison, of_metric: str) -> Pairs:
        return pairs(groups, target, of_metric, failed)

    summaries = tuple(
        _summarise_condition(
            levels, conditions.get(condition_key(levels, experiment), OfCondition([], {})), experiment
        )
        for levels in experiment.conditions()
    )
    hosts = dict(Counter(trial.ran_on or "" for trial in counted))
    further = Question(
        design.smallest_effect_percent,
        design.correction,
        look,
        waiting,
        campaigns=design.campaigns,
        population=len(hosts) >= FEWEST_HOSTS,
    )
    of_main = replace(further, smallest_effect=design.smallest_effect)
    question = replace(of_main, gate_percent=design.gate_percent)
    comparisons, aggregates, chosen = _compare(main, together, pairs_of, question, modes)
    of_hosts = None
    if len(hosts) > 1:
        of_hosts = answers_of_hosts(hosts, chosen, together, design.better, question)
    return Analysis(
        metric=design.metric,
        factor=design.factor,
        baseline=design.against(),
        better=design.better,
        smallest_effect_percent=design.smallest_effect_percent,
        smallest_effect=design.smallest_effect,
        hosts=of_hosts,
        confidence=CONFIDENCE,
        conditions=summaries,
        comparisons=comparisons,
        also=_compare(also, [], pairs_of, further, modes)[0],
        aggregates=aggregates,
        look=look,
        host_modes=modes,
        waits=waiting,
        busy=experiment.design.busy != "count"
        and not design.host_independent
        and _withheld_where_busy(comparisons, summaries, design.factor),
        gate_percent=design.gate_percent,
        rungs=_compare(of_ladders, [], pairs_of, of_main, modes)[0],
    )


def _complete_blocks(conditions: Iterable[OfCondition], experiment: Experiment, hosts_planned: int) -> int:
    """Return how many blocks, counted from the first, have a trial of every condition on every host."""
    seen: Counter[int] = Counter()
    hosts = set(range(hosts_planned))
    for condition in conditions:
        places = {(trial.host_number, trial.block) for trial in condition.trials}
        hosts.update(host for host, _ in places)
        seen.update(block for _, block in places)
    complete = len(hosts) * len(experiment.conditions())
    return next(block for block in count() if seen[block] < complete)


def _withheld_where_busy(
    comparisons: Iterable[Comparison], conditions: Iterable[ConditionSummary], factor: str
) -> bool:
    """Return whether a comparison is withheld of which a side lost too much time.

    One busy host of several withholds nothing: the comparison rests on the others.
    """
    busy = [dict(condition.levels) for condition in conditions if is_busy(condition.lost)]
    return any(
        {**comparison.context, factor: side} in busy
        for comparison in comparisons
        if comparison.withheld
        for side in (comparison.level, comparison.baseline)
    )


def _summarise_condition(
    levels: Mapping[str, Level], condition: OfCondition, experiment: Experiment
) -> ConditionSummary:
    design = experiment.comparison
    trials, hosts = condition.trials, condition.hosts.values()
    valid = [trial for trial in trials if trial.status == "valid"]
    of_host = {host: _finite(members, design.metric) for host, members in by_host(valid).items()}
    values = [value for members in of_host.values() for value in members]
    center, interval, of_shape = typical(of_host)
    share = design.pathological
    return ConditionSummary(
        levels=levels,
        counts=dict(Counter(trial.status for trial in trials)),
        values=len(values),
        missing=len(valid) - len(values),
        median=center,
        interval=interval,
        shape=of_shape,
        lost=max((there.lost for there in hosts if there.lost is not None), default=None),
        pathological=None
        if share is None
        else worse_than_share(_outcomes(valid, design.metric), share, design.better),
        idle=next((there.idle for there in hosts if there.idle), ""),
        of_host={host: median(found) for host, found in of_host.items() if found} if len(hosts) > 1 else {},
    )


def _outcomes(valid: Sequence[StoredTrial], metric: str) -> list[float]:
    """Return the values that may be pathological, as if all hosts were equally fast."""
    hosts = by_host(representative(valid))
    return on_one_scale({host: _finite(members, metric) for host, members in hosts.items()})


def worse_than_share(values: Sequence[float], share: float, better: Better) -> Pathology | None:
    """Return the probability that a value is worse than a share of the median.

    A median does not show it: in 7% of Blackwell's configurations (1998, section 3.1) one side starves. If
    lower is better, a value is worse if it is above the median divided by the share.

    Args:
        values: finite values of one condition.
        share: above 0 and below 1.

    Returns:
        None without values, or if their median is not above 0.
    """
    center = median(values) if values else 0.0
    if center <= 0:
        return None
    return pathological(values, center * share if better == "higher" else center / share, better)


def _finite(trials: Iterable[StoredTrial], metric: str) -> list[float]:
    values = (trial.metrics.get(metric) for trial in trials)
    return [value for value in values if value is not None and math.isfinite(value)]


def _compare(
    family: Sequence[tuple[PlannedComparison, str, Better]],
    together: Sequence[WorkloadGroup],
    pairs_of: Callable[[PlannedComparison, str], Pairs],
    question: Question,
    modes: HostModes | None,
) -> tuple[tuple[Comparison, ...], tuple[Aggregate, ...], list[Pairs]]:
    """Return the comparisons of a family, the aggregates that combine some, and the pairs that count."""
    better = [better for *_, better in family]
    better += [better[whole.members[0]] for whole in together]
    by_difference = question.smallest_effect is not None

    def estimated(chosen: Sequence[Pairs]) -> list[Estimate]:
        """Return the estimates of the family from some of its pairs."""
        samples = samples_of(chosen, together, by_difference=by_difference)
        return decide(samples, better, question, withheld)

    all_pairs = [pairs_of(target, metric) for target, metric, _ in family]
    withheld = withheld_of(all_pairs, together)
    counted = [of_level.without_mixed(modes) for of_level in all_pairs]
    decided = estimated(counted)
    all_groups = decided if counted == all_pairs else estimated(all_pairs)
    in_mode: dict[HostMode, list[Estimate]] = {}
    if modes is not None:
        in_mode = {
            mode: estimated([of_level.in_mode(modes, mode) for of_level in all_pairs])
            for mode in modes.centers
        }
    comparisons = tuple(
        Comparison(
            metric=metric,
            context=target.context,
            level=target.level,
            baseline=target.baseline,
            dropped=counted[index].dropped,
            withheld=bool(withheld[index]),
            all_groups=all_groups[index],
            modes={mode: of_mode[index] for mode, of_mode in in_mode.items()},
            **vars(decided[index]),
        )
        for index, (target, metric, _) in enumerate(family)
    )
    aggregates = tuple(
        aggregate(
            whole,
            comparisons,
            decided[index],
            dropped_blocks([counted[member] for member in whole.members]),
            withheld=bool(withheld[index]),
        )
        for index, whole in enumerate(together, len(family))
    )
    return comparisons, aggregates, counted
