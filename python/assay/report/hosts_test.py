"""What a report says of a campaign that ran on several hosts."""

import dataclasses
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from assay.analysis import summarise
from assay.audit import audit
from assay.plan.types import PlannedTrial
from assay.report.charts import figures
from assay.report.gather import Report, _programs
from assay.report.headline import headline
from assay.report.hosts import disagreement, host_lines, rows_of_hosts, scope
from assay.report.race import race_answer
from assay.report.screen import print_screen
from assay.store.types import StoredTrial
from example_report import example_report, experiment_text

NAMES = ("ant", "bee", "cow", "dog")
BLOCKS = 12


def speed(trial: PlannedTrial) -> dict[str, float]:
    return {"throughput": 100.0 + trial.ordinal % 5}


def report(effects: list[float]) -> Report:
    """Return the report of a campaign whose other subject is this many times as fast on each host."""
    text = experiment_text(
        'subject = ["base", "other"]',
        trial="mix = { insert = 10, erase = 10, find = 80 }",
        factor="subject",
        baseline='"base"',
    )
    one = example_report(text, speed)
    trials: list[StoredTrial] = []
    for number, effect in enumerate(effects):
        for trial in one.trials:
            factor = effect if trial.levels["subject"] == "other" else 1
            trials.append(
                dataclasses.replace(
                    trial,
                    id=len(trials) + 1,
                    ordinal=len(trials),
                    group=trial.group + 1000 * number,
                    metrics={"throughput": trial.metrics["throughput"] * factor},
                    ran_on=NAMES[number],
                    host_number=number,
                )
            )
    analysis = summarise(trials, one.experiment)
    findings = audit(one.experiment, trials, {}, analysis=analysis)
    return dataclasses.replace(one, trials=trials, analysis=analysis, findings=findings)


def screen(of: Report) -> str:
    console = Console(file=StringIO(), width=80)
    print_screen(of, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("hosts", [2, 3])
def test_few_hosts_speak_of_themselves_alone(hosts: int) -> None:
    of = report([1.5] * hosts)
    assert scope(of).endswith("alone: it takes 4 hosts to speak of others.")
    assert scope(of) in headline(of)
    assert scope(of) in " ".join(screen(of).split())
    assert scope(of) in list(race_answer(of, 1))


def test_hosts_that_agree_take_no_lines() -> None:
    of = report([1.5] * 4)
    assert "all hosts like these 4: ant, bee, cow and dog" in headline(of)
    assert disagreement(of) is None
    assert "by host" not in screen(of)


def test_hosts_that_disagree_stand_above_the_verdict_and_each_has_a_line() -> None:
    of = report([1.5, 1.5, 1.5, 0.5])
    told = screen(of)
    assert told.index("depends on the host") < told.index(" base ")
    assert "dog slower 0.5" in told
    assert len(told.splitlines()) <= 24
    assert max(map(len, told.splitlines())) <= 80
    assert "dog slower" in "\n".join(host_lines(of))
    [(name, rows)] = rows_of_hosts(of)
    assert name == "subject=other"
    assert [row.host for row in rows] == ["all together", *NAMES]
    assert [row.remark for row in rows][-1] == "not like the others"


def test_one_host_is_not_mentioned() -> None:
    of = report([1.5])
    assert (scope(of), list(rows_of_hosts(of))) == ("", [])
    assert not [figure for figure in figures(of) if figure.kind == "hosts"]


def test_the_picture_has_a_row_for_each_host_under_all_together() -> None:
    [figure] = [figure for figure in figures(report([1.5, 1.4, 1.6, 0.5])) if figure.kind == "hosts"]
    assert [row["row"] for row in figure.rows] == ["all together", "cow", "ant", "bee", "dog"]
    assert figure.rows[-1]["ratio"] == pytest.approx(0.5, rel=0.1)
    assert "Not like the others: dog." in figure.note


def test_each_revision_is_compared_with_itself_on_other_hosts() -> None:
    """The first trial of a subject may be of the base on one host, and of the head on another."""
    ran = [(1, "ant", "base"), (2, "bee", "head"), (3, "ant", "head"), (4, "bee", "base")]
    trials: Any = [
        SimpleNamespace(id=number, status="valid", ran_on=host, levels={"revision": revision})
        for number, host, revision in ran
    ]
    store: Any = SimpleNamespace(
        records_of=lambda numbers: ({"program_sha256": ran[number - 1][2]} for number in numbers)
    )
    experiment: Any = SimpleNamespace(revisions=True, settings=lambda _: {"subject": "bench"})
    assert _programs(store, trials, experiment) == {
        "bench in base": {"ant": "base", "bee": "base"},
        "bench in head": {"ant": "head", "bee": "head"},
    }
