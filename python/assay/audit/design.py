"""Rules about the design of an experiment. They can be checked before it runs."""

from collections.abc import Iterator, Sequence
from itertools import chain, count

from assay.analysis import CONFIDENCE, Comparison, median, summarise
from assay.analysis.sequential import looks, sharing
from assay.analysis.verdicts import fewest_pairs
from assay.audit.limits import limited
from assay.audit.sources import ANOMALIES, RANDOMNESS, REASONABLE_TIME, TYPICAL_VALUES
from assay.audit.types import Evidence, of_places, rule
from assay.experiment import Experiment, placeholders
from assay.experiment.perturb import movable
from assay.findings import Finding, Severity
from assay.words import agreed, counted

ADVISED = 10
"""With fewer pairs, the end of a 95% interval is among the most extreme 2.5% of fewer than 1024 means."""


@rule("too-few-blocks", "Too few blocks", f"{TYPICAL_VALUES}; {REASONABLE_TIME}")
def too_few_blocks(evidence: Evidence) -> Iterator[Finding]:
    """Find comparisons with so few pairs that no verdict is possible, or that one odd trial decides it.

    In a sensitivity experiment, blocks are replicates, and the result rests on the configurations.
    """
    if evidence.experiment.varied:
        return
    baseline = evidence.experiment.comparison.against()
    comparisons = [comparison for comparison in evidence.analysis.comparisons if not comparison.withheld]
    names = [evidence.name_of(comparison.context, comparison.level) for comparison in comparisons]
    pairs = dict(zip(names, _pairs(evidence, comparisons), strict=True))
    needed = fewest_pairs(1, _confidence(evidence))
    lost = any(trial.status != "valid" for trial in evidence.trials)
    remedy = f"{_more_blocks(evidence)}{'; fix the invalid trials' if lost else ''}."
    bounds: tuple[tuple[Severity, int, int, str], ...] = (
        ("error", 0, needed, "can have no verdict"),
        ("warning", needed, ADVISED, "may be decided by one odd trial"),
    )
    for severity, low, high, effect in bounds:
        few = {name: count for name, count in pairs.items() if low <= count < high}
        if few:
            yield Finding(
                f"{len(few)} of {counted(pairs, 'comparison')} with {baseline} {effect}:"
                f" {agreed(few, 'it has', 'they have')} fewer than {high} pairs.",
                tuple(f"{name}: {count}" for name, count in few.items()),
                {"comparisons": len(few), "fewest_pairs": min(few.values())},
                remedy,
                severity,
            )


@rule(
    "family-too-large",
    "Too many comparisons for the blocks",
    "Bonferroni's inequality; docs/statistics.md, Families",
)
def family_too_large(evidence: Evidence) -> Iterator[Finding]:
    """Find families with too many comparisons for their pairs: there are no joint intervals."""
    if evidence.experiment.comparison.correction == "none":
        return
    confidence = _confidence(evidence)
    analysis = evidence.analysis
    families: tuple[tuple[tuple[Comparison, ...], int, str, Severity], ...] = (
        (analysis.comparisons, _family(evidence), "comparisons", "error"),
        (analysis.rungs, len(analysis.rungs), "comparisons along ladders", "warning"),
        (analysis.also, len(analysis.also), "comparisons of further metrics", "warning"),
    )
    for comparisons, family, what, severity in families:
        most = max(_pairs(evidence, comparisons), default=0)
        if family and fewest_pairs(1, confidence) <= most < (needed := fewest_pairs(family, confidence)):
            yield Finding(
                f"None of {family} {what} can have an interval or a verdict with {counted(most, 'pair')}:"
                f" each has {1 - confidence:.2%} / {family} = {(1 - confidence) / family:.2%} of the"
                f" error, and the widest interval errs by {2 / 2**most:.2%}.",
                (),
                {"comparisons": family, "pairs": most, "pairs_needed": needed},
                f"{_more_blocks(evidence)}; or ask less in one experiment.",
                severity,
            )


def too_few_for(experiment: Experiment) -> tuple[int, int] | None:
    """Return how many comparisons can have no verdict after the planned blocks, and how many blocks it takes.

    None if the blocks are enough when no pair is lost. The rules above report the same, in more words.
    """
    design = experiment.design
    answers = len(summarise((), experiment).answers)
    family = sharing(experiment.comparison, design, answers)

    def enough(most: int) -> bool:
        planned = design.altered(blocks=most)
        return fewest_pairs(family, looks(planned, family)[-1].confidence) <= most

    if enough(design.blocks):
        return None
    return answers, next(most for most in count(design.blocks) if enough(most))


_LEAST_MS = 50  # five ticks of the slowest usual kernel, 100 a second


@limited(
    "short-trials",
    "Trials are short",
    f"{ANOMALIES}, section 6; Linux, CONFIG_HZ",
    "In {conditions} one lost time slice changes a trial by several percent: less than {limit} are measured,"
    " {worst} at worst.",
    f"Set trial.duration_ms to {_LEAST_MS} or more; a second is usual. Give a phase more keys.",
    limit=_LEAST_MS,
    below=True,
    shown="{:.0f} ms".format,
    evidence_name="shortest_ms",
)
def short_trials(evidence: Evidence) -> dict[str, float]:
    """Return name of condition -> how long its trials measure, if set; for a phase, how long it took."""
    phases = {
        name: median(lasted)
        for name, trials in evidence.valid_by_condition.items()
        if (lasted := [trial.metrics["phase_ms"] for trial in trials if "phase_ms" in trial.metrics])
    }
    return phases | {
        name: settings["duration_ms"]
        for name, settings in evidence.settings_by_condition().items()
        if "phase" not in settings and not evidence.experiment.is_command(settings["subject"])
    }


