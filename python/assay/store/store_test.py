import itertools
import json
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.experiment.testing import experiment as small_experiment
from assay.experiment.types import Extraction, Validation
from assay.findings import Finding
from assay.plan.types import Level, Plan, PlannedTrial, Status
from assay.runner.types import Outcome
from assay.store import Store, query
from assay.store.ended import ended_trial
from assay.store.sqlite import SqliteDatabase
from assay.store.types import Decision, representative
from assay.store.views import FIXED, Kind, Names, expressible, view_columns

WHEN = datetime(2025, 1, 31, 12, 30, tzinfo=UTC)

# What a program may print: any JSON within the range of a double, half surrogate pairs included.
any_text = st.text(st.characters(exclude_categories=()))
zones = st.integers(-12, 12).map(lambda hours: timezone(timedelta(hours=hours)))
numbers = st.integers(-(10**300), 10**300) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)
json_objects = st.dictionaries(any_text, json_values, max_size=4)
names = st.text(max_size=8) | st.sampled_from(
    ["status", "Threads", "threads", 'a"b', "x.y", "x[0]", "$", "é"]
)
metrics = st.dictionaries(names, numbers, max_size=5)
levels = st.dictionaries(
    names,
    st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.integers(-(2**63), 2**63 - 1),
    max_size=4,
)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    def calibration() -> dict[str, Any] | None:
        message: dict[str, Any] | None = draw(st.none() | json_objects)
        return (
            message if message is None else {**message, "metrics": draw(metrics), "elapsed_ms": draw(numbers)}
        )

    result: dict[str, Any] | None = draw(st.none() | json_objects)
    if result is not None:
        result["metrics"] = draw(metrics)
        if draw(st.booleans()):
            result["environment"] = draw(json_objects)
    return Outcome(
        status=draw(st.sampled_from(["valid", "invalid", "crashed", "timed_out"])),
        reason=draw(any_text),
        exit_code=draw(st.integers(-64, 255)),
        result=result,
        stdout=draw(any_text),
        stderr=draw(any_text),
        calibration_before=calibration(),
        calibration_after=calibration(),
        calibration_error=draw(any_text),
        started_at=draw(st.datetimes(min_value=datetime(1970, 1, 2), timezones=zones)),
        wall_s=draw(st.floats(0, 1e6)),
    )


fresh = itertools.count()
SQLITE = SqliteDatabase.view_sql


def in_order_of_kind(values: Mapping[tuple[Kind, str], Any]) -> list[Any]:
    order: list[Kind] = ["factor", "metric", "before", "after"]
    return [value for wanted in order for (kind, _), value in values.items() if kind == wanted]


def planned(ordinal: int, levels: Mapping[str, Level] | None = None) -> PlannedTrial:
    return PlannedTrial(
        ordinal=ordinal,
        block=ordinal // 4,
        group=ordinal // 2,
        levels={"subject": "ab"[ordinal % 2], "threads": 1 + ordinal // 2 % 2} if levels is None else levels,
        request={"seed": 2**53 - 1 - ordinal, "mix": {"insert": 12.5}},
        program="/bin/subject",
        perturbation={"environment_bytes": 17, "key_range": -1.25},
        timeout_s=2.5,
        memory_limit_mb=512,
    )


def measured(value: float, status: Status = "valid") -> Outcome:
    return Outcome(
        status=status,
        reason="" if status == "valid" else "keys were lost",
        exit_code=0,
        result={"protocol": 1, "status": "valid", "metrics": {"throughput": value}},
        stdout="",
        stderr="",
        calibration_before={"metrics": {"core_to_core_ns": 50.0}, "elapsed_ms": 21.0},
        calibration_after=None,
        calibration_error="after: it hung",
        started_at=WHEN,
        wall_s=0.5,
    )


def decision(kind: Literal["look", "repeat", "stop"], **content: Any) -> Decision:
    return Decision(kind=kind, block=2, at=WHEN, reason=f"a reason to {kind}", content=content)


def finding(message: str = "It drifts.", **evidence: float) -> Finding:
    return Finding(
        rule="drift",
        message=message,
        where=("subject=a", "subject=b"),
        evidence=evidence,
        remedy="Run again.",
        severity="note",
        trials=(3, 4),
    )


def begin(store: Store, trials: int | list[PlannedTrial] = 4, experiment: str = "maps") -> int:
    if isinstance(trials, int):
        trials = [planned(ordinal) for ordinal in range(trials)]
    return store.begin_campaign(
        experiment=small_experiment(experiment, source="name = 'maps'"),
        plan=Plan(seed=7, trials=tuple(trials)),
        host={"name": "here", "processors": 2},
    )


both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
"""For tests that hold for every database; others are about SQLite's file, functions and SQL."""


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "sqlite")


