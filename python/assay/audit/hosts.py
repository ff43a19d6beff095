"""Rules about the hosts of a campaign that ran on several: whether they agree, and what they differ in."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from assay.analysis import Verdict, median
from assay.analysis.types import Aggregate, Estimate, LevelEffect
from assay.audit.sources import HOSTS_DIFFER, MANY_HOSTS
from assay.audit.types import Evidence, numbers, rule
from assay.findings import Finding, Severity
from assay.words import agreed, condition_name, counted, json_text, listed, one_line, ratio

_ORDER: tuple[Verdict, ...] = ("faster", "slower", "equivalent", "undecided")
_NAMED = 4  # hosts in a sentence


@rule("hosts-disagree", "Hosts disagree", f"{HOSTS_DIFFER}; docs/statistics.md")
def hosts_disagree(evidence: Evidence) -> Iterator[Finding]:
    """Find comparisons in which the verdicts of hosts contradict each other, or that of all together."""
    hosts = evidence.analysis.hosts
    if hosts is None or evidence.analysis.look is None:
        return
    said: dict[Severity, list[str]] = {"error": [], "warning": [], "note": []}
    for index, answer in enumerate(evidence.analysis.answers):
        by_verdict: dict[Verdict, list[str]] = defaultdict(list)
        for host in hosts.each:
            by_verdict[host.answers[index].verdict].append(host.name)
        decided = {*by_verdict, answer.verdict} - {"undecided"}
        if not {*by_verdict} - {"undecided", answer.verdict}:
            continue
        severity: Severity = "note"
        if len(decided) > 1:
            severity = "error" if {"faster", "slower"} <= decided else "warning"
        parts = [
            f"{evidence.verdict_word(verdict, answer.metric)} on {_names(by_verdict[verdict])}"
            for verdict in _ORDER[:-1]
            if by_verdict[verdict]
        ]
        together = evidence.verdict_word(answer.verdict, answer.metric)
        said[severity].append(
            f"{_place(evidence, answer)} is {listed(parts)}, and {together} on all together"
        )
    for severity, where in said.items():
        if where:
            yield Finding(
                f"{counted(where, 'verdict depends', 'verdicts depend')} on the host: {where[0]}.",
                tuple(where),
                {"verdicts": len(where), "hosts": len(hosts.each)},
                "Quote the verdict of each host beside that of all; find out in what these hosts differ.",
                severity,
            )


@rule(
    "odd-host",
    "A host is not like the others",
    f"{HOSTS_DIFFER}; {MANY_HOSTS}; Gretton et al., JMLR 13, 2012",
)
def odd_host(evidence: Evidence) -> Iterator[Finding]:
    """Find hosts whose ratios are distributed unlike those of the other hosts."""
    hosts = evidence.analysis.hosts
    if hosts is None or not hosts.odd:
        return
    answers = evidence.analysis.answers
    changes: list[str] = []
    worst: Severity = "note"
    for host in hosts.odd:
        assert host.odd is not None
        for answer, without, own in zip(answers, host.odd.without, host.answers, strict=True):
            if without.verdict != answer.verdict:
                worst = "warning"
                changes.append(
                    f"{_place(evidence, answer)}: {_said(evidence, answer, answer)}, without {host.name}"
                    f" {_said(evidence, answer, without)}, on it alone {_said(evidence, answer, own)}"
                )
    names = [host.name for host in hosts.odd]
    effect = f"{counted(changes, 'verdict')} would be another without {agreed(names, 'it', 'one of them')}"
    if not changes:
        effect = f"without {agreed(names, 'it', 'any one of them')} every verdict is the same"
    yield Finding(
        f"{_names(names)} {agreed(names, 'is', 'are')} not like the other hosts; {effect}.",
        (*changes, *(f"{host.name}: p {host.odd.p:.3g}" for host in hosts.odd if host.odd is not None)),
        {"hosts": len(names), "verdicts": len(changes)},
        "Find out what is special about it; say so wherever you quote the verdicts, and give both.",
        worst,
    )


@rule("hosts-differ", "The hosts are not the same", HOSTS_DIFFER)
def hosts_differ(evidence: Evidence) -> Iterator[Finding]:
    """Find programs, systems, processors and settings in which the hosts of a campaign differ."""
    if evidence.analysis.hosts is None:
        return
    values: dict[str, dict[str, str]] = defaultdict(dict)
    seen: set[tuple[str | None, str | None, str]] = set()
    for trial in evidence.valid:
        host, key = trial.ran_on or "", (trial.environment, trial.host, trial.ran_on or "")
        if key in seen:
            continue
        seen.add(key)
        subject = str(evidence.settings(trial)["subject"])
        for digest, whose in ((trial.environment, f"{subject}: "), (trial.host, "")):
            content = evidence.environments.get(digest or "")
            for name, value in _flattened(content if isinstance(content, dict) else {}):
                of_program = name.split()[0] in ("program", "library", "allocator")
                values[f"{whose if of_program else ''}{name}"].setdefault(host, value)
    for subject, of_hosts in evidence.programs.items():
        values[f"{subject}: program file"] = dict(of_hosts)
    differing = {name: of_host for name, of_host in values.items() if len({*of_host.values()}) > 1}
    if not differing:
        return
    programs = [name for name in differing if ": " in name or name.startswith("library ")]
    where = [
        f"{name}: {_grouped(differing[name])}"
        for name in sorted(differing, key=lambda name: name not in programs)
    ]
    effect = "what is measured is not the same on all hosts" if programs else "ratios may depend on it"
    yield Finding(
        f"The hosts differ in {counted(where, 'way')}, and {effect}: {listed([*differing][:3])}.",
        tuple(where),
        {"ways": len(where), "of_programs": len(programs)},
        "Let all hosts run the same programs, unless that is the question; say what else differs."
        if programs
        else "Nothing, if such hosts are what the verdicts shall hold for; say what differs.",
        "warning" if programs else "note",
    )


_FEWER = 0.9  # of the trials of the typical host


@rule("fewer-trials", "A host ran fewer trials than the others", HOSTS_DIFFER)
def fewer_trials(evidence: Evidence) -> Iterator[Finding]:
    """Find hosts that ran fewer trials than the typical one, in the blocks that count."""
    hosts = evidence.analysis.hosts
    if hosts is None or evidence.analysis.look is None:
        return
    typical = median([host.trials for host in hosts.each])
    fewer = [host for host in hosts.each if host.trials < _FEWER * typical]
    if fewer:
        effect = "the others have run what they left"
        if hosts.population:
            effect = "each host counts as much as any other, so its noise weighs more"
        yield Finding(
            f"{_names([host.name for host in fewer])} ran fewer trials than the typical host; {effect}.",
            tuple(f"{host.name}: {host.trials} of {typical:g}" for host in fewer),
            {"hosts": len(fewer), "fewest": min(host.trials for host in fewer)},
            "Find out why it was given up or was slow: `assay store list decisions` says what was decided.",
            trials=numbers(
                trial for trial in evidence.trials if trial.ran_on in {host.name for host in fewer}
            )[:_NAMED],
        )


def _names(hosts: list[str]) -> str:
    """Return the names of hosts, of many the first ones."""
    more = len(hosts) - _NAMED
    return listed([*hosts[:_NAMED], counted(more, "other host")] if more > 0 else hosts)


def _place(evidence: Evidence, answer: LevelEffect) -> str:
    over = f" over {listed(answer.across)}" if isinstance(answer, Aggregate) else ""
    return condition_name({evidence.analysis.factor: answer.level, **answer.context}) + over


def _said(evidence: Evidence, answer: LevelEffect, estimate: Estimate) -> str:
    word = evidence.verdict_word(estimate.verdict, answer.metric)
    return word if estimate.ratio is None else f"{word} ({ratio(estimate.ratio)})"


def _flattened(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the value of everything inside what a program reports."""
    for name, value in content.items():
        path = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flattened(value, f"{path} ")
        else:
            yield path, value if isinstance(value, str) else json_text(value)


def _grouped(of_host: Mapping[str, str]) -> str:
    """Return each value with the hosts that have it."""
    hosts: dict[str, list[str]] = defaultdict(list)
    for host, value in of_host.items():
        hosts[value].append(host)
    return "; ".join(f"{one_line(value, 60)} on {_names(names)}" for value, names in hosts.items())
