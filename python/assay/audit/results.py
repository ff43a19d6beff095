"""Rules about what the results allow to be said."""

from collections.abc import Iterator

from assay.analysis import Verdict, median
from assay.audit.sources import ANOMALIES, BENCHMARKING, RANDOMNESS
from assay.audit.types import Evidence
from assay.findings import Finding, Severity
from assay.words import condition_name, counted


class SeveralModes:
    """Conditions of which no single value is typical."""

    id = "several-modes"
    title = "Values have no typical one"
    source = f"{BENCHMARKING}, central tendency; Hartigan & Hartigan, The Dip Test of Unimodality, 1985"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions, and why the median is not typical of each."""
        found = [condition for condition in evidence.analysis.conditions if condition.shape.note]
        if found:
            yield Finding(
                self.id,
                f"In {len(found)} of {counted(evidence.analysis.conditions, 'condition')} the median of"
                f" {evidence.analysis.metric} is not a typical value.",
                tuple(f"{condition_name(condition.levels)}: {condition.shape.note}" for condition in found),
                {
                    "conditions": len(found),
                    "most_clusters": max(len(condition.shape.clusters) for condition in found),
                },
                "Quote no median of these: show the distribution. Where the host has modes, read the verdicts"
                " by mode.",
            )


class VerdictsDifferByMode:
    """Comparisons whose answer depends on the mode of the host, or on the groups that are left out."""

    id = "verdicts-differ-by-mode"
    title = "Verdicts depend on the host's mode"
    source = "docs/statistics.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for contradicting verdicts, one for those that take the exclusions."""
        analysis = evidence.analysis
        contradicting: dict[str, frozenset[Verdict]] = {}
        hanging = []
        for comparison in (*analysis.comparisons, *analysis.also):
            name = f"{comparison.metric}, {evidence.name_of(comparison.context, comparison.level)}"
            others = {
                "with all groups": comparison.all_groups,
                **{f"in {mode} mode": estimate for mode, estimate in comparison.modes.items()},
            }
            # As many pairs are the same pairs: only the family's other comparisons could then differ.
            said = {"without mixed groups": comparison.verdict} | {
                where: estimate.verdict
                for where, estimate in others.items()
                if estimate.pairs != comparison.pairs
            }
            decided = frozenset[Verdict](said.values()) - {"undecided"}
            if len(decided) > 1:
                listed = ", ".join(f"{verdict} {where}" for where, verdict in said.items())
                contradicting[f"{name}: {listed}"] = decided
            elif (
                comparison.all_groups.verdict == "undecided" != comparison.verdict
                and comparison.all_groups.pairs != comparison.pairs
            ):
                hanging.append(f"{name}: {comparison.verdict} without mixed groups, undecided with them")
        if contradicting:
            opposite = any({"faster", "slower"} <= decided for decided in contradicting.values())
            yield Finding(
                self.id,
                f"{counted(contradicting, 'comparison')} would come out differently in another mode of the"
                " host or with other groups.",
                tuple(contradicting),
                {"comparisons": len(contradicting)},
                "Say in which mode a verdict holds; a host of your own, without modes, gives one answer.",
                "error" if opposite else "warning",
            )
        if hanging:
            yield Finding(
                self.id,
                f"Whether {counted(hanging, 'comparison')} {'has' if len(hanging) == 1 else 'have'} a verdict"
                " depends on leaving out the groups in which the host changed its mode.",
                tuple(hanging),
                {"comparisons": len(hanging)},
                "Run more blocks until both agree.",
                "note",
            )


class SubjectAgainst:
    """Workloads that go the other way than the verdict over all workloads."""

    id = "subject-against"
    title = "Some workloads go the other way"
    source = f"{RANDOMNESS}, section 3.3, figure 4"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the workloads."""
        against = [
            (aggregate, workload, verdict)
            for aggregate in evidence.analysis.aggregates
            for workload, verdict in aggregate.against
        ]
        if against:
            certain = sum(verdict in ("faster", "slower") for _, _, verdict in against)
            severity: Severity = "warning" if certain else "note"
            yield Finding(
                self.id,
                f"{counted(against, 'workload')} {'goes' if len(against) == 1 else 'go'} the other way than"
                f" the ratio over all workloads, {certain} of them with a verdict of"
                f" {'its' if certain == 1 else 'their'} own.",
                tuple(
                    f"{condition_name({**aggregate.context, evidence.analysis.factor: aggregate.level})},"
                    f" {condition_name(workload)}: {verdict}, over all {aggregate.verdict}"
                    for aggregate, workload, verdict in against
                ),
                {"workloads": len(against), "certain": certain},
                "Name these workloads wherever you quote the ratio over all of them.",
                severity,
            )


class MemoryUse:
    """Subjects that buy their speed with memory, or never give it back."""

    id = "memory-use"
    title = "Memory use differs by an order of magnitude"
    source = f"{ANOMALIES}, section 5"

    limit = 10.0
    least = (
        2**20
    )  # what a baseline counts for that needs less, bytes: pages of code and the allocator's arenas

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for conditions whose typical use is above the limit times the baseline's."""
        asked = evidence.experiment.comparison
        used: dict[str, float] = {}
        for name, trials in evidence.valid_by_condition.items():
            known = [
                trial.metrics["peak_resident_bytes"] - trial.metrics["resident_before_bytes"]
                for trial in trials
                if {"peak_resident_bytes", "resident_before_bytes"} <= trial.metrics.keys()
            ]
            if known:
                used[name] = median(known)
        found = {}
        baselines = evidence.experiment.baseline_by_context()
        for condition in evidence.experiment.conditions():
            name = condition_name(condition)
            own = used.get(name)
            baseline = baselines.get(evidence.experiment.context(condition), condition[asked.factor])
            base = used.get(condition_name({**condition, asked.factor: baseline}))
            if own is not None and base is not None and own > self.limit * max(base, self.least):
                found[name] = own / max(base, self.least)
        if found:
            worst = max(found.values())
            yield Finding(
                self.id,
                f"In {counted(found, 'condition')} the memory in use is more than {self.limit:g} times that"
                f" of {asked.against()}, {worst:.3g} times at worst: memory may not be given back.",
                tuple(f"{name}: {times:.3g} times" for name, times in found.items()),
                {"conditions": len(found), "worst_ratio": worst},
                "Look at the memory beside the throughput, in longer trials too: what leaks gets slower or"
                " fails later.",
                "note",
            )