@pytest.fixture
def store(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    on_server = database == "postgresql"
    name = (
        request.getfixturevalue("postgresql").create() if on_server else tmp_path / "results" / "assay.sqlite"
    )
    with Store.open(name) as opened:
        yield opened


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples of the properties below: each begins a campaign of its own."""
    on_server = request.param == "postgresql"
    name = (
        request.getfixturevalue("postgresql").create()
        if on_server
        else tmp_path_factory.mktemp("shared") / "assay.sqlite"
    )
    with Store.open(name) as opened:
        yield opened


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("shared") / "assay.sqlite") as opened:
        yield opened


# What is written comes back


@settings(max_examples=40)
@given(outcome=outcomes(), levels=levels)
def test_any_outcome_comes_back_as_it_was(
    shared_store: Store, outcome: Outcome, levels: dict[str, Level]
) -> None:
    plan = planned(0, levels)
    campaign = begin(shared_store, [plan], experiment="any")
    assert shared_store.pending(campaign) == [plan]
    trial_id = shared_store.record(campaign, 0, outcome)

    [trial] = shared_store.trials(campaign)
    assert trial.id == trial_id
    assert trial.levels == levels
    assert (trial.status, trial.started_at, trial.wall_s) == (
        outcome.status,
        outcome.started_at,
        outcome.wall_s,
    )
    assert trial.metrics == (outcome.result or {}).get("metrics", {})
    for kept, message in (
        (trial.calibration_before, outcome.calibration_before),
        (trial.calibration_after, outcome.calibration_after),
    ):
        assert kept == (
            {} if message is None else {**message["metrics"], "elapsed_ms": message["elapsed_ms"]}
        )

    record = shared_store.record_of(trial_id)
    for name in ("status", "reason", "exit_code", "result", "stdout", "stderr", "wall_s"):
        assert record[name] == getattr(outcome, name)
    for name in ("calibration_before", "calibration_after", "calibration_error"):
        assert record[name] == getattr(outcome, name)
    assert datetime.fromisoformat(record["started_at"]) == outcome.started_at
    for name in ("block", "group", "levels", "request", "program", "perturbation", "timeout_s"):
        assert record[name] == getattr(plan, name)
    assert record["seed"] == plan.request["seed"]
    assert json.loads(json.dumps(record)) == record


@settings(max_examples=40)
@given(outcome=outcomes(), levels=levels)
def test_every_name_that_sql_can_express_has_its_column_and_invalid_metrics_are_null(
    shared_store: Store, outcome: Outcome, levels: dict[str, Level]
) -> None:
    campaign = begin(shared_store, [planned(0, levels)], experiment=f"views {next(fresh)}")
    shared_store.record(campaign, 0, outcome)
    [trial] = shared_store.trials(campaign)
    columns, [row] = shared_store.query("select * from trials", campaign=campaign)
    expected: dict[tuple[Kind, str], Any] = {
        **{("factor", name): value for name, value in trial.levels.items()},
        **{
            ("metric", name): value if outcome.status == "valid" else None
            for name, value in trial.metrics.items()
        },
        **{("before", name): value for name, value in trial.calibration_before.items()},
        **{("after", name): value for name, value in trial.calibration_after.items()},
    }
    expected = {key: value for key, value in expected.items() if expressible(key[1])}
    assert columns == [column for column, _ in view_columns(dict.fromkeys(expected, "real"), SQLITE)]
    for held, value in zip(row[len(FIXED) :], in_order_of_kind(expected), strict=True):
        # SQLite holds integers beyond 64 bits as doubles.
        assert held == (pytest.approx(value) if isinstance(value, int | float) else value)


@given(st.lists(st.tuples(st.sampled_from(["factor", "metric", "before", "after"]), names), unique=True))
def test_columns_of_a_view_never_clash_and_do_not_depend_on_the_order_of_kinds(
    every: list[tuple[Kind, str]],
) -> None:
    columns = list(view_columns(dict.fromkeys(every, "real"), SQLITE))
    assert len({column.lower() for column, _ in columns}) == len(columns)
    order: list[Kind] = ["after", "before", "metric", "factor"]
    assert columns == list(
        view_columns(dict.fromkeys(sorted(every, key=lambda column: order.index(column[0])), "real"), SQLITE)
    )


def test_a_factor_keeps_a_name_that_a_metric_has_too() -> None:
    names: list[tuple[Kind, str]] = [("metric", "threads"), ("factor", "threads"), ("factor", "status")]
    typed: Names = dict.fromkeys([*names, ("before", "memory_ns"), ("metric", "block")], "real")
    columns = [column for column, _ in view_columns(typed, SQLITE)]
    assert columns == [
        *FIXED,
        "threads",
        "factor_status",
        "metric_threads",
        "metric_block",
        "before_memory_ns",
    ]


@both
def test_names_without_end_leave_the_view_usable(store: Store) -> None:
    campaign = begin(store)
    flood = {f"metric_{number}": 1.0 for number in range(2500)}
    outcome = measured(5)
    store.record(campaign, 0, outcome)
    store.record(campaign, 1, replace(outcome, result={**(outcome.result or {}), "metrics": flood}))
    assert store.query("select throughput from trials")[1] == [(5,), (None,)]
    assert len(store.trials(campaign)[1].metrics) == 2500


@both
def test_the_environment_that_trials_share_is_kept_once(store: Store) -> None:
    campaign = begin(store, 3)
    for ordinal, cpu in enumerate(["fast", "fast", "slow"]):
        outcome = measured(1)
        store.record(
            campaign,
            ordinal,
            replace(outcome, result={**(outcome.result or {}), "environment": {"cpu": cpu}}),
        )
    assert store.query("select count(*) from environment")[1] == [(2,)]
    assert store.record_of(3)["result"]["environment"] == {"cpu": "slow"}


@both
def test_the_texts_that_rules_name_are_those_of_details_and_of_lines(store: Store) -> None:
    campaign = begin(store, 3)
    details = {
        "protocol": 1,
        "status": "valid",
        "metrics": {},
        "details": {"result": "ok", "other": "x", "n": 3},
    }
    store.record(campaign, 0, replace(measured(1), result=details))
    store.record(campaign, 1, replace(measured(1), stdout="result=a\nresult = b c \nthe result=d\nn=7\n"))
    store.record(campaign, 2, replace(measured(1, "invalid"), stdout="result=a\n"))
    rules = [Validation(text=name, matches="o") for name in ("result", "n")]
    trials = store.trials(campaign)
    asking = small_experiment("maps").model_copy(update={"validations": tuple(rules)})
    assert store.texts(trials, asking) == {1: {"result": ["ok"]}, 2: {"result": ["a", "b c"], "n": ["7"]}}
    assert store.texts(trials, small_experiment("maps")) == {}


# Campaigns


@settings(max_examples=40)
@given(
    st.integers(0, 12).flatmap(
        lambda size: st.tuples(st.just(size), st.sets(st.integers(0, max(size - 1, 0))))
    )
)
def test_what_is_pending_is_what_has_not_ended_in_the_order_of_the_plan(
    shared_store: Store, case: tuple[int, set[int]]
) -> None:
    size, ended = case
    ended = {ordinal for ordinal in ended if ordinal < size}
    campaign = begin(shared_store, size)
    for ordinal in sorted(ended, key=lambda ended_ordinal: (ended_ordinal * 7) % 13):
        shared_store.record(campaign, ordinal, measured(1))
    assert shared_store.pending(campaign) == [
        planned(ordinal) for ordinal in range(size) if ordinal not in ended
    ]
    assert [trial.ordinal for trial in shared_store.trials(campaign)] == sorted(ended)
    summary = shared_store.campaign(campaign)
    assert (summary.planned, summary.ended, summary.finished) == (size, len(ended), size == len(ended))


NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


class WallClock(datetime):
    """Stands still; that of the machine may be set back at any time."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "WallClock":
        """Return always the same moment."""
        return cls.fromtimestamp(NOW.timestamp(), tz)


@pytest.fixture
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.store.store.datetime", WallClock)


@both
def test_half_a_surrogate_pair_damages_no_result(store: Store) -> None:
    half = "\ud800"
    result = {half: half, "metrics": {}, "details": {half: half}, "environment": {half: {half: half}}}
    trial_id = store.record(begin(store, 1), 0, replace(measured(1), result=result))
    assert store.record_of(trial_id)["result"] == result
    assert list(store.damages()) == []


@both
@pytest.mark.usefixtures("_now")
def test_a_summary_says_what_the_campaign_was_and_how_far_it_is(store: Store) -> None:
    campaign = begin(store)
    for ordinal, status in enumerate(["valid", "invalid", "valid"]):
        store.record(campaign, ordinal, measured(1, status))  # type: ignore[arg-type]
    second = begin(store)
    first_summary, second_summary = store.campaigns()
    assert (first_summary.id, second_summary.id) == (campaign, second)
    assert first_summary.counts == {"valid": 2, "invalid": 1}
    assert second_summary.counts == {}
    assert (first_summary.experiment, first_summary.seed, first_summary.planned) == ("maps", 7, 4)
    assert first_summary.host == {"name": "here", "processors": 2}
    assert second_summary.started_at == NOW
    assert store.campaign() == second_summary


@both
def test_a_trial_is_recorded_once(store: Store) -> None:
    campaign = begin(store)
    store.record(campaign, 0, measured(1))
    with pytest.raises(AssayError, match="has ended already"):
        store.record(campaign, 0, measured(2))
    with pytest.raises(AssayError, match="not planned"):
        store.record(campaign, 99, measured(2))
    assert [trial.metrics for trial in store.trials(campaign)] == [{"throughput": 1}]


@pytest.mark.parametrize("change", [{"path": Path("/bad\udcff/maps.toml")}, {"question": "Why \udcff?"}])
@both
def test_an_experiment_that_is_not_utf_8_is_refused(store: Store, change: dict[str, Any]) -> None:
    experiment = small_experiment("maps").model_copy(update=change)
    with pytest.raises(AssayError, match="is not UTF-8"):
        store.begin_campaign(experiment=experiment, plan=Plan(7, (planned(0),)), host={"name": "here"})
    assert store.campaigns() == []


@both
def test_a_campaign_or_trial_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(AssayError, match="holds no campaign yet"):
        store.campaign()
    with pytest.raises(AssayError, match="has no trial 5"):
        store.record_of(5)
    begin(store)
    for ask in (
        store.pending,
        store.trials,
        store.campaign,
        store.decisions,
        lambda number: store.decide(number, decision("look")),
        lambda number: store.decide(number, decision("repeat"), []),
        lambda number: store.write_findings(number, []),
        lambda number: store.record(number, 0, measured(1)),
        lambda number: store.query("select 1", campaign=number),
    ):
        for number in (42, -1, 10**30):
            with pytest.raises(AssayError, match=f"has no campaign {number}: `assay store list`"):
                ask(number)
    with pytest.raises(AssayError, match=f"has no trial {10**30}"):
        store.record_of(10**30)


@both
def test_records_come_in_the_order_asked_for_however_many(store: Store) -> None:
    campaign = begin(store, 1200)
    outcome = measured(1)
    for ordinal in range(1200):
        environment = {"machine": ordinal % 3}
        result = {**(outcome.result or {}), "environment": environment} if ordinal % 7 else None
        store.record(campaign, ordinal, replace(outcome, result=result, exit_code=ordinal))
    wanted = [trial.id for trial in store.trials(campaign)][::-1]
    records = list(store.records_of(wanted))
    assert [record["trial"] for record in records] == wanted
    assert [record["exit_code"] for record in records] == list(range(1200))[::-1]
    for record in records:
        expected = {"machine": record["ordinal"] % 3} if record["ordinal"] % 7 else None
        assert (record["result"] or {}).get("environment") == expected
    assert records[5] == store.record_of(wanted[5])
    digests = [trial.environment for trial in store.trials(campaign)]
    assert (digests[0], digests[1], len(set(digests))) == (None, digests[4], 4)
    with pytest.raises(AssayError, match="has no trial 5000"):
        list(store.records_of([1, 5000]))


@both
def test_a_number_that_json_cannot_hold_changes_nothing(store: Store) -> None:
    campaign = begin(store)
    with pytest.raises(Exception, match="not JSON compliant"):
        store.record(campaign, 0, measured(float("inf")))
    assert len(store.pending(campaign)) == 4


@pytest.mark.parametrize(
    "table",
    ["campaign", "planned_trial", "trial", "record", "environment", "decision", "audit"],
)
@pytest.mark.parametrize("change", ["delete from {}", "update {0} set rowid = rowid + 100"])
def test_the_file_itself_refuses_to_change_or_lose_what_was_recorded(
    store: Store, table: str, change: str
) -> None:
    campaign = begin(store)
    outcome = measured(1)
    store.record(campaign, 0, replace(outcome, result={**(outcome.result or {}), "environment": {}}))
    store.decide(campaign, decision("stop"))
    store.write_findings(campaign, [finding()])
    with (
        closing(sqlite3.connect(Path(str(store.name)))) as raw,
        pytest.raises(sqlite3.IntegrityError, match="only grows"),
    ):
        raw.execute(change.format(table))


# Programs of any kind, and what the laboratory derives


@both
def test_a_plan_keeps_how_a_program_is_called_and_what_is_taken_from_its_output(store: Store) -> None:
    rules = (
        Extraction(metric="seconds", pattern="took ([0-9.]+)", unit="s"),
        Extraction(metric="ops", line="OPS"),
    )
    trials = [
        replace(planned(0), arguments=("--seed", "7"), extract=rules),
        replace(planned(1), extract="lines"),
        planned(2),
    ]
    campaign = begin(store, trials)
    assert store.pending(campaign) == trials
    store.record(campaign, 0, measured(1))
    record = store.record_of(1)
    assert (record["arguments"], record["repeats"]) == (["--seed", "7"], None)
    assert record["extract"] == [rule.model_dump() for rule in rules]


@both
def test_derived_metrics_stand_beside_the_reported_ones_and_never_replace_them(store: Store) -> None:
    campaign = begin(store)
    derived = {"steady": 1.0, "throughput": 99.0}
    trial = store.record(campaign, 0, replace(measured(5), derived=derived))
    [kept] = store.trials(campaign)
    assert kept.metrics == {"throughput": 5, "steady": 1}
    assert store.query("select throughput, steady from trials")[1] == [(5, 1)]
    record = store.record_of(trial)
    assert (record["result"]["metrics"], record["derived"]) == ({"throughput": 5}, derived)
    assert kept == ended_trial(trial, planned(0), replace(measured(5), derived=derived))


# Repetitions and decisions


def repetition(of: int, ordinal: int, group: int) -> PlannedTrial:
    return replace(planned(ordinal), block=of // 2, group=group, repeats=of)


@both
def test_a_repetition_runs_right_after_the_group_that_it_repeats(store: Store) -> None:
    campaign = begin(store, 8)  # groups 0 to 3, blocks of two
    store.decide(campaign, decision("repeat"), [repetition(2, 8, 4), repetition(2, 9, 4)])
    store.decide(campaign, decision("repeat"), [repetition(0, 10, 5), repetition(0, 11, 5)])
    store.decide(campaign, decision("repeat"), [repetition(2, 12, 6), repetition(2, 13, 6)])
    order = [0, 1, 10, 11, 2, 3, 4, 5, 8, 9, 12, 13, 6, 7]
    assert [trial.ordinal for trial in store.pending(campaign)] == order
    for ordinal in (0, 1, 10, 8):
        store.record(campaign, ordinal, measured(1))
    assert [trial.ordinal for trial in store.pending(campaign)] == [
        ordinal for ordinal in order if ordinal not in {0, 1, 10, 8}
    ]
    assert {trial.ordinal: trial.repeats for trial in store.trials(campaign)} == {
        0: None,
        1: None,
        10: 0,
        8: 2,
    }
    assert [trial.ordinal for trial in store.planned(campaign, [8, 10, 3])] == [10, 3, 8]
    assert (store.campaign(campaign).planned, store.campaign(campaign).finished) == (14, False)


@both
def test_decisions_come_back_in_their_order(store: Store) -> None:
    campaign, other = begin(store), begin(store)
    made = [decision("look", confidence=0.99), decision("repeat", group=3), decision("stop")]
    for planned_decision in made:
        store.decide(campaign, planned_decision)
    assert store.decisions(campaign) == made
    assert store.decisions(other) == []


@both
def test_a_campaign_that_was_stopped_is_finished_and_nothing_of_it_is_pending(store: Store) -> None:
    campaign, other = begin(store), begin(store)
    store.record(campaign, 0, measured(1))
    store.decide(campaign, decision("look"))
    assert (len(store.pending(campaign)), store.campaign(campaign).stopped) == (3, "")
    store.decide(campaign, decision("stop"))
    assert store.pending(campaign) == []
    summary = store.campaign(campaign)
    assert (summary.stopped, summary.finished, summary.ended) == ("a reason to stop", True, 1)
    assert len(store.pending(other)) == 4


@both
def test_a_plan_is_extended_together_with_its_decision_or_not_at_all(store: Store) -> None:
    campaign = begin(store)
    with pytest.raises(AssayError, match="trial of this ordinal already; the store was not changed"):
        store.decide(campaign, decision("repeat", group=0), [repetition(0, 4, 2), repetition(0, 3, 2)])
    assert len(store.pending(campaign)) == 4
    assert store.decisions(campaign) == []
    store.decide(campaign, decision("repeat", group=0), [repetition(0, 4, 2)])
    assert len(store.pending(campaign)) == 5
    assert [decision.kind for decision in store.decisions(campaign)] == ["repeat"]


# Findings


FINDINGS = "select campaign, rule, severity, message, places, evidence, remedy, trials from findings"


@pytest.mark.usefixtures("_now")
def test_findings_are_those_of_the_latest_audit_of_each_campaign(store: Store) -> None:
    campaign, other = begin(store), begin(store)
    store.write_findings(campaign, [finding("First."), finding("Second.", ratio=1.5)])
    store.write_findings(other, [finding("Other.")])
    row = (1, "drift", "note", "First.", '["subject=a","subject=b"]', "{}", "Run again.", "[3,4]")
    assert store.query(FINDINGS)[1][0] == row
    assert store.query("select message, evidence ->> 'ratio' from findings")[1] == [
        ("First.", None),
        ("Second.", 1.5),
        ("Other.", None),
    ]
    [(when,)] = store.query("select distinct audited_at from findings where campaign = 1")[1]
    assert datetime.fromisoformat(when).replace(tzinfo=UTC) == NOW
    store.write_findings(campaign, [finding("Second.", ratio=1.5)])
    assert store.query("select message from findings")[1] == [("Other.",), ("Second.",)]


def test_an_audit_that_finds_nothing_leaves_no_finding_of_its_campaign(store: Store) -> None:
    campaign, other = begin(store), begin(store)
    store.write_findings(campaign, [finding()])
    store.write_findings(other, [finding()])
    store.write_findings(campaign, [])
    assert store.query("select campaign from findings")[1] == [(other,)]
    assert store.query("select sum(json_array_length(findings)) from audit")[1] == [(2,)]


@both
def test_verdicts_are_the_latest_of_each_campaign(store: Store) -> None:
    campaign = begin(store)
    verdict = {"level": "a", "context": "threads=1", "verdict": "faster", "ratio": 1.5, "low": None}
    for verdicts in ([{**verdict, "verdict": "undecided"}], [verdict], [verdict]):
        store.write_verdicts(campaign, verdicts)
    query = "select campaign, context, level, verdict, ratio, low from verdicts"
    assert store.query(query)[1] == [(campaign, "threads=1", "a", "faster", 1.5, None)]
    assert store.query("select count(*) from conclusion")[1] == [(2,)]
    store.write_findings(campaign, [finding(), finding("Again.")])
    counts = "select campaign, trials, not_valid, verdicts, findings from campaigns"
    assert store.query(counts)[1] == [(campaign, 0, 0, "1 faster", "2 notes")]


@both
@pytest.mark.parametrize("findings", [[], [finding(ratio=0.1 + 0.2), finding("Half \ud800 a pair.")]])
def test_an_audit_that_finds_the_same_writes_nothing(store: Store, findings: list[Finding]) -> None:
    campaign = begin(store)
    for _ in range(3):
        store.write_findings(campaign, findings)
    assert store.query("select count(*) from audit")[1] == [(1,)]
    store.write_findings(campaign, [finding("Another.")])
    store.write_findings(campaign, findings)
    assert store.query("select count(*) from audit")[1] == [(3,)]


@both
def test_experiments_called_like_what_is_in_the_store_keep_their_views_apart(store: Store) -> None:
    for number, name in enumerate(("findings", "Decision", "audit")):
        campaign = begin(store, experiment=name)
        store.record(campaign, 0, measured(number))
        assert store.query("select throughput from trials")[1] == [(number,)]
        assert store.query(f'select throughput from "{name}_2"')[1] == [(number,)]
    assert store.query("select * from findings")[1] == []


# Queries


@both
def test_trials_are_of_the_latest_campaign_unless_another_is_named(store: Store) -> None:
    first, second = begin(store), begin(store)
    store.record(first, 0, measured(10))
    store.record(second, 0, measured(20))
    assert store.query("select throughput from trials") == (["throughput"], [(10,), (20,)])
    assert store.query("select throughput from trials", campaign=first) == (["throughput"], [(10,)])
    assert store.query("select campaign, throughput from maps")[1] == [(1, 10), (2, 20)]


@both
def test_no_invalid_trial_gets_into_an_average(store: Store) -> None:
    campaign = begin(store, 8)
    statuses: list[Status] = ["valid", "invalid", "crashed", "timed_out"]
    for ordinal in range(8):
        status = statuses[ordinal % 4]
        store.record(campaign, ordinal, measured(ordinal if status == "valid" else 1e9, status))
    assert store.query("select count(throughput), avg(throughput), median(throughput) from trials")[1] == [
        (2, 2, 2)
    ]


HOSTILE = [
    "maps",
    "Maps",
    "trial",
    "TRIALS",
    "campaign",
    "sqlite_master",
    'a"b; drop table trial',
    "a b-c",
    "é",
    "",
]


def test_every_experiment_has_a_view_that_any_sqlite_tool_reads(store: Store) -> None:
    for number, name in enumerate(HOSTILE):
        campaign = begin(store, experiment=name)
        store.record(campaign, 0, measured(number))
        assert store.query("select throughput from trials")[1] == [(number,)]
    with closing(sqlite3.connect(Path(str(store.name)))) as raw:
        views = raw.execute("select name, view_name from experiment order by id").fetchall()
        assert [name for name, _ in views] == HOSTILE
        assert views[0][1] == "maps"
        assert views[7][1] == "a b-c"
        for number, (_, view) in enumerate(views):
            quoted = view.replace('"', '""')
            rows = raw.execute(
                f'select throughput, subject, before_core_to_core_ns from "{quoted}"'
            ).fetchall()
            assert rows == [(number, "a", 50)]


# Datasette, where a test has imported it, has SQLite report exceptions in callbacks, of which pytest warns.
EXCEPTIONS_IN_CALLBACKS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@EXCEPTIONS_IN_CALLBACKS
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("delete from trial", "can only read"),
        ("drop table trial", "can only read"),
        ("create table x (a)", "can only read"),
        ("attach '{folder}/other.sqlite' as other", "can only read"),
        ("vacuum into '{folder}/other.sqlite'", "can only read"),
        ("pragma query_only = 0", "can only read"),
        ("pragma journal_mode = delete", "can only read"),
        ("begin", "not a query"),
        ("create temp table x (a)", "not a query"),
        ("drop table trials", "can only read"),
        ("select load_extension('x')", "can only read"),
        ("select subject from trial", "no such column: subject; .*the columns of trial are id, campaign_id"),
        ("", "not a query"),
        ("select 1; drop table trial", "one statement at a time"),
        ("selec 1", "syntax error"),
        (
            "select threds from trials",
            "no such column: threds; did you mean threads?; the columns .* throughput",
        ),
        ("select * from trails", 'no such table: trails; did you mean trials?; there are trials, .*"a b"'),
        ("select mediam(throughput) from trials", "no such function: mediam"),
        ("select median(subject) from trials", "median takes numbers, not 'a'"),
        ("select quantile(throughput, 1.5) from trials", "needs a p from 0 to 1, not 1.5"),
        ("select quantile(throughput, null) from trials", "needs a p from 0 to 1, not None"),
        (
            "select quantile(throughput, ordinal / 10.0) from trials join trial t on t.id = trial",
            "one p for a",
        ),
    ],
)
def test_a_query_that_is_none_gets_one_clear_line_and_changes_nothing(
    store: Store, sql: str, message: str
) -> None:
    campaign = begin(store, experiment="a b")
    for ordinal in range(2):
        store.record(campaign, ordinal, measured(1))
    before = sorted(Path(str(store.name)).parent.iterdir())
    with pytest.raises(AssayError, match=message.replace("?;", r"\?;")) as raised:
        store.query(sql.format(folder=Path(str(store.name)).parent))
    assert "\n" not in str(raised.value)
    assert sorted(Path(str(store.name)).parent.iterdir()) == before
    assert len(store.trials(campaign)) == 2


