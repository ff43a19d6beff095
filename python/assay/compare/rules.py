"""What is to be known before a comparison across campaigns is believed: rules as those of the audit."""

import json
import shlex
from collections.abc import Iterator, Sequence

from assay.audit import Rule, rule
from assay.compare.sides import Side
from assay.experiment import Experiment
from assay.findings import Finding
from assay.words import condition_name

_SHOWN = 3  # settings that differ


@rule(
    "not-interleaved",
    "What is compared did not take turns",
    "Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, 2013",
)
def not_interleaved(rule_id: str, sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns that ran one after the other."""
    apart = _other_campaigns(sides)
    if apart:
        start = sides[0].campaign.started_at
        hours = max(abs((each.campaign.started_at - start).total_seconds()) for each in apart) / 3600
        yield Finding(
            rule_id,
            f"The campaigns began up to {hours:.1f} hours apart and ran one after the other: whatever"
            " changed in between, in the code or in the host, is in the ratios.",
            tuple(
                f"{each.name}: {each.campaign.started_at:%Y-%m-%d %H:%M} UTC" for each in (sides[0], *apart)
            ),
            {"campaigns": 1 + len(apart), "hours": hours},
            "Measure both as levels of one factor in one experiment, so that they take turns.",
        )


@rule(
    "different-hosts",
    "The campaigns ran on different hosts",
    "Kharal & Brown, Performance Anomalies in Concurrent Data Structure Microbenchmarks, section 7.1",
)
def different_hosts(rule_id: str, sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns of different machines."""
    hosts = {each.name: _host(each) for each in (sides[0], *_other_campaigns(sides))}
    count = len(set(hosts.values()))
    if count > 1:
        yield Finding(
            rule_id,
            f"The campaigns ran on {count} different hosts: they can only be compared as blocks, and no"
            " difference can be put down to the software.",
            tuple(f"{name}: {host}" for name, host in hosts.items()),
            {"hosts": count},
            "Run both on one host, in one experiment.",
            "error",
        )


@rule("different-settings", "Conditions of the same name differ", "docs/reference/experiment.md")
def different_settings(rule_id: str, sides: Sequence[Side]) -> Iterator[Finding]:
    """Find conditions that have only their names in common."""
    if sides[0].condition is not None:
        return
    where = [
        f"{each.name} has {difference}"
        for each in _other_campaigns(sides)
        for difference in _differences(sides[0].experiment, each.experiment)
    ]
    if where:
        yield Finding(
            rule_id,
            "Conditions of the same name have different settings, so that the ratios compare different"
            " questions.",
            tuple(where),
            {"settings": len(where)},
            "Compare campaigns of the same experiment.",
            "error",
        )


@rule("unfinished", "A campaign is not finished", "docs/statistics.md")
def unfinished(rule_id: str, sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns that have not run to their end."""
    running = [each for each in (sides[0], *_other_campaigns(sides)) if not each.campaign.finished]
    if running:
        yield Finding(
            rule_id,
            "Planned trials have not run, so that the comparison will change as they do.",
            tuple(
                f"campaign {each.campaign.id} of {each.store.name}:"
                f" {each.campaign.ended} of {each.campaign.planned} trials have ended"
                for each in running
            ),
            {"trials": sum(each.campaign.planned - each.campaign.ended for each in running)},
            "First run "
            + " and ".join(
                f"`assay resume --campaign {each.campaign.id} --store {shlex.quote(str(each.store))}`"
                for each in running
            )
            + ".",
        )


@rule("different-programs", "Programs or questions differ", "docs/reference/experiment.md")
def different_programs(rule_id: str, sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns whose own programs, or whose questions, are not the same."""
    first = _asked(sides[0].experiment)
    where = [
        f"{each.name} has {name} = {theirs.get(name, 'none')}, not {first.get(name, 'none')}"
        for each in _other_campaigns(sides)
        for theirs in [_asked(each.experiment)]
        for name in {**first, **theirs}
        if theirs.get(name) != first.get(name)
    ]
    if where:
        yield Finding(
            rule_id,
            "The experiments differ in their programs or in what they ask; the comparison asks what"
            f" {sides[0].name} does.",
            tuple(where),
            {"differences": len(where)},
            "Make sure that this is what you want to compare.",
            "note",
        )


RULES: tuple[Rule[Sequence[Side]], ...] = (
    different_hosts,
    different_settings,
    not_interleaved,
    unfinished,
    different_programs,
)
"""Every rule, the heaviest first."""


def _other_campaigns(sides: Sequence[Side]) -> list[Side]:
    """Return one side of each campaign but that of the first."""
    found = {each.held_in: each for each in reversed(sides)}
    return [each for held_in, each in reversed(found.items()) if held_in != sides[0].held_in]


def _host(side: Side) -> str:
    host = side.campaign.host
    return (
        f"{host.get('name', 'unknown')}, {host.get('processors', '?')} processors, {host.get('kernel', '?')}"
    )


def _differences(one: Experiment, other: Experiment) -> list[str]:
    """Return the first few settings that differ in conditions that both have, in the words of the other."""
    found: dict[str, None] = {}
    theirs = other.conditions()
    for condition in one.conditions():
        if condition in theirs:
            mine, yours = one.settings(condition), other.settings(condition)
            for name in sorted({*mine, *yours}):
                if mine.get(name) != yours.get(name):
                    found[f"{name} = {yours.get(name)} in {condition_name(condition)}"] = None
    return list(found)[:_SHOWN]


def _asked(experiment: Experiment) -> dict[str, str]:
    """Return what an experiment says of its own programs and its comparison, by the names of its keys."""
    said: dict[str, str] = {}
    for name, program in experiment.programs.items():
        extract = program.extract
        rules = extract if isinstance(extract, str) else json.dumps([rule.model_dump() for rule in extract])
        said |= {
            f"subjects.{name}.program": str(program.path),
            f"subjects.{name}.arguments": json.dumps(program.arguments),
            f"subjects.{name}.build": program.build or "none",
            f"subjects.{name}.extract": rules,
        }
    asked = experiment.comparison
    return said | {
        "comparison.metric": asked.metric,
        "comparison.better": asked.better,
        "comparison.smallest_effect_percent": f"{asked.smallest_effect_percent:g}",
    }
