"""What a trial takes from the output of a program of Google Benchmark or Catch2, and which it lists."""

import json
from pathlib import Path

import pytest

from assay.experiment.types import Tool
from assay.runner.process import CannotStartError, StopSignals
from assay.runner.tool_output import metrics_in
from assay.runner.tools import benchmarks_of


def google(*rows: dict[str, object]) -> str:
    return json.dumps({"context": {}, "benchmarks": rows})


def row(name: str, time: float, **fields: object) -> dict[str, object]:
    of = {"name": name, "run_name": name, "run_type": "iteration", "time_unit": "us"}
    return of | {"real_time": time, "cpu_time": time} | fields


def test_rows_of_a_complexity_are_no_benchmark() -> None:
    fits: list[dict[str, object]] = [
        {
            "name": "sort_BigO",
            "run_name": "sort",
            "run_type": "aggregate",
            "real_coefficient": 1,
            "big_o": "N",
        },
        {"name": "sort_RMS", "run_name": "sort", "run_type": "aggregate", "rms": 0.01},
    ]
    printed = google(row("sort/8", 2), *fits)
    assert metrics_in(printed, "google-benchmark", None) == {"real_time_ns": 2000, "cpu_time_ns": 2000}


@pytest.mark.parametrize("labels", [({}, {}), ({"label": "a"}, {"label": "b"})])
def test_a_name_of_several_benchmarks_is_refused(labels: tuple[dict[str, object], ...]) -> None:
    printed = google(*(row("copy", 1, family_index=number, **of) for number, of in enumerate(labels)))
    with pytest.raises(ValueError, match="several benchmarks are called 'copy'; give each a name of its own"):
        metrics_in(printed, "google-benchmark", "copy")


def test_output_of_the_program_around_the_xml_of_catch2_is_skipped() -> None:
    benchmark = (
        '<BenchmarkResults name="b]"><mean value="7" lowerBound="6" upperBound="8"/></BenchmarkResults>'
    )
    printed = (
        f'warming up\n<Catch name="t"><TestCase name="t">\nseed 5\n{benchmark}</TestCase></Catch>\nbye\n'
    )
    tool: Tool = "catch2"
    assert metrics_in(printed, tool, "t/b]") == {"time_ns": 7}


def test_a_program_with_two_benchmarks_of_one_name_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\nprintf 'copy\\nsum\\ncopy\\n'\n")
    program.chmod(0o755)
    with (
        StopSignals() as stop,
        pytest.raises(
            CannotStartError, match=r"./bench has several benchmarks called copy: give each its own name"
        ),
    ):
        benchmarks_of("google-benchmark", tmp_path, ["./bench"], "", stop)
