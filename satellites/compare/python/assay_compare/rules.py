"""Rules on comparisons across campaigns, as the audit has them: what to know before believing one."""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from assay.audit import Rule
from assay.audit import rule as shared_rule
from assay.audit.host import host_differences
from assay.audit.sources import ANOMALIES, BENCHMARKING
from assay.audit.types import of_places
from assay.experiment.question import Difference, asked, differences
from assay.findings import Finding
from assay.words import agreed, counted, duration
from assay_compare.sides import Side

_SHOWN = 3  # settings that differ

rule = partial(shared_rule, guide=Path(__file__).parent / "docs/audit")


@rule(
    "not-interleaved",
    "What is compared did not take turns",
    "Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, 2013",
)
def not_interleaved(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns that ran one after the other."""
    apart = _other_campaigns(sides)
    if apart:
        start = sides[0].campaign.started_at
        hours = max(abs((side.campaign.started_at - start).total_seconds()) for side in apart) / 3600
        apart_by = duration(3600 * hours).removeprefix("about ")
        yield Finding(
            f"The campaigns began up to {apart_by} apart and ran one after the other: whatever"
            " changed in between, in the code or in the host, is in the ratios.",
            tuple(
                f"{side.name}: {side.campaign.started_at:%Y-%m-%d %H:%M} UTC" for side in (sides[0], *apart)
            ),
            {"campaigns": 1 + len(apart), "hours": hours},
            "Measure both as levels of one factor in one experiment, so that they take turns.",
        )


@rule(
    "different-hosts",
    "The campaigns ran on different hosts",
    "Kharal & Brown, Performance Anomalies in Concurrent Data Structure Microbenchmarks, section 7.1",
)
def different_hosts(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns of different machines."""
    hosts = {side.name: _host(side) for side in (sides[0], *_other_campaigns(sides))}
    count = len(set(hosts.values()))
    if count > 1:
        yield Finding(
            f"The campaigns ran on {count} different hosts: a difference between them need not come from the"
            " software.",
            tuple(f"{name}: {host}" for name, host in hosts.items()),
            {"hosts": count},
            "Run both on one host, in one experiment.",
            "error",
        )


@rule(
    "different-host-settings",
    "The host's settings differ between campaigns",
    f"{BENCHMARKING}, system configuration",
)
def different_host_settings(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns that ran under other settings of the host."""
    hosts = {
        side.name: [
            side.environments[digest]
            for digest in dict.fromkeys(trial.host for trial in side.trials if trial.status == "valid")
            if digest is not None and digest in side.environments
        ]
        for side in (sides[0], *_other_campaigns(sides))
    }
    yield from of_places(
        host_differences({name: settings for name, settings in hosts.items() if settings}),
        "settings",
        "The settings of the host differ between campaigns: a difference need not come from the software.",
        "Run both under the same ones, in one experiment; `assay run --tuned` holds them.",
    )


@shared_rule("flawed-on-purpose", "Trials mislead on purpose", f"{ANOMALIES}, sections 4 to 7")
def flawed_on_purpose(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find sides whose trials mislead on purpose."""
    yield from of_places(
        [f"{side.name}: {mark}" for side in sides if (mark := side.experiment.mark)],
        "sides",
        "What is compared misleads on purpose.",
        "Believe none of these numbers; `assay lesson list` names what shows why.",
        "error",
    )


@rule("different-settings", "Conditions of the same name differ", "docs/reference/experiment.md")
def different_settings(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find conditions that have only their names in common."""
    if sides[0].condition is not None:
        return
    where = [
        f"{side.name} has {of.name} = {of.other} in {of.condition}"
        for side in _other_campaigns(sides)
        for of in _differences(sides[0], side)[0][:_SHOWN]
    ]
    yield from of_places(
        where,
        "settings",
        "Conditions of the same name have different settings: the ratios do not compare the same thing.",
        "Compare campaigns of the same experiment.",
        "error",
    )


@rule("unfinished", "A campaign is not finished", "docs/statistics.md")
def unfinished(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns that have not run to their end."""
    running = [side for side in (sides[0], *_other_campaigns(sides)) if not side.campaign.finished]
    if running:
        yield Finding(
            "Planned trials have not run yet: the comparison will change when they do.",
            tuple(
                f"campaign {side.campaign.id} of {side.store.name}:"
                f" {side.campaign.ended} of {counted(side.campaign.planned, 'trial')}"
                f" {agreed(side.campaign.ended, 'has', 'have')} ended"
                for side in running
            ),
            {"trials": sum(side.campaign.planned - side.campaign.ended for side in running)},
            "First run "
            + " and ".join(
                f"`assay resume --campaign {side.campaign.id} --store {shlex.quote(str(side.store))}`"
                for side in running
            )
            + ".",
        )


@rule("different-programs", "Programs or questions differ", "docs/reference/experiment.md")
def different_programs(sides: Sequence[Side]) -> Iterator[Finding]:
    """Find campaigns whose own programs, or whose questions, are not the same."""
    where = [
        f"{side.name} has {difference}"
        for side in _other_campaigns(sides)
        for difference in _differences(sides[0], side)[1]
    ]
    yield from of_places(
        where,
        "differences",
        "The experiments differ in their programs or in what they ask; the comparison asks what"
        f" {sides[0].name} does.",
        "Make sure that this is what you want to compare.",
        "note",
    )


RULES: tuple[Rule[Sequence[Side]], ...] = (
    flawed_on_purpose,
    different_hosts,
    different_settings,
    different_host_settings,
    not_interleaved,
    unfinished,
    different_programs,
)
"""Every rule, the heaviest first."""


def _other_campaigns(sides: Sequence[Side]) -> list[Side]:
    """Return one side of each campaign but the first."""
    by_campaign = {side.held_in: side for side in reversed(sides)}
    return [side for held_in, side in reversed(by_campaign.items()) if held_in != sides[0].held_in]


def _host(side: Side) -> str:
    host = side.campaign.host
    return (
        f"{host.get('name', 'unknown')}, {host.get('processors', '?')} processors, {host.get('kernel', '?')}"
    )


def _differences(first: Side, other: Side) -> tuple[list[Difference], list[Difference]]:
    """Return what the experiments of two sides request differently: in conditions, and of the whole.

    Levels that one of them lacks are not compared.
    """
    found = [
        difference
        for difference in differences(asked(first.experiment), asked(other.experiment))
        if not difference.name.startswith(("factors.", "conditions"))
    ]
    in_conditions = [difference for difference in found if difference.condition]
    return in_conditions, [difference for difference in found if not difference.condition]