@both
def test_a_query_before_the_first_campaign_says_so(store: Store) -> None:
    with pytest.raises(AssayError, match="no campaign yet"):
        store.query("select * from trials")
    assert store.query("select count(*) from trial")[1] == [(0,)]


def test_a_query_may_take_records_apart(store: Store) -> None:
    campaign = begin(store)
    outcome = measured(1)
    result = {**(outcome.result or {}), "threads": [{"series": [3, 4]}]}
    store.record(campaign, 0, replace(outcome, result=result))
    sql = "select value from record, json_each(outcome, '$.result.threads[0].series')"
    assert store.query(sql)[1] == [(3,), (4,)]


@EXCEPTIONS_IN_CALLBACKS
def test_ctrl_c_ends_a_query_without_end(store: Store) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            store.query(
                "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select zeroblob(2000000000)", "more than 256 MiB"),
        ("select replace(hex(zeroblob(100000000)), '0', 'abcdef')", "more than 256 MiB"),
        ("select '\udcff'", "not text in UTF-8"),
        ("select median(cast(x'ff' as text))", "take numbers"),
    ],
)
def test_what_a_query_must_not_do_is_refused(store: Store, sql: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        store.query(sql)


def test_a_query_without_end_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "LONGEST_S", 0)
    with pytest.raises(AssayError, match="ended after 0 s"):
        store.query("with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r")


