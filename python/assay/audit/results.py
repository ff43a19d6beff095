"""Rules about the conclusions that the results allow."""

from collections.abc import Iterator

from assay.audit.limits import limited, typical
from assay.audit.sources import ANOMALIES, BENCHMARKING, RANDOMNESS
from assay.audit.types import Evidence, of_places, rule
from assay.findings import Finding, Severity
from assay.store.types import StoredTrial
from assay.words import condition_name, counted


@rule(
    "several-clusters",
    "Medians that are not typical",
    f"{BENCHMARKING}, central tendency; Hartigan & Hartigan, The Dip Test of Unimodality, 1985",
)
def several_clusters(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions without a typical value."""
    conditions = evidence.analysis.conditions
    scattered = [condition for condition in conditions if condition.shape.note]
    if scattered:
        yield Finding(
            f"In {len(scattered)} of {counted(conditions, 'condition')} the median of"
            f" {evidence.analysis.metric} is not a typical value.",
            tuple(f"{condition_name(condition.levels)}: {condition.shape.note}" for condition in scattered),
            {
                "conditions": len(scattered),
                "most_clusters": max(len(condition.shape.clusters) for condition in scattered),
            },
            "Do not quote these medians: show the distribution. Where the host has modes, read the verdicts"
            " by mode.",
        )


@rule("verdicts-differ-by-mode", "Verdicts depend on the host's mode", "docs/statistics.md")
def verdicts_differ_by_mode(evidence: Evidence) -> Iterator[Finding]:
    """Find comparisons whose verdict depends on the host's mode, or on the groups that do not count."""
    analysis = evidence.analysis
    contradicting: list[str] = []
    depending: list[str] = []
    opposite = False
    for comparison in (*analysis.comparisons, *analysis.rungs, *analysis.also):
        name = f"{comparison.metric}, {evidence.name_of(comparison.context, comparison.level)}"
        others = {"with all groups": comparison.all_groups} | {
            f"in {mode} mode": estimate for mode, estimate in comparison.modes.items()
        }
        # As many pairs are the same pairs: only the family's other comparisons could then differ.
        verdicts = {"without mixed groups": comparison.verdict} | {
            where: estimate.verdict
            for where, estimate in others.items()
            if estimate.pairs != comparison.pairs
        }
        called = {
            where: evidence.verdict_word(verdict, comparison.metric) for where, verdict in verdicts.items()
        }
        decided = {*verdicts.values()} - {"undecided"}
        if len(decided) > 1:
            opposite |= {"faster", "slower"} <= decided
            contradicting.append(f"{name}: {', '.join(f'{word} {where}' for where, word in called.items())}")
        elif comparison.verdict != "undecided" == verdicts.get("with all groups"):
            depending.append(
                f"{name}: {called['without mixed groups']} without mixed groups, undecided with them"
            )
    yield from of_places(
        contradicting,
        "comparisons",
        f"{counted(contradicting, 'comparison')} would have another verdict in another mode of the host"
        " or with other groups.",
        "Say in which mode a verdict holds; a host of your own, without modes, gives one answer.",
        "error" if opposite else "warning",
    )
    yield from of_places(
        depending,
        "comparisons",
        f"{counted(depending, 'comparison')} would be undecided if the groups in which the host changed"
        " its mode were not left out.",
        "Run more blocks until both agree.",
        "note",
    )


@rule("subject-against", "Some workloads contradict the overall result", f"{RANDOMNESS}, section 3.3")
def subject_against(evidence: Evidence) -> Iterator[Finding]:
    """Find workloads that contradict the verdict over all workloads."""
    against = [
        (aggregate, workload, verdict)
        for aggregate in evidence.analysis.aggregates
        for workload, verdict in aggregate.against
    ]
    if against:
        certain = sum(verdict in ("faster", "slower") for _, _, verdict in against)
        severity: Severity = "warning" if certain else "note"
        contradict = "contradicts" if len(against) == 1 else "contradict"
        yield Finding(
            f"{counted(against, 'workload')} {contradict} the overall result; {certain or 'none'} with a"
            f" verdict of {'their' if certain > 1 else 'its'} own.",
            tuple(
                f"{condition_name({**aggregate.context, evidence.analysis.factor: aggregate.level})},"
                f" {condition_name(workload)}: {evidence.verdict_word(verdict, aggregate.metric)},"
                f" over all {evidence.verdict_word(aggregate.verdict, aggregate.metric)}"
                for aggregate, workload, verdict in against
            ),
            {"workloads": len(against), "certain": certain},
            "Name these workloads wherever you quote the overall ratio.",
            severity,
        )


_LARGEST_RATIO = 10.0
_LEAST_BYTES = 2**20  # a baseline's least: less is pages of code and the allocator's arenas


@limited(
    "memory-use",
    "Memory use differs by an order of magnitude",
    f"{ANOMALIES}, section 5",
    "In {conditions} memory may not be given back: what is in use is more than {limit} that of {baseline},"
    " {worst} at worst.",
    "Look at memory as well as throughput, in longer trials too: a subject that leaks gets slower or fails"
    " later.",
    limit=_LARGEST_RATIO,
    shown="{:.3g} times".format,
    severity="note",
    evidence_name="worst_ratio",
)
def memory_use(evidence: Evidence) -> dict[str, float]:
    """Return name of condition -> its memory in use relative to its baseline's, if both are known."""

    def used(_evidence: Evidence, trial: StoredTrial) -> float | None:
        before, peak = map(trial.metrics.get, ("resident_before_bytes", "peak_resident_bytes"))
        return None if before is None or peak is None else peak - before

    typical_bytes = typical(used)(evidence)
    experiment = evidence.experiment
    baselines = experiment.baseline_by_context()
    ratios = {}
    for condition in experiment.conditions():
        baseline = baselines.get(experiment.context(condition))
        name = condition_name(condition)
        compared_with = condition_name({**condition, experiment.comparison.factor: baseline})
        if name in typical_bytes and compared_with in typical_bytes:
            ratios[name] = typical_bytes[name] / max(typical_bytes[compared_with], _LEAST_BYTES)
    return ratios
