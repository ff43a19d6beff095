"""Rules about campaigns that ran on several hosts, and what a report says of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assay.audit import audit
from assay.audit.testing import ENVIRONMENT, HOST, METRICS, experiment, trials
from assay.findings import Finding
from assay.store.types import StoredTrial

NAMES = ("ant", "bee", "cow", "dog")
NOISE = (0.99, 1.0, 1.01, 1.0, 0.995, 1.005)


def on_hosts(
    effects: Sequence[float], *, blocks: int = 12, given_up: str = "", **changes: Any
) -> list[StoredTrial]:
    """Return trials whose other subject is faster by these factors, one for each host."""
    made: list[StoredTrial] = []
    for number, effect in enumerate(effects):
        for trial in trials(experiment(blocks=blocks), blocks=blocks):
            name = NAMES[number]
            if name == given_up and trial.block >= 2:
                name = NAMES[0]
            noise = NOISE[(trial.block + number) % len(NOISE)]
            speed = 100 * (1 + number) * noise * (effect if trial.levels["subject"] == "other" else 1)
            of_host = {name: value for name, value in changes.items() if number == len(effects) - 1}
            made.append(
                dataclasses.replace(
                    trial,
                    id=len(made) + 1,
                    ordinal=len(made),
                    group=number * 1000 + trial.group,
                    metrics={**METRICS, "throughput": speed},
                    ran_on=name,
                    host_number=number,
                    **of_host,
                )
            )
    return made


def found(
    made: Sequence[StoredTrial],
    environments: Mapping[str, Any] | None = None,
    programs: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Finding]:
    known = {"usual": ENVIRONMENT, **(environments or {})}
    findings = audit(experiment(blocks=12), made, HOST, environments=known, programs=programs)
    return {finding.rule: finding for finding in findings}


@pytest.mark.parametrize("hosts", [1, 2, 4])
def test_hosts_that_agree_are_no_finding(hosts: int) -> None:
    assert not {"hosts-disagree", "odd-host", "hosts-differ", "fewer-trials", "campaign-drift"} & {
        *found(on_hosts([1.2] * hosts))
    }


def test_hosts_that_contradict_each_other_are_an_error_with_their_names() -> None:
    told = found(on_hosts([1.2, 1.2, 1.2, 0.8]))
    finding = told["hosts-disagree"]
    assert finding.severity == "error"
    assert "faster on ant, bee and cow and slower on dog, and undecided on all together" in finding.message
    assert finding.evidence == {"verdicts": 2, "hosts": 4}
    odd = told["odd-host"]
    assert (odd.severity, odd.evidence["hosts"]) == ("warning", 1)
    assert odd.message.startswith("dog is not like the other hosts; 2 verdicts would be another without it")
    assert "without dog faster" in odd.where[0]


def test_a_host_that_differs_where_others_do_not_is_a_warning() -> None:
    finding = found(on_hosts([1.0, 1.0, 1.2]))["hosts-disagree"]
    assert finding.severity == "warning"


def test_programs_and_machines_that_differ_are_listed() -> None:
    other = {**ENVIRONMENT, "processor": {"governor": "powersave", "boost": False}}
    settings = {"smt": "off"}
    made = on_hosts([1.2] * 4, environment="other", host="settings")
    finding = found(made, {"other": other, "settings": settings})["hosts-differ"]
    assert finding.severity == "note"
    assert "processor governor: performance on ant, bee and cow; powersave on dog" in finding.where
    assert "environment-changed" not in found(made, {"other": other})
    programs = {"base": {"ant": "1", "bee": "1", "cow": "1", "dog": "2"}}
    finding = found(on_hosts([1.2] * 4), programs=programs)["hosts-differ"]
    assert finding.severity == "warning"
    assert finding.where == ("base: program file: 1 on ant, bee and cow; 2 on dog",)


def test_a_host_that_was_given_up_is_named() -> None:
    finding = found(on_hosts([1.2] * 4, given_up="dog"))["fewer-trials"]
    assert finding.where == ("dog: 8 of 48",)
