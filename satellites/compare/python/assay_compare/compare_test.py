import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import looks
from assay.errors import AssayError
from assay.experiment import parse
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.types import StoredTrial
from assay_compare.compare import compare
from assay_compare.sides import Side, campaign_side, condition_side

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
Metrics = Callable[[float], dict[str, float]]
MakeSide = Callable[..., Side]


def planned(most_threads: int) -> Iterator[PlannedTrial]:
    for block in range(BLOCKS):
        for place, threads in enumerate((most_threads - 1, most_threads)):
            for subject in ("one", "two"):
                ordinal = block * 4 + place * 2 + (subject == "two")
                levels = {"subject": subject, "threads": threads}
                yield PlannedTrial(ordinal, block, block * 2 + place, levels, {}, "/bin/x", {}, 1.0, 512)


@pytest.fixture
def side(tmp_path: Path) -> Iterator[MakeSide]:
    """Return a function that records a campaign in a store of its own and gives it as a side."""
    opened: list[Store] = []

    def make(
        name: str,
        speed: Speed,
        *,
        seed: int = 1,
        host: str = "here",
        source: str = SOURCE,
        lost: int = 0,
        ended: int = BLOCKS,
        most_threads: int = 2,
        metrics: Metrics = lambda value: {"throughput": value},
    ) -> Side:
        engine = random.Random(seed)
        store = Store.open(tmp_path / f"{name}.sqlite")
        opened.append(store)
        plan = Plan(1, tuple(planned(most_threads)))
        campaign = store.begin_campaign(
            experiment=parse(source, Path("/maps.toml")),
            plan=plan,
            host={"name": host, "processors": 2, "kernel": "6"},
        )
        for trial in plan.trials[: 4 * ended]:
            threads = trial.levels["threads"]
            assert isinstance(threads, int)
            value = speed(str(trial.levels["subject"]), threads) * engine.lognormvariate(0, 0.002)
            store.record(campaign, trial.ordinal, outcome(metrics(value), valid=trial.ordinal >= lost))
        return campaign_side(store, None, name)

    yield make
    for store in opened:
        store.close()


