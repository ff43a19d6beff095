import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import assay
from assay.errors import AssayError
from assay.experiment import parse
from assay.plan.types import Plan, PlannedTrial
from assay.report import gather
from assay.report.gather import Report
from assay.runner.types import Outcome
from assay.store import Store
from assay_foreign.frames import FORMATS, Data, write_tables
from assay_foreign.frames.write import Format

SOURCE = """
name = "maps"
question = "Which?"
[factors]
subject = ["one", "two"]
[factors.variant]
plain = {}
"=1+1" = { threads = 2 }
[trial]
key_range = 10
mix = { insert = 50, erase = 50, find = 0 }
[design]
blocks = 8
[comparison]
metric = "throughput"
factor = "subject"
baseline = "one"
smallest_effect_percent = 3
accept_invalid = true
"""
BLOCKS = 8
INVALID = 7  # the ordinal of the one trial that does not count


def planned() -> Iterator[PlannedTrial]:
    for block in range(BLOCKS):
        for place, variant in enumerate(["plain", "=1+1"]):
            for subject in ["one", "two"]:
                ordinal = block * 4 + place * 2 + (subject == "two")
                yield PlannedTrial(
                    ordinal,
                    block,
                    block * 2 + place,
                    {"subject": subject, "variant": variant},
                    {"seed": ordinal, "interval_ms": 10},
                    "/bin/x",
                    {},
                    1.0,
                    512,
                )


def outcome(trial: PlannedTrial) -> Outcome:
    twice = 2 if trial.levels["subject"] == "two" else 1
    result: dict[str, Any] = {
        "protocol": 1,
        "status": "valid",
        "metrics": {"throughput": 1000.0 * twice + trial.block},
        "threads": [{"series": [trial.ordinal, 7, 3]}, {"series": [1, 2]}],
    }
    return Outcome(
        status="invalid" if trial.ordinal == INVALID else "valid",
        reason="wrong" if trial.ordinal == INVALID else "",
        exit_code=0,
        result=result,
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none",
        started_at=datetime(2025, 1, 31, tzinfo=UTC) + timedelta(seconds=trial.ordinal),
        wall_s=0.25,
    )


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Data]:
    yield from recorded(tmp_path / "assay.sqlite", SOURCE, "variant")


def recorded(
    path: Path, source: str, factor: str, ended: Callable[[PlannedTrial], Outcome] = outcome
) -> Iterator[Data]:
    """Record a campaign whose second factor has this name, and open it."""
    experiment = parse(source, Path("/maps.toml"))
    flaws = {"flaws": experiment.flaws()} if experiment.flaws() else {}
    plan = Plan(
        1,
        tuple(
            replace(
                trial,
                levels={"subject": trial.levels["subject"], factor: trial.levels["variant"]},
                request={**trial.request, **flaws},
            )
            for trial in planned()
        ),
    )
    with Store.open(path) as store:
        campaign = store.begin_campaign(
            experiment=experiment,
            plan=plan,
            host={"name": "here"},
        )
        for trial in plan.trials:
            store.record(campaign, trial.ordinal, ended(trial))
    with assay.open(path) as opened:
        yield opened


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def column(frame: pd.DataFrame, name: str) -> list[Any]:
    return list(frame[name])


def test_a_campaign_is_a_row_with_what_became_of_its_trials(data: Data) -> None:
    [row] = rows(data.campaigns().reset_index())
    assert (row["campaign"], row["experiment"], row["host"]) == (1, "maps", "here")
    assert (row["planned"], row["ended"], row["valid"]) == (4 * BLOCKS, 4 * BLOCKS, 4 * BLOCKS - 1)


def test_a_trial_is_a_row_whose_metrics_are_missing_unless_it_is_valid(data: Data) -> None:
    trials = rows(data.trials())
    assert len(trials) == 4 * BLOCKS
    assert [row["status"] for row in trials if pd.isna(row["throughput"])] == ["invalid"]
    assert trials[0]["started_at"] == pd.Timestamp("2025-01-31", tz="UTC")
    medians = dict(data.trials().groupby("subject")["throughput"].median())
    assert medians["two"] > 1.9 * medians["one"]


def test_the_series_has_a_row_for_each_interval_of_each_thread_of_valid_trials(data: Data) -> None:
    series = rows(data.series())
    assert len(series) == (4 * BLOCKS - 1) * 5
    third = [(row["thread"], row["start_ms"], row["operations"]) for row in series if row["trial"] == 4]
    assert third == [(0, 0, 3), (0, 10, 7), (0, 20, 3), (1, 0, 1), (1, 10, 2)]
    assert INVALID + 1 not in {row["trial"] for row in series}


def test_the_verdicts_are_those_of_the_report(data: Data) -> None:
    plain, hostile = rows(data.verdicts())
    assert (plain["variant"], hostile["variant"]) == ("plain", "=1+1")
    assert (plain["level"], plain["baseline"], plain["pairs"]) == ("two", "one", BLOCKS)
    assert plain["low"] <= plain["ratio"] <= plain["high"]
    assert 1.98 < plain["ratio"] < 2
    assert plain["verdict"] == "faster"
    assert hostile["dropped"] == 1


def test_the_verdicts_of_what_misleads_on_purpose_say_so(data: Data, tmp_path: Path) -> None:
    assert column(data.verdicts(), "mark") == [None, None]
    trial = '[pitfall]\ndeliberate = true\n[trial]\nflaws = ["one_seed"]\n'
    flawed = SOURCE.replace("[trial]\n", trial)
    opened = recorded(tmp_path / "flawed.sqlite", flawed, "variant")
    assert set(column(next(opened).verdicts(), "mark")) == {"flawed on purpose: one_seed"}


