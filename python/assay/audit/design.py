"""Rules about what an experiment asks for. They can be checked before it runs."""

from collections.abc import Iterator
from math import ceil, log2

from assay.analysis import CONFIDENCE
from assay.analysis.sequential import looks
from assay.audit.types import Evidence, Finding, condition_name
from assay.audit.wording import ANOMALIES, REASONABLE_TIME, TYPICAL_VALUES, counted


def pairs_needed(comparisons: int, level: float) -> int:
    """Return the pairs with which a family of comparisons can reach a verdict at all.

    The smallest two-sided p-value of n pairs is 2 / 2**n, and Holm's correction multiplies the smallest
    p-value of the family by the number of comparisons.
    """
    return ceil(log2(2 * comparisons / level))


class TooFewBlocks:
    """Comparisons with so few pairs that no verdict is possible, or one odd trial decides it."""

    id = "too-few-blocks"
    title = "Too few blocks"
    source = f"{TYPICAL_VALUES}; {REASONABLE_TIME}"

    advised = 10  # up to here the 95% interval ends within the most extreme 2.5% of fewer than 1024 means

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for comparisons below what is needed, and one for those below what is advised."""
        asked = evidence.experiment.comparison
        pairs = _pairs(evidence)
        needed = pairs_needed(1, _level(evidence))
        for severity, low, high, effect in (
            ("error", 0, needed, "give no 95% interval"),
            ("warning", needed, self.advised, "give a fragile 95% interval"),
        ):
            few = {name: count for name, count in pairs.items() if low <= count < high}
            if few:
                yield Finding(
                    self.id,
                    f"{len(few)} of {len(pairs)} comparisons with {asked.baseline} have fewer than {high}"
                    f" pairs, which {effect}.",
                    tuple(f"{name}: {count}" for name, count in few.items()),
                    {"comparisons": len(few), "fewest_pairs": min(few.values())},
                    f"Set design.blocks to {max(needed, self.advised)} or more, and see to trials that do not"
                    " count.",
                    "error" if severity == "error" else "warning",
                )


class FamilyTooLarge:
    """So many comparisons that their correction leaves none that could come out."""

    id = "family-too-large"
    title = "Too many comparisons for so few blocks"
    source = "Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979; docs/statistics.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding if the smallest possible p-value of the family is above the level."""
        if evidence.experiment.comparison.correction == "none":
            return
        pairs, level = _pairs(evidence), _level(evidence)
        most = max(pairs.values(), default=0)
        needed = pairs_needed(len(pairs), level) if pairs else 0
        if pairs_needed(1, level) <= most < needed:
            yield Finding(
                self.id,
                f"With {counted(most, 'pair')} none of {len(pairs)} comparisons can come out faster or"
                f" slower: the smallest p-value is {2 / 2**most:.2%}, which their number corrects to"
                f" {len(pairs) * 2 / 2**most:.2%}; it takes {100 * level:.2g}%.",
                (),
                {"comparisons": len(pairs), "pairs": most, "pairs_needed": needed},
                f"Set design.blocks to {needed} or more, or ask less in one experiment.",
                "error",
            )


class ShortTrials:
    """Trials so short that a single turn of the scheduler weighs in them."""

    id = "short-trials"
    title = "Trials are short"
    source = "docs/guide/audit/short-trials.md"

    least_ms = 50  # five ticks of the slowest usual kernel, 100 a second

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions whose program follows the trial protocol."""
        experiment = evidence.experiment
        where = {}
        for condition in experiment.conditions():
            settings = experiment.settings(condition)
            program = experiment.programs.get(settings["subject"])
            if (program is None or program.extract == "protocol") and settings["duration_ms"] < self.least_ms:
                where[condition_name(condition)] = settings["duration_ms"]
        if where:
            yield Finding(
                self.id,
                f"The measured interval of {counted(where, 'condition')} is shorter than {self.least_ms} ms,"
                f" {min(where.values())} ms at least: one lost turn on a processor changes such a trial by"
                " percents.",
                tuple(f"{name}: {duration} ms" for name, duration in where.items()),
                {"conditions": len(where), "shortest_ms": min(where.values())},
                f"Set trial.duration_ms to {self.least_ms} or more; a second is usual.",
            )


class Oversubscribed:
    """More threads than processors to run them on."""

    id = "oversubscribed"
    title = "More threads than processors"
    source = f"{ANOMALIES}, section 3"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions; none where the number of processors is unknown."""
        where, most = [], 0
        for condition in evidence.experiment.conditions():
            settings = evidence.experiment.settings(condition)
            threads = settings["threads"]
            processors = processors_of(settings["pinning"], evidence.host.get("processors"))
            if processors and threads > processors:
                where.append(f"{condition_name(condition)}: {threads} threads on {processors}")
                most = max(most, threads)
        if where:
            yield Finding(
                self.id,
                f"Up to {most} threads run on fewer processors in {counted(where, 'condition')}, which"
                " measure the operating system's scheduler as well.",
                tuple(where),
                {"conditions": len(where), "threads": most},
                "Leave these conditions out, or say that oversubscription is what you study.",
            )


class Unpinned:
    """Threads that the operating system may move."""

    id = "unpinned"
    title = "Threads are not pinned"
    source = f"{ANOMALIES}, section 7.1"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions."""
        experiment = evidence.experiment
        where = tuple(
            condition_name(condition)
            for condition in experiment.conditions()
            if experiment.settings(condition)["pinning"] == "none"
        )
        if where:
            yield Finding(
                self.id,
                f"The operating system chooses and changes the processors in {counted(where, 'condition')}.",
                where,
                {"conditions": len(where)},
                'Set pinning to "cores_first", or to another policy that pins.',
            )


def processors_of(pinning: str | list[int], available: int | None) -> int | None:
    """Return how many processors the threads of a trial have; None where that is unknown."""
    if isinstance(pinning, list):
        return min(len(set(pinning)), available or len(pinning))
    return available


def _pairs(evidence: Evidence) -> dict[str, int]:
    """Return name of a compared condition -> the pairs that its verdict rests on, or will at most."""
    experiment = evidence.experiment
    return {
        evidence.name_of(comparison.context, comparison.level): (
            comparison.pairs if evidence.has_run else experiment.design.blocks.most
        )
        for comparison in evidence.analysis.comparisons
    }


def _level(evidence: Evidence) -> float:
    """Return the error rate of the look at the results that the verdicts rest on, or that sees all blocks."""
    if not evidence.has_run:
        return 1 - looks(evidence.experiment.design.blocks)[-1].confidence
    look = evidence.analysis.look
    return 1 - (look.confidence if look else CONFIDENCE)