@limited(
    "oversubscribed",
    "More threads than processors",
    f"{ANOMALIES}, section 2.1",
    "In {conditions} the operating system's scheduler is measured, too: threads share processors, {worst} at"
    " worst.",
    "Leave these conditions out, or say that oversubscription is what you study.",
    limit=1,
    shown="{:.3g} threads each".format,
    evidence_name="threads_each",
)
def oversubscribed(evidence: Evidence) -> dict[str, float]:
    """Return name of condition -> threads per processor, if the number of its processors is known."""
    return {
        name: settings["threads"] / processors
        for name, settings in evidence.settings_by_condition().items()
        if (processors := processors_of(settings["pinning"], evidence.host.get("processors")))
    }


@rule("unpinned", "Threads are not pinned", f"{ANOMALIES}, section 7.1")
def unpinned(evidence: Evidence) -> Iterator[Finding]:
    """Find threads that the operating system may move.

    A command is pinned only if its arguments use `pinning`.
    """
    experiment = evidence.experiment
    trials: list[str] = []
    commands: list[str] = []
    for name, settings in evidence.settings_by_condition().items():
        subject = settings["subject"]
        is_command = experiment.is_command(subject)
        can_pin = not is_command or "pinning" in chain.from_iterable(
            map(placeholders.names, experiment.programs[subject].arguments)
        )
        if settings["pinning"] == "none" or not can_pin:
            (commands if is_command else trials).append(name)
    says = "Results scatter more, as the operating system chooses and changes the processors, in"
    yield from of_places(
        trials,
        "conditions",
        f"{says} {counted(trials, 'condition')}.",
        'Set pinning to "cores_first", or to another policy that pins.',
    )
    yield from of_places(
        commands,
        "conditions",
        f"{says} {counted(commands, 'condition')} of commands.",
        "Start the command by taskset with {pinning} among its arguments, and set pinning to a list of"
        " processors.",
        "note",  # as with every tool that measures commands: noise, which intervals show
    )


@rule(
    "stands-still",
    "Arbitrary things that nothing moves",
    f"{RANDOMNESS}, section 3.1, principle P1, and section 5.2.5",
)
def stands_still(evidence: Evidence) -> Iterator[Finding]:
    """Find parameters that are equal in all configurations, so that no sensitivity to them is measured."""
    experiment = evidence.experiment
    if not experiment.varied:
        return
    moved = experiment.moved
    reasons = evidence.host.get("one_layout", {})
    still = ["address_space"] if moved.address_space == "fixed" else []
    for settings in evidence.settings_by_condition().values():
        subject = settings["subject"]
        own = experiment.programs.get(subject)
        linked = subject not in reasons and (own is None or own.link is not None)
        linked = linked and evidence.analysis.hosts is None  # several hosts do not link
        still += movable(settings, command=experiment.is_command(subject), linked=linked)
    names = [name for name in dict.fromkeys(still) if name not in moved.names()]
    yield from of_places(
        names,
        "things",
        f"The sensitivity to {counted(names, 'arbitrary thing')} is not known:"
        f" {agreed(names, 'it is', 'they are')} the same in every configuration.",
        "Move each in [perturb], or say that the results hold for these values.",
        "note",
    )


def processors_of(pinning: str | list[int], available: int | None) -> int | None:
    """Return how many processors the threads of a trial have; None if unknown."""
    if isinstance(pinning, list):
        return min(len(set(pinning)), available or len(pinning))
    return available


def _pairs(evidence: Evidence, comparisons: Sequence[Comparison]) -> list[int]:
    """Return the number of pairs for each verdict; before the campaign, the most there can be."""
    if evidence.has_run:
        return [comparison.pairs for comparison in comparisons]
    return [evidence.experiment.design.blocks] * len(comparisons)


def _more_blocks(evidence: Evidence) -> str:
    """Return in words how many blocks are enough for the whole experiment, and why fewer are not."""
    family = max(1, _family(evidence))
    if evidence.experiment.comparison.correction != "none":
        family = max(family, len(evidence.analysis.rungs), len(evidence.analysis.also))
    needed = fewest_pairs(family, _confidence(evidence))
    if needed > ADVISED:
        blocked = f"none of {family} comparisons can have a verdict"
        return f"Set design.blocks to {needed} or more: with fewer, {blocked}"
    return f"Set design.blocks to {ADVISED} or more: with fewer, a single pair can decide a verdict"


def _confidence(evidence: Evidence) -> float:
    """Return the confidence at the look on which the verdicts rest, or at the look that sees all blocks."""
    analysis = evidence.analysis
    if evidence.has_run:
        return analysis.look.confidence if analysis.look else CONFIDENCE
    return looks(evidence.experiment.design, _family(evidence))[-1].confidence


def _family(evidence: Evidence) -> int:
    """Return how many comparisons of the main metric, including aggregates, share a look's level."""
    experiment = evidence.experiment
    return sharing(experiment.comparison, experiment.design, len(evidence.analysis.answers))