def outcome(metrics: dict[str, float], *, valid: bool) -> Outcome:
    return Outcome(
        status="valid" if valid else "invalid",
        reason="" if valid else "wrong",
        exit_code=0,
        result={"protocol": 1, "status": "valid", "metrics": metrics},
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
    verdicts = {tuple(comparison.context.values()): comparison.verdict for comparison in compared.comparisons}
    assert verdicts == {
        ("one", 1): "equivalent",
        ("one", 2): "equivalent",
        ("two", 1): "equivalent",
        ("two", 2): "faster",
    }
    assert {comparison.pairs for comparison in compared.comparisons} == {BLOCKS}
    assert [finding.rule for finding in compared.findings] == ["not-interleaved"]


def test_campaigns_under_different_settings_of_the_host_are_told(side: MakeSide) -> None:
    before, after = side("before", flat), side("after", flat, seed=2)

    def under(side: Side, **settings: str) -> Side:
        trials = tuple(replace(trial, host="digest") for trial in side.trials)
        return replace(side, trials=trials, environments={"digest": settings})

    same = compare([under(before, swap="60"), under(after, swap="60")])
    assert "different-host-settings" not in {finding.rule for finding in same.findings}
    changed = compare([under(before, swap="60", turbo="0"), under(after, swap="0", turbo="0")])
    [finding] = [finding for finding in changed.findings if finding.rule == "different-host-settings"]
    assert finding.where == ("swap: 60 in before; 0 in after",)


def test_conditions_of_one_campaign_need_no_warning(side: MakeSide) -> None:
    campaign = side("one", lambda _, threads: 100.0 * threads)
    single, double = (condition_side(campaign, f"subject=two,threads={threads}") for threads in (1, 2))
    [comparison] = compare([single, double]).comparisons
    assert comparison.ratio == pytest.approx(2, rel=0.01)
    assert comparison.verdict == "faster"
    assert compare([single, double]).findings == ()


def test_conditions_meet_in_their_own_block_alone(side: MakeSide) -> None:
    source = SOURCE.replace("[comparison]", "[comparison]\naccept_invalid = true")
    campaign = side("one", flat, lost=1, source=source)  # the first trial of one, threads=1
    sides = [condition_side(campaign, f"subject={name},threads=1") for name in ("one", "two")]
    [comparison] = compare(sides).comparisons
    assert comparison.pairs == BLOCKS - 1
    assert comparison.dropped == {"not valid": 1}


def test_a_side_of_which_a_trial_failed_gets_no_verdict(side: MakeSide) -> None:
    campaign = side("one", flat, lost=1)
    sides = [condition_side(campaign, f"subject={name},threads=1") for name in ("one", "two")]
    [comparison] = compare(sides).comparisons
    assert (comparison.verdict, comparison.ratio, comparison.withheld) == ("undecided", None, True)
    assert comparison.reason.startswith(f"1 of {BLOCKS} trials of subject=one,threads=1 ")
    assert comparison.dropped == {"not valid": 1, "withheld": BLOCKS - 1}


def test_a_side_in_which_nothing_happens_gets_no_verdict(side: MakeSide) -> None:
    def idle(value: float) -> dict[str, float]:
        return {"throughput": value, "final_size": 0.0, "effective_share": 0.0}

    accepting = SOURCE.replace("[comparison]", "[comparison]\naccept_idle = true")
    for source, reason in ((SOURCE, "measured an empty structure"), (accepting, "")):
        sides = [
            side(f"old{bool(reason)}", flat, source=source),
            side(f"new{bool(reason)}", flat, metrics=idle, source=source),
        ]
        comparisons = compare(sides).comparisons
        assert all(answer.withheld == bool(reason) for answer in comparisons)
        assert all(reason in answer.reason for answer in comparisons)


def test_different_hosts_are_an_error(side: MakeSide) -> None:
    sides = side("here", flat), side("there", flat, host="there")
    [finding] = [finding for finding in compare(sides).findings if finding.rule == "different-hosts"]
    assert finding.severity == "error"
    assert "there" in " ".join(finding.where)


def test_conditions_of_the_same_name_with_different_settings_are_an_error(side: MakeSide) -> None:
    other = side("other", flat, source=SOURCE.replace("key_range = 10", "key_range = 1000"))
    assert "different-settings" in rules(side("one", flat), other)


def test_the_family_is_corrected(side: MakeSide) -> None:
    compared = compare([side("before", flat), side("after", flat, seed=2)])
    assert all(
        comparison.p is not None
        and comparison.p_adjusted is not None
        and comparison.p_adjusted >= comparison.p
        for comparison in compared.comparisons
    )
    assert any(comparison.p != comparison.p_adjusted for comparison in compared.comparisons)


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
    first, other = side("one", flat), side("other", flat)
    comparison = first.experiment.comparison.model_copy(update={"metric": "speed"})
    changed = first.experiment.model_copy(update={"comparison": comparison})
    with pytest.raises(AssayError, match=r"one: no valid trial of campaign 1 .* reports speed"):
        compare([replace(first, experiment=changed), other])


def test_nothing_in_common_is_refused(side: MakeSide) -> None:
    text = SOURCE.replace("threads = [1, 2]", "threads = [3, 4]")
    other = side("other", flat, source=text, most_threads=4)
    with pytest.raises(AssayError, match="no condition in common"):
        compare([side("one", flat), other])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subjet=one", "subjet is not a factor; did you mean subject"),
        ("subject=three", "three is not a level of subject"),
        ("subject=one", "means 2 conditions; name the level of threads too"),
        ("threads=1,subject=one,threads=2", "threads is named twice"),
        ("subject=one,threads=1,2", "2 is not a factor"),
    ],
)
def test_what_names_no_condition_is_explained(side: MakeSide, text: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        condition_side(side("one", flat), text)


def test_a_level_may_hold_a_comma(side: MakeSide) -> None:
    text = SOURCE.replace(
        "threads = [1, 2]", 'pinning = [[0, 1], [1]]\n[factors.threads]\n"a,b" = 1\n"=c" = 2\n'
    )
    campaign = side("one", flat, source=text)
    condition = condition_side(campaign, "threads=a,b,subject=one,pinning=0,1").condition
    assert condition == {"subject": "one", "pinning": "0,1", "threads": "a,b"}
    condition = condition_side(campaign, "pinning=1,threads==c,subject=two").condition
    assert condition == {"subject": "two", "pinning": "1", "threads": "=c"}


def test_every_side_is_compared_by_the_metric_of_the_first(side: MakeSide) -> None:
    def with_speed(factor: float) -> Metrics:
        return lambda value: {"throughput": value, "speed": factor * value}

    other = SOURCE.replace('metric = "throughput"', 'metric = "speed"').replace(
        "\nbaseline", '\nbetter = "lower"\nbaseline'
    )
    compared = compare(
        [
            side("one", flat, metrics=with_speed(7)),
            side("two", flat, seed=2, source=other, metrics=with_speed(9)),
        ]
    )
    assert {comparison.metric for comparison in compared.comparisons} == {"throughput"}
    assert {comparison.verdict for comparison in compared.comparisons} == {"equivalent"}
    [finding] = [finding for finding in compared.findings if finding.rule == "different-programs"]
    assert finding.where == (
        "two has comparison.metric = speed, not throughput",
        "two has comparison.better = lower, not higher",
    )


def test_programs_that_differ_are_noted(side: MakeSide) -> None:
    def calling(arguments: str) -> str:
        program = f"program = './x'\narguments = {arguments}\nextract = 'lines'"
        return f"{SOURCE}[subjects.one]\n{program}\n[subjects.two]\n{program}"

    same, other = calling("['--fast']"), calling("['--slow']")
    sides = [side(name, flat, source=text) for name, text in (("a", same), ("b", same), ("c", other))]
    assert "different-programs" not in rules(*sides[:2])
    [finding] = [finding for finding in compare(sides).findings if finding.rule == "different-programs"]
    assert finding.severity == "note"
    assert finding.where == tuple(
        f'c has subjects.{name}.arguments = ["--slow"], not ["--fast"]' for name in ("one", "two")
    )


def test_a_side_is_not_compared_with_itself_by_another_name(side: MakeSide, tmp_path: Path) -> None:
    campaign = side("one", flat)
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "one.sqlite")
    with (
        Store.open(tmp_path / "link.sqlite") as link,
        pytest.raises(AssayError, match="one and two are the same"),
    ):
        compare([campaign, campaign_side(link, 1, "two")])
    texts = "threads=1,subject=one", "subject=one,threads=1"
    with pytest.raises(AssayError, match=f"{texts[0]} and {texts[1]} are the same"):
        compare([condition_side(campaign, text) for text in texts])


