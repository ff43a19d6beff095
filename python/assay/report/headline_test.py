"""The answer in a sentence, and the picture of it."""

import re
from dataclasses import replace

import pytest

from assay.analysis import summarise
from assay.plan.types import PlannedTrial
from assay.report.gather import Report
from assay.report.headline import headline
from assay.report.markdown import summary
from assay.report.picture import ladders, picture
from example_report import example_report, experiment_text

SPEED = {"noop": 1.0, "std_map_mutex": 0.5, "tbb_hash_map": 2.0}
FACTORS = 'subject = ["noop", "std_map_mutex", "tbb_hash_map"]\nthreads = [1, 2]'
MIX = "mix = { insert = 10, erase = 10, find = 80 }"


def metrics(trial: PlannedTrial) -> dict[str, float]:
    return {"throughput": 1e6 * SPEED[str(trial.levels["subject"])] * (1 + 0.01 * (trial.ordinal * 7 % 11))}


def report() -> Report:
    return example_report(experiment_text(FACTORS, trial=MIX), metrics)


def test_a_few_levels_are_named_the_best_first() -> None:
    assert re.fullmatch(
        r"tbb_hash_map is fastest: \S+ times noop( with one thread, \S+ with 2 threads)?\. std_map_mutex is "
        r"slower( in every context)?: 0\.5\d times noop( with one thread, 0\.5\d with 2 threads)?\.",
        headline(report()).replace("tbb_hash_map is fastest in every context", "tbb_hash_map is fastest"),
    )


def test_a_level_is_the_fastest_only_where_its_interval_is_apart_from_those_of_others() -> None:
    def close(trial: PlannedTrial) -> dict[str, float]:
        speed = {"noop": 1.0, "std_map_mutex": 2.0, "tbb_hash_map": 2.001}[str(trial.levels["subject"])]
        return {"throughput": 1e6 * speed * (1 + 0.01 * (trial.ordinal * 7 % 11))}

    said = headline(example_report(experiment_text(FACTORS, trial=MIX), close))
    assert "fastest" not in said
    assert "tbb_hash_map is faster" in said


def test_of_many_contexts_none_is_named() -> None:
    factors = FACTORS.replace("[1, 2]", "[1, 2, 3, 4]")
    said = headline(example_report(experiment_text(factors, trial=MIX), metrics))
    assert re.match(r"tbb_hash_map is fastest in every context: (\S+ to )?\S+ times noop\.", said)


def test_a_level_that_differs_by_context_is_counted() -> None:
    def crossing(trial: PlannedTrial) -> dict[str, float]:
        better = trial.levels["subject"] == "tbb_hash_map" and trial.levels["threads"] == 1
        throughput = metrics(trial)["throughput"] if better else 1e6 * (1 + 0.001 * (trial.ordinal % 7))
        return {"throughput": throughput}

    sentence = headline(example_report(experiment_text(FACTORS, trial=MIX), crossing))
    assert re.search(
        r"tbb_hash_map is faster with one thread \(\S+ times noop\) and equivalent with 2 threads\.", sentence
    )
    assert "std_map_mutex is equivalent to noop in every context." in sentence


def test_of_many_levels_the_extreme_ones_are_named() -> None:
    names = [f"map_{number}" for number in range(8)]
    levels = {name: {"key_range": 100 + number} for number, name in enumerate(names)}
    factor = "\n".join(f"{name} = {{ key_range = {level['key_range']} }}" for name, level in levels.items())
    text = experiment_text(f"[factors.size]\n{factor}", factor="size", baseline='"map_3"', blocks=16)
    text = text.replace("[trial]\nkey_range = 100", '[trial]\nsubject = "noop"\n' + MIX)

    def by_number(trial: PlannedTrial) -> dict[str, float]:
        place = names.index(str(trial.levels["size"]))
        return {"throughput": 1e6 * 1.5**place * (1 + 0.001 * (trial.ordinal % 7))}

    assert re.fullmatch(
        r"4 of 7 are faster than map_3, most of all map_7: 5\.0\d times map_3\. "
        r"3 of 7 are slower than map_3, most of all map_0: 0\.(29|30) times map_3\.",
        headline(example_report(text, by_number)),
    )


def test_of_a_cost_the_sentence_says_of_what_the_ratio_is() -> None:
    text = experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX)
    given = example_report(text.replace("[comparison]", '[comparison]\nbetter = "lower"'), metrics)
    assert re.fullmatch(r"std_map_mutex is faster: 0\.5\d* times the throughput of noop\.", headline(given))
    assert [panel.context for panel in picture(given).panels] == [""]


