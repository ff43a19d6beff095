import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.compare import Side, campaign_side, compare, condition_side
from assay.errors import AssayError
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store

SOURCE = """
name = "maps"
question = "Which?"
[factors]
subject = ["one", "two"]
threads = [1, 2]
[trial]
key_range = 10
mix = { insert = 50, erase = 50, find = 0 }
[design]
blocks = 12
[comparison]
metric = "throughput"
factor = "subject"
baseline = "one"
smallest_effect_percent = 3
"""
BLOCKS = 12
Speed = Callable[[str, int], float]
MakeSide = Callable[..., Side]


def planned() -> Iterator[PlannedTrial]:
    for block in range(BLOCKS):
        for threads in (1, 2):
            for subject in ("one", "two"):
                ordinal = block * 4 + (threads - 1) * 2 + (subject == "two")
                levels = {"subject": subject, "threads": threads}
                yield PlannedTrial(
                    ordinal, block, block * 2 + threads - 1, levels, {}, "/bin/x", {}, 1.0, 512
                )


@pytest.fixture
def side(tmp_path: Path) -> Iterator[MakeSide]:
    """Return a function that records a campaign in a store of its own and gives it as a side."""
    opened: list[Store] = []

    def make(
        name: str, speed: Speed, *, seed: int = 1, host: str = "here", source: str = SOURCE, lost: int = 0
    ) -> Side:
        engine = random.Random(seed)
        store = Store.open(tmp_path / f"{name}.sqlite")
        opened.append(store)
        plan = Plan(1, tuple(planned()))
        campaign = store.begin_campaign(
            experiment="maps",
            question="Which?",
            source=source,
            directory="/",
            plan=plan,
            host={"name": host, "processors": 2, "kernel": "6"},
        )
        for trial in plan.trials:
            threads = trial.levels["threads"]
            assert isinstance(threads, int)
            value = speed(str(trial.levels["subject"]), threads) * engine.lognormvariate(0, 0.002)
            store.record(campaign, trial.ordinal, outcome(value, valid=trial.ordinal >= lost))
        return campaign_side(store, None, name)

    yield make
    for store in opened:
        store.close()


def outcome(value: float, *, valid: bool) -> Outcome:
    return Outcome(
        status="valid" if valid else "invalid",
        reason="" if valid else "wrong",
        exit_code=0,
        result={"protocol": 1, "status": "valid", "metrics": {"throughput": value}},
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none",
        started_at=datetime(2025, 1, 31, tzinfo=UTC) + timedelta(seconds=1),
        wall_s=0.25,
    )


def flat(_subject: str, _threads: int) -> float:
    return 100.0


def rules(*sides: Side) -> set[str]:
    return {finding.rule for finding in compare(sides).findings}


def test_campaigns_are_compared_in_each_condition_and_the_change_is_found(side: MakeSide) -> None:
    before = side("before", flat)
    after = side(
        "after", lambda subject, threads: 120.0 if (subject, threads) == ("two", 2) else 100.0, seed=2
    )
    compared = compare([before, after])
    verdicts = {tuple(each.context.values()): each.verdict for each in compared.comparisons}
    assert verdicts == {
        ("one", 1): "equivalent",
        ("one", 2): "equivalent",
        ("two", 1): "equivalent",
        ("two", 2): "faster",
    }
    assert {each.pairs for each in compared.comparisons} == {BLOCKS}
    assert [finding.rule for finding in compared.findings] == ["not-interleaved"]


def test_conditions_of_one_campaign_need_no_warning(side: MakeSide) -> None:
    campaign = side("one", lambda _, threads: 100.0 * threads)
    single, double = (condition_side(campaign, f"subject=two,threads={threads}") for threads in (1, 2))
    [found] = compare([single, double]).comparisons
    assert found.ratio == pytest.approx(2, rel=0.01)
    assert found.verdict == "faster"
    assert compare([single, double]).findings == ()


def test_conditions_meet_in_their_own_block_alone(side: MakeSide) -> None:
    campaign = side("one", flat, lost=1)  # the first trial of one, threads=1
    sides = [condition_side(campaign, f"subject={name},threads=1") for name in ("one", "two")]
    [found] = compare(sides).comparisons
    assert found.pairs == BLOCKS - 1
    assert found.dropped == {"block without a partner": 1}


def test_different_hosts_are_an_error(side: MakeSide) -> None:
    sides = side("here", flat), side("there", flat, host="there")
    [finding] = [each for each in compare(sides).findings if each.rule == "different-hosts"]
    assert finding.severity == "error"
    assert "there" in " ".join(finding.where)


def test_conditions_of_the_same_name_with_different_settings_are_an_error(side: MakeSide) -> None:
    other = side("other", flat, source=SOURCE.replace("key_range = 10", "key_range = 1000"))
    assert "different-settings" in rules(side("one", flat), other)


def test_the_family_is_corrected(side: MakeSide) -> None:
    compared = compare([side("before", flat), side("after", flat, seed=2)])
    assert all(
        each.p is not None and each.p_adjusted is not None and each.p_adjusted >= each.p
        for each in compared.comparisons
    )
    assert any(each.p != each.p_adjusted for each in compared.comparisons)


def test_units_that_differ_are_refused(side: MakeSide) -> None:
    def in_unit(unit: str) -> str:
        rule = f"{{ line = 'throughput', unit = '{unit}' }}"
        subjects = "\n".join(
            f"[subjects.{name}]\nprogram = 'x'\nextract = {{ throughput = {rule} }}"
            for name in ("one", "two")
        )
        return SOURCE + subjects

    sides = (side(unit, flat, source=in_unit(unit)) for unit in ("s", "ms"))
    with pytest.raises(AssayError, match="throughput is in s for s but in ms for ms"):
        compare(list(sides))


def test_a_metric_that_one_side_lacks_is_refused(side: MakeSide) -> None:
    one, other = side("one", flat), side("other", flat)
    comparison = replace(one.experiment.comparison, metric="speed")
    with pytest.raises(AssayError, match=r"one: no valid trial of campaign 1 .* reports speed"):
        compare([replace(one, experiment=replace(one.experiment, comparison=comparison)), other])


def test_nothing_in_common_is_refused(side: MakeSide) -> None:
    other = side("other", flat, source=SOURCE.replace("threads = [1, 2]", "threads = [3, 4]"))
    with pytest.raises(AssayError, match="no condition in common"):
        compare([side("one", flat), other])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subjet=one", "subjet is no factor; did you mean subject"),
        ("subject=three", "three is no level of subject"),
        ("subject=one", "means 2 conditions; name the level of threads too"),
    ],
)
def test_what_names_no_condition_is_explained(side: MakeSide, text: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        condition_side(side("one", flat), text)