def test_a_campaign_that_may_end_early_counts_to_its_last_look_at_the_confidence_of_that(
    side: MakeSide,
) -> None:
    text = SOURCE.replace("blocks = 12", "blocks = 18\nuntil_width_percent = 3")
    text = text.replace("[comparison]", '[comparison]\ncorrection = "none"')
    early = side("early", flat, source=text, ended=11)
    fixed = side("fixed", flat, seed=2)
    again = side("again", flat, seed=3, source=text, ended=11)
    first = looks(early.experiment.design)[0]
    level = 1 - first.confidence
    assert first.blocks == 8
    assert level < 0.05
    conditions = [condition_side(early, f"subject={name},threads=1") for name in ("one", "two")]
    for sides, confidence in (
        (conditions, 1 - level),
        ([early, fixed], 1 - level),
        ([fixed, early], 1 - level),
        ([early, again], 1 - level**2 / 0.05),
    ):
        compared = compare(sides)
        assert compared.confidence == pytest.approx(confidence)
        for comparison in compared.comparisons:
            assert comparison.pairs == 8
            assert comparison.interval is None or comparison.interval.confidence >= confidence


def test_a_campaign_before_its_first_look_has_no_verdict(side: MakeSide) -> None:
    text = SOURCE.replace("blocks = 12", "blocks = 18\nuntil_width_percent = 3")
    text = text.replace("[comparison]", '[comparison]\ncorrection = "none"')
    compared = compare([side("fixed", flat), side("early", flat, seed=2, source=text, ended=7)])
    assert {comparison.verdict for comparison in compared.comparisons} == {"undecided"}
    assert all("first planned look" in comparison.reason for comparison in compared.comparisons)


def test_a_campaign_that_is_not_finished_is_said(side: MakeSide) -> None:
    whole, part = side("whole", flat), side("part", flat, seed=2, ended=9)
    compared = compare([whole, part])
    [finding] = [finding for finding in compared.findings if finding.rule == "unfinished"]
    assert finding.where == ("campaign 1 of part.sqlite: 36 of 48 trials have ended",)
    assert "assay resume --campaign 1 --store" in finding.remedy
    assert {tuple(comparison.dropped.items()) for comparison in compared.comparisons} == {(("not run", 3),)}
    conditions = [condition_side(part, f"subject={name},threads=1") for name in ("one", "two")]
    assert rules(*conditions) == {"unfinished"}