def test_the_name_of_the_file_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory%20#é" / ":memory:"
    with Store.open(path) as store:
        campaign = begin(store)
        store.record(campaign, 0, measured(3))
        assert store.query("select throughput from trials")[1] == [(3,)]
    assert path.is_file()


def test_a_query_reads_text_that_is_no_text(store: Store) -> None:
    campaign = begin(store)
    store.record(campaign, 0, replace(measured(1), stderr="half \ud800 a pair"))
    [(text,)] = store.query("select json_extract(outcome, '$.stderr') from record")[1]
    assert text.startswith("half \ufffd")
    assert text.endswith(" a pair")


values = st.lists(st.none() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300), max_size=30)


@given(values=values, p=st.floats(0, 1))
def test_median_and_quantile_are_those_of_numpy_without_nulls(
    shared_store: Store, values: list[float | None], p: float
) -> None:
    rows = " union all select ".join(["cast(null as float) as value", *map(json.dumps, values)])
    sql = f"select median(value), quantile(value, {p!r}) from (select {rows}) as held"
    [(median, quantile)] = shared_store.query(sql)[1]
    numbers = [value for value in values if value is not None]
    if not numbers:
        assert (median, quantile) == (None, None)
        return
    assert median == pytest.approx(np.median(numbers), rel=1e-12, abs=1e-300)
    assert quantile == pytest.approx(np.quantile(numbers, p), rel=1e-12, abs=1e-300)
    assert min(numbers) <= quantile <= max(numbers)