def test_what_is_so_over_all_workloads_comes_first() -> None:
    """Each workload differs from block to block more than all of them together."""

    def opposite(trial: PlannedTrial) -> dict[str, float]:
        drift = (1 if trial.levels["threads"] == 1 else -1) * (trial.block % 7 - 3)
        faster = trial.levels["subject"] == "tbb_hash_map"
        return {
            "throughput": 1e6
            * 1.1**faster
            * (1.2**drift if faster else 1)
            * (1 + 0.001 * (trial.ordinal % 7))
        }

    text = experiment_text('subject = ["noop", "tbb_hash_map"]\nthreads = [1, 2]', trial=MIX, blocks=14)
    text = text.replace("[comparison]", '[comparison]\nacross = ["threads"]')
    assert re.fullmatch(
        r"Over all levels of threads, tbb_hash_map is faster: 1\.[01]\d* times noop\."
        r" One by one: nothing is decided\.",
        headline(example_report(text, opposite)),
    )
    assert re.fullmatch(
        r"Over all levels of threads, tbb_hash_map is fastest: \S+ times noop\. std_map_mutex is slower: \S+"
        r" times noop\. One by one: the same\.",
        headline(
            example_report(
                experiment_text(FACTORS, trial=MIX).replace(
                    "[comparison]", '[comparison]\nacross = ["threads"]'
                ),
                metrics,
            )
        ),
    )


def test_where_nothing_is_decided_no_level_is_named() -> None:
    def scattered(trial: PlannedTrial) -> dict[str, float]:
        return {"throughput": 1e6 * 1.5 ** (trial.ordinal * 7919 % 13)}

    sentence = headline(example_report(experiment_text(FACTORS, trial=MIX), scattered))
    assert sentence == "Nothing is decided: all 4 comparisons with noop are undecided."


def test_nothing_decided_says_why() -> None:
    given = report()
    half = example_report(given.campaign.source, metrics)
    del half.trials[30:]
    unfinished = replace(half, analysis=summarise(half.trials, half.experiment))
    assert headline(unfinished).startswith("Nothing is decided yet: 5 of 12 blocks have ended")


def test_the_picture_has_a_panel_for_each_context_with_the_best_first() -> None:
    drawn = picture(report())
    assert [panel.context for panel in drawn.panels] == ["threads=1", "threads=2"]
    for panel in drawn.panels:
        assert [row.answer.level for row in panel.rows] == ["tbb_hash_map", "std_map_mutex"]
        assert panel.baseline.startswith("noop: 1.0")
        assert panel.baseline.endswith("M op/s")
        places = [row.at for row in panel.rows]
        assert places[0] > drawn.one > places[1]  # type: ignore[operator]
        for row in panel.rows:
            assert row.interval is not None
            assert row.at is not None
            assert row.interval[0] <= row.at <= sum(row.interval)
    assert drawn.band[0] < drawn.one < sum(drawn.band)
    assert (drawn.one, "1") in drawn.ticks


def test_differences_are_drawn_on_an_axis_of_their_own() -> None:
    def signed(trial: PlannedTrial) -> dict[str, float]:
        return {"throughput": SPEED[str(trial.levels["subject"])] - 1.01 + 0.01 * (trial.ordinal * 7 % 11)}

    text = experiment_text(FACTORS, trial=MIX)
    in_units = re.sub("smallest_effect_percent = .*", "smallest_effect = 0.2", text)
    drawn = picture(example_report(in_units, signed))
    assert drawn.band[0] < drawn.one < sum(drawn.band)
    assert (drawn.one, "0") in drawn.ticks
    assert len(drawn.ticks) > 2
    for panel in drawn.panels:
        better, worse = panel.rows
        assert (better.answer.level, worse.answer.level) == ("tbb_hash_map", "std_map_mutex")
        assert better.at is not None
        assert worse.at is not None
        assert better.at > sum(drawn.band) > drawn.band[0] > worse.at
        assert better.interval is not None
    # Without a smallest effect a difference has no place among ratios, and is written.
    [row, _] = picture(example_report(text, signed)).panels[0].rows
    assert row.at is None
    assert re.fullmatch(r"[+-][\d.]+ \([+-][\d.]+ to [+-][\d.]+\)", row.lacks)