def test_blocks_without_a_pair_have_the_reason_that_they_have(side: MakeSide) -> None:
    campaign = side("one", flat)

    def spoilt(trial: StoredTrial) -> StoredTrial:
        if trial.levels != {"subject": "two", "threads": 2}:
            return trial
        changes: dict[int, StoredTrial] = {
            0: replace(trial, status="crashed"),
            1: replace(trial, metrics={}),
            2: replace(trial, metrics={"throughput": math.inf}),
        }
        return changes.get(trial.block, trial)

    def calibrated(trial: StoredTrial) -> StoredTrial:
        """Return the trial with a host that is slow in every other block, and changes within block 3."""
        slow = trial.block % 2 == 1
        before, after = (
            {"core_to_core_ns": 200.0 if at else 100.0} for at in (slow, slow != (trial.block == 3))
        )
        return replace(trial, calibration_before=before, calibration_after=after)

    trials = tuple(calibrated(spoilt(trial)) for trial in campaign.trials)
    accepting = campaign.experiment.comparison.model_copy(update={"accept_invalid": True})
    experiment = campaign.experiment.model_copy(update={"comparison": accepting})
    campaign = replace(campaign, experiment=experiment)
    sides = [
        condition_side(replace(campaign, trials=trials), f"subject={name},threads=2")
        for name in ("one", "two")
    ]
    [comparison] = compare(sides).comparisons
    assert comparison.dropped == {"not valid": 1, "metric missing": 1, "not finite": 1, "host changed": 1}
    assert comparison.pairs == BLOCKS - 4
    assert comparison.all_groups.pairs == BLOCKS - 3


def test_extreme_metrics_end_no_comparison(side: MakeSide) -> None:
    sides = [side("one", lambda _subject, _threads: 1.0), side("two", lambda _subject, _threads: 1.0, seed=2)]
    extremes = [0.0, 5e-324, 1.0, 2.0**53 + 1, 2**70, 1e308, math.nextafter(math.inf, 0), -1e308]

    @settings(deadline=None, max_examples=25)
    @given(st.lists(st.sampled_from(extremes), min_size=1, max_size=4), st.randoms(use_true_random=False))
    def compared(values: list[float], chance: random.Random) -> None:
        changed = [
            replace(
                side,
                trials=tuple(replace(t, metrics={"throughput": chance.choice(values)}) for t in side.trials),
            )
            for side in sides
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for row in compare(changed).comparisons:
                assert row.ratio is None or 0 < row.ratio < math.inf

    compared()


def test_verdicts_that_differ_are_told_the_opposite_ones_first(side: MakeSide) -> None:
    def before(subject: str, threads: int) -> float:
        return {("two", 1): 100.1, ("two", 2): 150.0}.get((subject, threads), 100.0)

    def after(subject: str, threads: int) -> float:
        return {("two", 1): 150.0, ("two", 2): 50.0}.get((subject, threads), 100.0)

    [unchanged, changed] = compare([side("a", before), side("b", before, seed=2), side("c", after)]).changes
    assert (unchanged.side, unchanged.common, unchanged.changed) == ("b", 2, ())
    assert (changed.side, changed.common) == ("c", 2)
    first, second = changed.changed
    assert first.condition == {"subject": "two", "threads": 2}
    assert (first.before, first.after, first.reversed) == ("faster", "slower", True)
    assert (second.before, second.after, second.reversed) == ("equivalent", "faster", False)
    assert first.ratio_before == pytest.approx(1.5, rel=0.01)
    assert first.ratio_after == pytest.approx(0.5, rel=0.01)


def test_only_what_both_compare_with_the_same_has_a_verdict_that_may_change(side: MakeSide) -> None:
    other = SOURCE.replace('baseline = "one"', 'baseline = "two"')
    [changes] = compare([side("a", flat), side("b", flat, source=other)]).changes
    assert (changes.common, changes.changed) == (0, ())


def test_conditions_have_no_verdicts_of_their_own(side: MakeSide) -> None:
    whole = side("a", flat)
    conditions = [condition_side(whole, f"subject={name},threads=1") for name in ("one", "two")]
    assert compare(conditions).changes == ()


FLAWED = SOURCE.replace("[trial]\n", '[pitfall]\ndeliberate = true\n[trial]\nflaws = ["never_inserts"]\n')


def test_campaigns_that_mislead_on_purpose_are_compared_with_none_that_does_not(side: MakeSide) -> None:
    honest, flawed = side("honest", flat), side("flawed", flat, source=FLAWED)
    for sides in ([honest, flawed], [flawed, honest]):
        with pytest.raises(AssayError, match="flawed: flawed on purpose: never_inserts, and honest is not"):
            compare(sides)
    again = compare([flawed, side("again", flat, source=FLAWED, seed=2)])
    assert again.comparisons
    (finding,) = (finding for finding in again.findings if finding.rule == "flawed-on-purpose")
    assert finding.severity == "error"
    assert finding.where[0] == "flawed: flawed on purpose: never_inserts"


def test_a_campaign_that_misleads_without_flaws_of_the_loop_is_not_compared_with_an_honest_one(
    side: MakeSide,
) -> None:
    deliberate = SOURCE.replace("[trial]\n", "[pitfall]\ndeliberate = true\n[trial]\n")
    with pytest.raises(AssayError, match="misleading: misleads on purpose, and honest is not so"):
        compare([side("honest", flat), side("misleading", flat, source=deliberate)])
