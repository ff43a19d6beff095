"""The readers, on files that the tools themselves wrote (tests/files) and on damaged ones."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay_foreign.catch2 import read_catch2
from assay_foreign.document import ForeignError
from assay_foreign.google_benchmark import read_google_benchmark
from assay_foreign.read import read
from assay_foreign.types import Benchmark

FILES = Path(__file__).parents[2] / "tests/files"


def text_of(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def changed(change: Callable[[Any], object], name: str = "google-benchmark.json") -> str:
    content = json.loads(text_of(name))
    change(content)
    return json.dumps(content)


def test_google_benchmark_gives_every_repetition_in_nanoseconds() -> None:
    run = read_google_benchmark(text_of("google-benchmark.json"))
    copy = next(benchmark for benchmark in run.benchmarks if benchmark.name == "copy/bytes:4096/real_time")
    real, cpu = copy.measures
    assert (run.tool, run.version, run.randomised) == ("Google Benchmark", "", None)
    assert run.begun == datetime(2026, 11, 25, 13, 12, 32, tzinfo=UTC)
    assert run.host["library_build_type"] == "debug"
    assert copy.parameters == {"bytes": 4096}
    assert copy.processes == 1
    assert (real.metric, real.unit, cpu.metric) == ("real_time_ns", "ns", "cpu_time_ns")
    assert real.samples[0] == pytest.approx((15925.11, 22425.76, 13438.84, 9725.99), rel=1e-4)


@pytest.mark.parametrize("date", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-00-00", ""])
def test_a_date_that_is_none_in_utc_is_left_out(date: str) -> None:
    text = changed(lambda content: content["context"].update(date=date))
    assert read_google_benchmark(text).begun is None


@pytest.mark.parametrize("kind", ["iteration", "mean"])
def test_times_are_checked_in_every_row_that_measures(kind: str) -> None:
    def spoil(document: Any) -> None:
        row = next(
            row for row in document["benchmarks"] if row.get("aggregate_name", row["run_type"]) == kind
        )
        row["cpu_time"] = -1

    with pytest.raises(ForeignError, match=r"cpu_time: is -1, which no time"):
        read_google_benchmark(changed(spoil))


def test_google_benchmark_without_repetitions_gives_the_median_of_the_tool() -> None:
    real, _ = read_google_benchmark(text_of("google-benchmark-aggregates.json")).benchmarks[0].measures
    assert real.samples == ()
    assert real.summary is not None
    assert (real.summary.statistic, real.summary.low) == ("median", None)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sum", {}),
        ("sum/256", {"argument 1": 256}),
        ("sum/256/8/iterations:5/min_time:0.5/repeats:3", {"argument 1": 256, "argument 2": 8}),
        ("map<a/b>/keys:-4/process_time/real_time", {"keys": -4}),
    ],
)
def test_google_benchmark_names_hold_parameters(name: str, parameters: dict[str, int]) -> None:
    def rename(content: Any) -> None:
        content["benchmarks"] = content["benchmarks"][:1]
        content["benchmarks"][0]["run_name"] = name

    (benchmark,) = read_google_benchmark(changed(rename)).benchmarks
    assert benchmark.parameters == parameters


def test_a_benchmark_that_reported_an_error_has_failed() -> None:
    def break_first(content: Any) -> None:
        content["benchmarks"][0] |= {"error_occurred": True, "error_message": "no such file"}

    first = read_google_benchmark(changed(break_first)).benchmarks[0]
    assert (first.failure, first.measures) == ("no such file", ())


@pytest.mark.parametrize("encoding", ["UTF-8", "utf-7", "none"])
def test_catch2_gives_means_with_intervals(encoding: str) -> None:
    run = read_catch2(text_of("catch2.xml").replace("UTF-8", encoding))
    assert [benchmark.name for benchmark in run.benchmarks] == [
        "sum/256 numbers",
        "sum/many/4096 numbers",
        "copy/copy of 4 KiB",
    ]
    (time,) = run.benchmarks[0].measures
    assert (time.metric, time.unit, time.samples) == ("time_ns", "ns", ())
    assert time.summary is not None
    assert (time.summary.statistic, time.summary.value, time.summary.low) == ("mean", 158.978, 157.158)


def test_catch2_of_version_3_tells_its_version_and_what_failed() -> None:
    # By hand after Catch2 3.5's reporter: Debian 12 has version 2.
    run = read_catch2(
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<Catch2TestRun name="sums" rng-seed="7" xml-format-version="3" catch2-version="3.5.2">'
        '<TestCase name="sum" filename="sums.cpp" line="6">'
        '<BenchmarkResults name="a" samples="1"><mean value="2" lowerBound="1" upperBound="3" ci="0.95"/>'
        '</BenchmarkResults><BenchmarkResults name="a"><failed message="thrown"/></BenchmarkResults>'
        "</TestCase></Catch2TestRun>"
    )
    first, second = run.benchmarks
    assert (run.version, run.host["rng-seed"]) == ("3.5.2", "7")
    assert (first.name, second.name, second.failure) == ("sum/a", "sum/a #2", "thrown")


MINUTES = changed(lambda content: content["benchmarks"][2].update(time_unit="min"))
MIXED = changed(lambda content: content["benchmarks"][1].update(time_unit="ms"))
MISSING = changed(lambda content: content["benchmarks"][1].pop("real_time"))
TEXT = changed(lambda content: content["benchmarks"][1].update(cpu_time="3"))
ENDLESS = changed(lambda content: content["benchmarks"][1].update(cpu_time=float("inf")))
ENORMOUS = changed(lambda content: content["benchmarks"][1].update(cpu_time=1e300))
NEGATIVE = changed(lambda content: content["benchmarks"][1].update(cpu_time=-3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINUTES,
            "a.json: benchmarks[2].time_unit: is min, but other rows of copy/bytes:4096/real_time have",
        ),
        (MIXED, "a.json: benchmarks[1].time_unit: is ms, but other rows of"),
        (MISSING, "a.json: benchmarks[1]: the field real_time is missing; let the tool write the file again"),
        (TEXT, 'a.json: benchmarks[1].cpu_time: is "3", not a number'),
        (ENDLESS, "a.json: benchmarks[1].cpu_time: is inf, which no time"),
        (ENORMOUS, "a.json: benchmarks[1].cpu_time: is 1e+300, which no time"),
        (NEGATIVE, "a.json: benchmarks[1].cpu_time: is -3, which no time"),
        (text_of("google-benchmark.json")[:5000], "a.json: line 184, column 7: the JSON is cut off here"),
        ("", "a.json: is empty"),
        ("[" * 100_000, "a.json: its JSON is nested too deeply"),
        (f'{{"context": {"9" * 6_000}}}', "a.json: holds a number of thousands of digits"),
        ("{'context': 1}", "a.json: line 1, column 2: is not JSON"),
        ("[]", "a.json: is [], not an object"),
        ('{"context": {}, "benchmarks": 3}', "a.json: benchmarks: is 3, not an array"),
    ],
)
def test_a_damaged_file_of_google_benchmark_names_place_and_mistake(text: str, message: str) -> None:
    with pytest.raises(ForeignError) as error:
        read_google_benchmark(text, "a.json")
    assert str(error.value).startswith(message)
    assert "; " in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            text_of("catch2.xml")[:900],
            "a.xml: line 14, column 11: the XML breaks off inside BenchmarkResults",
        ),
        ("sum: 3 ns", "a.xml: line 1, column 1: is not XML"),
        ("<testsuites/>", "a.xml: line 1: the XML is a testsuites, not a Catch or Catch2TestRun of Catch2"),
        ("<Catch/>", "a.xml: no test case in it has a benchmark; run the test cases with a BENCHMARK"),
        (text_of("catch2.xml").replace('value="158.978"', ""), "a.xml: line 7: the attribute value of mean"),
        (
            text_of("catch2.xml").replace('"158.978"', '"nan"'),
            "a.xml: line 7: the attribute value of mean is",
        ),
    ],
)
def test_a_damaged_file_of_catch2_names_place_and_mistake(text: str, message: str) -> None:
    with pytest.raises(ForeignError) as error:
        read_catch2(text, "a.xml")
    assert str(error.value).startswith(message)


def only(benchmarks: Sequence[Benchmark], name: str, **parameters: object) -> Benchmark:
    """Return the one benchmark of a name with these parameters among others."""
    (found,) = (
        benchmark
        for benchmark in benchmarks
        if benchmark.name == name and parameters.items() <= benchmark.parameters.items()
    )
    return found


def test_hyperfine_runs_each_command_in_processes_of_its_own() -> None:
    run = read(FILES / "hyperfine.json")
    sleep = only(run.benchmarks, "sleep 0.01", n="2")
    (time,) = sleep.measures
    assert (run.tool, run.version, run.randomised, run.host) == ("hyperfine", "", False, {})
    assert sleep.processes == len(time.samples) == 6
    assert time.samples[0] == pytest.approx((11_388_834,))


def test_hyperfine_tells_of_runs_that_failed(tmp_path: Path) -> None:
    def fail_twice(content: Any) -> None:
        content["results"][0]["exit_codes"][:2] = [3, None]

    file = tmp_path / "a.json"
    file.write_text(changed(fail_twice, "hyperfine.json"), encoding="utf-8")
    first = read(file).benchmarks[0]
    assert first.failure == "2 of its runs ended with an exit code other than 0 or by a signal"


def test_pyperf_gives_the_values_of_each_process() -> None:
    run = read(FILES / "pyperf.json")
    (join,) = run.benchmarks
    (time,) = join.measures
    assert (run.tool, run.version, join.name, join.processes) == ("pyperf", "2.11.0", "join", 3)
    assert [len(process) for process in time.samples] == [3, 3, 3]
    assert time.samples[0][0] == pytest.approx(1755.27)
    assert run.host["cpu_model_name"] == "AMD EPYC"


def test_criterion_is_read_from_its_folder_or_a_file_in_it() -> None:
    run = read(FILES / "criterion")
    copy = only(run.benchmarks, "copy", group="copy")
    (time,) = copy.measures
    assert (run.tool, run.version, copy.processes) == ("Criterion.rs", "", 1)
    assert time.samples[0][0] == pytest.approx(133.1533)
    assert len(time.samples[0]) == 12
    without_samples = only(run.benchmarks, "sum/iter/4096", function="iter", value="4096")
    (time,) = without_samples.measures
    assert time.samples == ()
    assert time.summary is not None
    assert time.summary.low is not None
    assert time.summary.statistic == "median"
    assert time.summary.low < time.summary.value
    assert read(FILES / "criterion/copy/new/sample.json").benchmarks == (copy,)


def test_jmh_gives_rates_a_second_and_times_in_nanoseconds_by_fork() -> None:
    run = read(FILES / "jmh.json")
    (rate,) = only(run.benchmarks, "sums.Sums.copy", size="256", mode="thrpt").measures
    (mean,) = only(run.benchmarks, "sums.Sums.sum", size="256", mode="avgt").measures
    (sampled,) = only(run.benchmarks, "sums.Sums.first", size="4096", mode="sample").measures
    assert (run.tool, run.version, run.host["forks"]) == ("JMH", "1.37", 2)
    assert (rate.metric, rate.unit) == ("throughput", "op/s")
    assert rate.samples[0][0] == pytest.approx(54_742.476)
    assert mean.unit == "ns"
    assert mean.samples[0][0] == pytest.approx(280.07, rel=1e-4)
    assert [len(fork) for fork in sampled.samples] == [3, 3]
    assert sampled.samples[0][0] == pytest.approx(75.376, rel=1e-4)


def _jmh(change: Callable[[Any], object]) -> str:
    return changed(lambda content: change(content[0]), "jmh.json")


def _pyperf(change: Callable[[Any], object]) -> str:
    return changed(change, "pyperf.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "benchmark,time\nsum,3\n",
            "is neither JSON nor XML nor the text of a harness of maps, so no result of a known tool; import",
        ),
        (
            '{"machine_info": {}, "benchmarks": []}',
            "is JSON, but not of a tool that Assay knows; import what",
        ),
        ("[3]", "is JSON, but not of a tool that Assay knows"),
        ('{"context": {}, "benchmarks": []}', "holds no benchmark; let the tool run at least one"),
        (text_of("hyperfine.json")[:900], "line 40, column 35: the JSON is cut off here"),
        ('{"results": [{"command": "a", "times": []}]}', "results[0].times: holds no time"),
        ('{"results": [{"command": "a"}]}', "results[0]: the field mean is missing"),
        ('{"results": [{"times": [1]}]}', "results[0]: the field command is missing"),
        (
            _jmh(lambda result: result["primaryMetric"].update(scoreUnit="us/op")),
            "[0].primaryMetric.scoreUnit: is us/op, which is not ops/TIME as the mode of this",
        ),
        (_jmh(lambda result: result.update(mode="all")), "[0].mode: is all, which is none of thrpt, avgt"),
        (
            _jmh(lambda result: result["primaryMetric"].update(rawData=[[]])),
            "[0].primaryMetric: holds no score of any iteration",
        ),
        (
            _pyperf(lambda content: content["metadata"].update(unit="minute")),
            "metadata.unit: is minute, which is none of second, byte, integer",
        ),
        (
            _pyperf(lambda content: content["benchmarks"][0].update(runs=[])),
            "benchmarks[0].runs: no run has a value",
        ),
    ],
)
def test_a_damaged_file_names_place_mistake_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ForeignError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: {message}")
    assert "; " in str(error.value)


def test_a_damaged_folder_of_criterion_names_the_file(tmp_path: Path) -> None:
    results = tmp_path / "criterion/sum/new"
    results.mkdir(parents=True)
    with pytest.raises(ForeignError, match="criterion: holds no results of Criterion"):
        read(tmp_path / "criterion")
    sample = results / "sample.json"
    for iterations, why in (("1, 2", "has 2 .* for 1 times"), ("1e-320", "holds less than one iteration")):
        sample.write_text(f'{{"iters": [{iterations}], "times": [3]}}', encoding="utf-8")
        with pytest.raises(ForeignError, match=f"sum/new/sample.json: iters: {why}"):
            read(tmp_path / "criterion")
    sample.write_text('{"iters": [2], "times": [3]}', encoding="utf-8")
    raw = results / "raw.csv"
    for rows, why in (("g,1,ns,1\ng\n", "has the unit '' and 'ns'"), ("g" * 200_000, "is not CSV")):
        raw.write_text(f"group,sample_measured_value,unit,iteration_count\n{rows}", encoding="utf-8")
        with pytest.raises(ForeignError, match=f"sum/new/raw.csv: {why}"):
            read(tmp_path / "criterion")
    raw.unlink()
    (benchmark,) = read(sample).benchmarks
    assert (benchmark.name, benchmark.measures[0].samples) == ("sum", ((1.5,),))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "there is no such file; name"), (b"\xff\xfe{\0", "is not text in UTF-8")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "a.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ForeignError, match=message):
        read(file)


def test_synchrobench_runs_of_the_same_options_are_processes_of_one_benchmark() -> None:
    run = read(FILES / "synchrobench.txt")
    (tree,) = run.benchmarks
    (rate,) = tree.measures
    assert (run.tool, tree.name, tree.processes) == ("Synchrobench", "BST", 2)
    assert tree.parameters == {"threads": 2, "key_range": 20000, "initial": 10000, "updates": 10}
    assert (rate.metric, rate.unit) == ("throughput", "op/s")
    assert rate.samples == ((8_788_800.0,), (8_656_400.0,))
    first = tree.map_runs[0]
    assert (first.inserts, first.inserted, first.erases, first.erased) == (219_800, 109_900, 219_600, 109_750)
    assert (first.size_before, first.size_after, first.size_expected) == (10_000, 10_150, 10_150)
    assert (first.validated, first.seed, first.pinned) == (True, 7, False)


def test_synchrobench_without_inserts_is_read_as_it_is() -> None:
    (tree,) = read(FILES / "synchrobench-erases-only.txt").benchmarks
    (told,) = tree.map_runs
    assert (told.inserts, told.size_before, told.size_after, told.seed) == (0, 10_000, 0, None)
    assert tree.parameters["effective"] == 1
    assert "count as searches" in told.dependent


def test_setbench_gives_its_throughput_and_what_failed_its_validation() -> None:
    run = read(FILES / "setbench.txt")
    tree, failed = run.benchmarks
    assert (run.tool, tree.name, tree.processes, failed.processes) == ("Setbench", "some_tree", 2, 1)
    assert tree.measures[0].samples == ((8_200_000.0,), (8_100_000.0,))
    assert tree.parameters["reclaim"] == "debra"
    assert (tree.parameters["insert"], tree.parameters["key_range"]) == ("5", 20000)
    told = tree.map_runs[0]
    assert (told.prefill, told.prefill_inserts) == ("PREFILL_MIXED, 2 threads", False)
    assert (told.validated, told.pinned, told.inserts) == (True, True, 205_000)
    assert failed.failure.startswith("Validation FAILURE: threadsKeySum=99990000")
    assert failed.measures == ()


def test_ascylib_is_named_after_its_file_and_has_the_shares_that_were_performed() -> None:
    run = read(FILES / "ascylib.txt")
    asked, rounded = run.benchmarks
    assert (run.tool, asked.name) == ("ASCYLIB", "ascylib")
    assert asked.parameters == {
        **{"threads": 2, "initial": 16384, "key_range": 32768, "updates": 10},
        **{"insert_percent": "5.0", "erase_percent": "5.0"},
    }
    assert (rounded.parameters["updates"], rounded.parameters["insert_percent"]) == (12, "6.3")
    assert [benchmark.map_runs[0].rounded for benchmark in run.benchmarks] == [False, True]
    assert asked.measures[0].samples == ((8e6,),)
    assert asked.map_runs[0].inserted == 100_068


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            text_of("synchrobench.txt")[:-300],
            "line 69: the run that begins in line 41 ends without its results; let the run end before",
        ),
        (text_of("setbench.txt")[:500], "line 27: the run that begins in line 2 ends without its results"),
        (text_of("ascylib.txt").replace("#Mops 8.000", "#Mops x"), "line 11: x is not a throughput; let"),
        (text_of("ascylib.txt").replace("#Mops 8.000", "#Mops -nan"), "line 11: -nan is not a throughput"),
        (
            text_of("synchrobench-erases-only.txt").replace("Nb threads   : 2", "Nb threads   : two"),
            "line 4: two is not a whole number; let the tool write the file again",
        ),
        (
            re.sub(r"#add +: \d+", f"#add   : {'9' * 6_000}", text_of("synchrobench.txt"), count=1),
            f"line 21: {'9' * 60}... is not a count; let the tool write the file again",
        ),
        (
            text_of("ascylib.txt").replace("#Mops 8.000", f"#Mops {'9' * 6_000}"),
            f"line 11: {'9' * 60}... is not a throughput; let the tool write",
        ),
        (
            text_of("ascylib.txt") + text_of("setbench.txt"),
            "line 25: a run of Setbench begins, but the one in line 2 is of ASCYLIB; import the output",
        ),
    ],
)
def test_a_damaged_text_of_a_harness_names_line_mistake_and_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ForeignError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: {message}")