def test_a_level_that_always_has_0_is_named_last() -> None:
    def starved(trial: PlannedTrial) -> dict[str, float]:
        subject = trial.levels["subject"]
        return {"throughput": 0.0 if subject == "tbb_hash_map" else metrics(trial)["throughput"]}

    sentence = headline(example_report(experiment_text(FACTORS, trial=MIX), starved))
    assert sentence.index("std_map_mutex") < sentence.index("tbb_hash_map")


def test_beside_what_others_report_levels_stand_in_the_order_of_the_file_with_the_reported_ratio() -> None:
    reported = """
[[reported]]
level = "std_map_mutex"
says = "ten to a hundred times"
source = "a paper"
ratio = [10, 100]
"""
    drawn = picture(example_report(experiment_text(FACTORS, trial=MIX) + reported, metrics))
    assert drawn.reported
    assert not picture(report()).reported
    for panel in drawn.panels:
        mutex, other = panel.rows
        assert (mutex.answer.level, other.answer.level) == ("std_map_mutex", "tbb_hash_map")
        assert mutex.reported is not None
        assert other.reported is None
        begin, width = mutex.reported
        assert drawn.one < begin < begin + width <= 100


def test_rungs_are_drawn_over_the_level_before_them_beside_what_is_reported_of_that_step() -> None:
    more = """ladders = [["noop", "std_map_mutex", "tbb_hash_map"]]
[[reported]]
level = "tbb_hash_map"
over = "std_map_mutex"
where = { threads = 2 }
says = "three times"
source = "a paper"
ratio = [2.9, 3.1]
"""
    seen = example_report(experiment_text(FACTORS, more, trial=MIX), metrics)
    drawn = ladders(seen)
    assert drawn is not None
    for panel, reported in zip(drawn.panels, (False, True), strict=True):
        assert [row.answer.level for row in panel.rows] == [
            "std_map_mutex over noop",
            "tbb_hash_map over std_map_mutex",
        ]
        assert [bool(row.reported) for row in panel.rows] == [False, reported]
        assert panel.rows[1].answer.brief.value.startswith(("3.8", "3.9", "4."))
    assert not picture(seen).reported
    assert ladders(report()) is None
    [others] = seen.answers.reported
    assert others.compared == "tbb_hash_map over std_map_mutex, threads=2"
    assert re.fullmatch(r"(3\.[89]|4\.)\d* \(.* to .*\)", others.here)
    assert others.says == "three times"
    assert "| threads=2 | tbb_hash_map over std_map_mutex | faster |" in summary(seen)


def test_better_is_to_the_right_of_a_metric_of_which_less_is_better() -> None:
    text = experiment_text(FACTORS, trial=MIX).replace("[comparison]", '[comparison]\nbetter = "lower"')
    drawn = picture(example_report(text, metrics))
    for panel in drawn.panels:
        assert [row.answer.level for row in panel.rows] == ["std_map_mutex", "tbb_hash_map"]
        assert [row.answer.word for row in panel.rows] == ["faster", "slower"]
        assert panel.rows[0].at > drawn.one > panel.rows[1].at  # type: ignore[operator]


@pytest.mark.parametrize("factor", [1.0001, 1.03, 1.7, 40, 1e5, 1e40, 1e140])
def test_an_axis_has_a_few_round_ticks_whatever_it_spans(factor: float) -> None:
    def spread(trial: PlannedTrial) -> dict[str, float]:
        many = factor if trial.levels["subject"] == "tbb_hash_map" else 1
        return {"throughput": 1e6 * many}

    drawn = picture(example_report(experiment_text(FACTORS, trial=MIX), spread))
    assert 1 <= len(drawn.ticks) <= 7
    assert all(0 <= place <= 100 for place, _ in drawn.ticks)
    assert "1" in [label for _, label in drawn.ticks]


def test_where_every_verdict_is_withheld_the_answer_says_why() -> None:
    def disturbed(trial: PlannedTrial) -> dict[str, float]:
        return {**metrics(trial), "lost_share": 0.5 if trial.levels["subject"] == "noop" else 0.01}

    because = "trials of noop lost 50% of their processor time to other work."
    one = experiment_text('subject = ["noop", "tbb_hash_map"]', trial=MIX)
    assert headline(example_report(one, disturbed)) == f"Withheld: {because}"
    assert headline(example_report(experiment_text(FACTORS, trial=MIX), disturbed)) == (
        f"Withheld: all 4 comparisons, the first because {because}"
    )