def test_median_of_no_rows_is_null(shared_store: Store) -> None:
    assert shared_store.query("select median(1), quantile(1, 0.5) where 1 = 0")[1] == [(None, None)]


# Names


@pytest.mark.parametrize("name", ["x/a.sqlite", "sqlite:///x/a.sqlite"])
def test_a_store_is_named_by_a_path_or_a_url(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(name) as store:
        assert store.name == Path("x/a.sqlite")
    with Store.open(f"sqlite:///{tmp_path}/x/a.sqlite", create=False) as store:
        assert store.campaigns() == []


@pytest.mark.parametrize("name", ["mysql://me:secret@host/assay", "sqlite://x", "sqlite:///"])
def test_the_url_of_anything_else_is_refused(name: str) -> None:
    with pytest.raises(AssayError, match="is not a store: name its file, ") as raised:
        Store.open(name)
    assert "secret" not in str(raised.value)


def test_a_short_file_that_is_not_a_store_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    for size in (1, 2, 100, 511, 512, 5000):
        file.write_bytes(b"x" * size)
        with pytest.raises(AssayError, match="is not a store"):
            Store.open(file)
        assert file.read_bytes() == b"x" * size


# Perturbation


@pytest.mark.parametrize(
    ("perturbation", "unperturbed"),
    [
        ({}, True),
        ({"key_range": 0.0, "environment_bytes": 0}, True),
        ({"key_range": 0.0, "environment_bytes": 16}, False),
        ({"key_range": -1.5}, False),
        ({"address_space": "fixed"}, True),
        ({"address_space": "random"}, False),
        ({"thread_order": 12345}, False),
    ],
)
def test_a_trial_is_unperturbed_if_nothing_was_moved(
    store: Store, perturbation: dict[str, float | str], *, unperturbed: bool
) -> None:
    campaign = begin(store)
    store.record(campaign, 0, measured(1))
    [kept] = store.trials(campaign)
    assert replace(kept, perturbation=perturbation).unperturbed == unperturbed


@both
def test_a_stored_trial_has_what_was_drawn_for_it(store: Store) -> None:
    trials = [replace(planned(0), perturbation={"key_range": 1.5, "address_space": "fixed"})]
    campaign = begin(store, trials)
    store.record(campaign, 0, measured(1))
    [kept] = store.trials(campaign)
    assert kept.perturbation == {"key_range": 1.5, "address_space": "fixed"}


def test_perturbed_trials_represent_a_condition_if_there_are_any(store: Store) -> None:
    trials = [replace(planned(number), perturbation={"key_range": float(number)}) for number in range(3)]
    campaign = begin(store, trials)
    for number in range(3):
        store.record(campaign, number, measured(1))
    kept = store.trials(campaign)
    assert representative(kept) == kept[1:]
    assert representative(kept[:1]) == kept[:1]
