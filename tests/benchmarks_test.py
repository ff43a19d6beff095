"""Benchmarks: that every part runs, in its smallest settings, and what the figures are made of."""

from collections.abc import Callable
from functools import cache
from operator import sub

import pytest

import harness
import run
from harness import Groups

measured = harness.measure


@cache
def smallest(program: str, arguments: tuple[str, ...]) -> Groups:
    return measured(program, *arguments)


def measure(program: str, *arguments: str, allocator: str = "") -> Groups:
    """Measure one round of as little as the program takes; the same one again for the next process."""
    assert allocator in ("", "jemalloc")
    if program == "queue_ranks":
        arguments = ("1000",)
    if program == "coherence_benchmark":
        arguments = ("200", *arguments[1:], "--warm-up=10", "--counted=10")
    if program == "maps_benchmark":
        chosen = [
            word for word in arguments[1:] if not word.startswith(("--rounds", "--warm-up", "--measured"))
        ]
        arguments = ("200", *chosen, "--warm-up-ms=0", "--measured-ms=1")
    return smallest(program, (*arguments, "--rounds=1"))


@pytest.mark.parametrize(
    ("part", "tables", "figures"),
    [
        (run.generation, 3, 11),  # and one more for each set of vector instructions
        (run.sampling, 1, 3),
        (run.values, 1, 30),
        (run.reclamation, 3, 29),
        (run.trees, 2, 32),
        (run.bt_map, 22, 304),
        (run.elb_trees, 53, 204),
        (run.coherence, 7, 285),
    ],
)
def test_every_part_runs_and_gives_an_interval_for_each_figure(
    part: Callable[[], None],
    tables: int,
    figures: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(run, "measure", measure)
    monkeypatch.setattr(harness, "measure", measure)
    part()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line and not line.startswith(" ")]) == tables
    shown = [line for line in lines if line.startswith(" ")]
    assert len(shown) >= figures
    assert all(line.endswith(" processes") and "   [" in line for line in shown)


def test_what_a_fresh_layout_takes_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "LAYOUTS_OF", run.LAYOUTS_OF.replace("blocks = 20", "blocks = 6"))
    run.layouts()
    title, line = capsys.readouterr().out.strip().splitlines()
    assert "assay-trial" in title
    assert line.endswith("   6 layouts")


def test_turns_are_passes_over_all_in_random_order() -> None:
    taken: list[str] = []

    def turn(name: str) -> Callable[[], int]:
        def take() -> int:
            taken.append(name)
            return len(taken)

        return take

    results = harness.by_turns({name: turn(name) for name in "abcd"}, 100)
    passes = ["".join(taken[i : i + 4]) for i in range(0, 400, 4)]
    assert {"".join(sorted(names)) for names in passes} == {"abcd"}
    assert len(set(passes)) > 10  # of 24: all but certainly
    assert list(results) == list("abcd")
    assert all(taken[number - 1] == name for name, numbers in results.items() for number in numbers)
    assert [len(numbers) for numbers in results.values()] == [100] * 4


def test_a_process_gives_the_median_of_what_is_compared_round_by_round() -> None:
    processes = [
        {"group": {"one": [2.0, 6.0, 5.0], "other": [1.0, 2.0, 1.0]}},
        {"group": {"one": [1.0, 2.0], "other": [1.0, 4.0]}},
    ]
    variants = harness.variants_of(processes, "group")
    assert harness.medians(variants, "one") == [5, 1.5]
    assert harness.compared(variants, "one", "other") == [3, 0.75]
    assert harness.compared(variants, "one", "other", by=sub) == [4, -1]


def test_a_figure_is_a_median_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    harness.figure("insert", [4, 1, 2, 3, 6, 5], "runs", digits=1)
    assert capsys.readouterr().out.split() == ["insert", "3.5", "[1.0,", "6.0]", "6", "runs"]


def test_too_few_values_for_an_interval_are_an_error() -> None:
    with pytest.raises(SystemExit, match="no interval for insert: too few runs"):
        harness.figure("insert", [1, 2, 3, 4, 5], "runs")


def test_a_program_that_fails_ends_the_benchmark_as_it_ended() -> None:
    with pytest.raises(SystemExit) as ended:
        harness.measure("queue_ranks", "none")
    assert ended.value.code not in (0, None)