@pytest.mark.parametrize(
    ("trial", "flaws"),
    [
        ("[trial]\n", None),
        ("[pitfall]\ndeliberate = true\n[trial]\n", "[]"),
        ('[pitfall]\ndeliberate = true\n[trial]\nflaws = ["one_seed"]\n', '["one_seed"]'),
    ],
)
def test_only_trials_that_may_be_counted_have_no_flaws(trial: str, flaws: str | None, tmp_path: Path) -> None:
    opened = recorded(tmp_path / "x.sqlite", SOURCE.replace("[trial]\n", trial), "variant")
    assert {row["flaws"] for row in rows(next(opened).query("select flaws from trials"))} == {flaws}


def test_the_findings_are_those_of_the_audit(data: Data) -> None:
    assert "invalid-trials" in column(data.findings(), "rule")


def test_a_query_and_a_record_are_within_reach(data: Data) -> None:
    assert rows(data.query("select count(*) as n from trials")) == [{"n": 4 * BLOCKS}]
    assert data.record(3)["levels"] == {"subject": "one", "variant": "=1+1"}


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_reads_back_as_it_was(data: Data, form: Format, tmp_path: Path) -> None:
    files = write_tables(data, 1, form, tmp_path / "out")
    names = [f"{name}.{form}" for name in ("trials", "series", "verdicts", "findings")]
    assert [file.name for file in files] == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    trials, series, verdicts, findings = (
        pd.read_csv(file) if form == "csv" else pd.read_parquet(file) for file in files
    )
    for name in ("throughput", "variant"):
        assert trials.set_index("trial")[name].equals(data.trials()[name])
    assert column(series, "operations") == column(data.series(), "operations")
    assert column(verdicts, "ratio") == pytest.approx(column(data.verdicts(), "ratio"))
    [where] = [row["where"] for row in rows(findings) if row["rule"] == "invalid-trials"]
    assert json.loads(where)


def test_what_is_not_there_is_said_plainly(data: Data, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no campaign 7"):
        data.trials(7)
    with pytest.raises(AssayError, match="no store at"):
        assay.open(tmp_path / "nothing")
    (tmp_path / "file").touch()
    with pytest.raises(AssayError, match="--output"):
        write_tables(data, 1, "csv", tmp_path / "file")


def test_a_store_without_campaigns_has_no_rows(tmp_path: Path) -> None:
    Store.open(tmp_path / "empty.sqlite").close()
    with assay.open(tmp_path / "empty.sqlite") as opened:
        assert opened.campaigns().empty
        with pytest.raises(AssayError, match="no campaign"):
            opened.trials()
        assert list(opened.campaigns().reset_index())[:2] == ["campaign", "experiment"]


@pytest.mark.parametrize("factor", ["level", "ratio", "metric", "all_p", "fast_low"])
def test_a_factor_named_as_another_column_has_a_column_of_its_own(factor: str, tmp_path: Path) -> None:
    for data in recorded(
        tmp_path / "a.sqlite", SOURCE.replace("factors.variant", f"factors.{factor}"), factor
    ):
        verdicts = data.verdicts()
        assert column(verdicts, f"factor_{factor}") == ["plain", "=1+1"]
        assert column(verdicts, "level") == ["two", "two"]
        assert all(1.98 < ratio < 2 for ratio in column(verdicts, "ratio"))


@pytest.mark.parametrize("form", FORMATS)
def test_metrics_near_the_limits_of_a_double_are_written_and_read(tmp_path: Path, form: Format) -> None:
    extremes = [1e308, 5e-324, 2**53 + 1, 2**70, 0, -1e308, sys.float_info.max, 1.0]

    def ended(trial: PlannedTrial) -> Outcome:
        usual = outcome(trial)
        metrics = {"throughput": extremes[trial.ordinal % len(extremes)]}
        return replace(usual, result={**(usual.result or {}), "metrics": metrics})

    for data in recorded(tmp_path / "a.sqlite", SOURCE, "variant", ended):
        trials, *_ = write_tables(data, None, form, tmp_path / "out")
        table = pd.read_csv(trials) if form == "csv" else pd.read_parquet(trials)
        values = [float(value) for value in table["throughput"].dropna()]
        assert sorted({*values}) == sorted({*map(float, extremes)})
        ratios = list(data.verdicts()["ratio"].dropna())
        assert all(0 < ratio < math.inf for ratio in ratios)


def test_what_is_closed_answers_no_more(tmp_path: Path) -> None:
    Store.open(tmp_path / "empty.sqlite").close()
    opened = assay.open(tmp_path / "empty.sqlite")
    opened.close()
    opened.close()
    with pytest.raises(AssayError, match="closed"):
        opened.campaigns()
    with pytest.raises(AssayError, match="closed"):
        opened.query("select 1")


@pytest.mark.parametrize("form", FORMATS)
def test_tables_without_rows_have_their_columns(
    data: Data, form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [list(table) for table in (data.verdicts(), data.findings())]

    def clean(store: Store, campaign: int) -> Report:
        report = gather(store, campaign)
        return replace(report, findings=[], analysis=replace(report.analysis, comparisons=(), also=()))

    monkeypatch.setattr("assay.report.gather", clean)
    _, _, *files = write_tables(data, 1, form, tmp_path / "out")
    tables = [pd.read_csv(file) if form == "csv" else pd.read_parquet(file) for file in files]
    assert [list(table) for table in tables] == expected
    assert all(table.empty for table in tables)
