"""What tells benchmarks apart in each format, and what is refused because nothing does."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay_foreign.catch2 import read_catch2
from assay_foreign.document import ForeignError
from assay_foreign.google_benchmark import read_google_benchmark
from assay_foreign.read import read
from assay_foreign.types import Benchmark, ForeignRun

FILES = Path(__file__).parents[2] / "tests/files"


def written(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def values(benchmark: Benchmark) -> list[float]:
    """Return the values of the first measure: one of each process, or those of the only one."""
    [measure, *_] = benchmark.measures
    return [value for process in measure.samples for value in process]


def known(benchmarks: Sequence[Benchmark]) -> dict[str, list[float]]:
    return {benchmark.name: values(benchmark) for benchmark in benchmarks}


# Google Benchmark


def row(name: str, time: float, **fields: object) -> dict[str, object]:
    return {"name": name, "real_time": time, "cpu_time": time, "time_unit": "ns", **fields}


def repetition(name: str, time: float, **fields: object) -> dict[str, object]:
    return row(name, time, run_name=name, run_type="iteration", **fields)


def aggregate(name: str, statistic: str, time: float, **fields: object) -> dict[str, object]:
    of = {"run_name": name, "run_type": "aggregate", "aggregate_name": statistic}
    return row(f"{name}_{statistic}", time, **of, **fields)


def google(*rows: dict[str, object]) -> Sequence[Benchmark]:
    return read_google_benchmark(json.dumps({"context": {}, "benchmarks": rows}), "a.json").benchmarks


BIG_O = {
    "name": "sort_BigO",
    "cpu_coefficient": 1.5,
    "real_coefficient": 1.5,
    "big_o": "N",
    "time_unit": "ns",
}
RMS = {"name": "sort_RMS", "rms": 0.01}


@pytest.mark.parametrize("kind", [{}, {"run_type": "aggregate", "run_name": "sort"}])
def test_google_benchmark_rows_of_a_complexity_are_skipped(kind: dict[str, object]) -> None:
    fits = (BIG_O | kind | {"aggregate_name": "BigO"}, RMS | kind | {"aggregate_name": "RMS"})
    assert known(google(repetition("sort/8", 12), repetition("sort/64", 96), *fits)) == {
        "sort/8": [12],
        "sort/64": [96],
    }


def test_google_benchmark_a_counter_called_rms_is_no_complexity() -> None:
    assert known(google(repetition("signal", 5, rms=0.5))) == {"signal": [5]}


def test_google_benchmark_a_name_given_twice_is_two_benchmarks() -> None:
    by_family = google(
        *(
            repetition("copy", time, family_index=family)
            for time, family in ((1, 0), (50, 1), (2, 0), (60, 1))
        )
    )
    assert known(by_family) == {"copy": [1, 2], "copy #2": [50, 60]}
    by_instance = google(
        repetition("copy/8", 1, family_index=0, per_family_instance_index=0),
        repetition("copy/8", 50, family_index=0, per_family_instance_index=1),
    )
    assert known(by_instance) == {"copy/8": [1], "copy/8 #2": [50]}
    by_repetition = google(
        *(
            repetition("copy", time, repetitions=2, repetition_index=number)
            for time, number in ((1, 0), (2, 1), (50, 0), (60, 1))
        )
    )
    assert known(by_repetition) == {"copy": [1, 2], "copy #2": [50, 60]}
    assert known(google(row("copy", 1), row("copy", 50))) == {"copy": [1], "copy #2": [50]}


def test_google_benchmark_repetitions_that_look_alike_are_refused() -> None:
    with pytest.raises(
        ForeignError, match=r"several benchmarks are called copy; their repetitions look alike;"
    ):
        google(
            *(
                repetition("copy", time, repetitions=2, repetition_index=number)
                for time, number in ((1, 0), (50, 0), (2, 1), (60, 1))
            )
        )


def test_google_benchmark_labels_are_parameters() -> None:
    plain, wide = google(repetition("sum", 9, label="sse2"), repetition("sum", 5, label="avx2"))
    assert (plain.title, wide.title) == ("sum (label=sse2)", "sum (label=avx2)")


OLD = [
    *(row("parse", time) for time in (100, 120)),
    *(row(f"parse_{statistic}", 110) for statistic in ("mean", "median")),
    *(row("parse_stddev", 14), row("parse_p_90", 120)),
]


def test_google_benchmark_statistics_of_old_files_are_known_by_their_names() -> None:
    longer = [{**of, "name": str(of["name"]).replace("parse", "parse_fast")} for of in OLD]
    assert known(google(*OLD, *longer, row("parse_once/repeats:1", 7))) == {
        "parse": [100, 120],
        "parse_fast": [100, 120],
        "parse_once/repeats:1": [7],
    }
    assert known(google(*OLD, *OLD)) == {"parse": [100, 120], "parse #2": [100, 120]}


def test_google_benchmark_an_old_name_with_two_meanings_is_refused() -> None:
    for names in (("find", "find_min"), ("find_mean", "find_median", "find_stddev")):
        with pytest.raises(
            ForeignError, match=r"name: find_\w+ is a benchmark, or the \w+ of find: this file"
        ):
            google(*(row(name, 3) for name in names))
    assert len(google(row("find", 3), row("find_fast", 4), row("find_fast_int", 2))) == 3


def test_google_benchmark_only_what_a_row_says_it_is_counts() -> None:
    assert known(google(repetition("a", 5), aggregate("a", "p90", 9), aggregate("a", "cv", 0.1))) == {
        "a": [5]
    }
    with pytest.raises(ForeignError, match="run_type: is sum, which is neither iteration nor aggregate"):
        google(row("a", 5, run_type="sum"))
    with pytest.raises(ForeignError, match="the field time_unit is missing"):
        google({name: value for name, value in repetition("a", 5).items() if name != "time_unit"})
    [skipped] = google(repetition("a", 0, skipped=True, skip_message="no GPU"))
    assert (skipped.failure, skipped.measures) == ("no GPU", ())


MANY = [
    repetition(
        f"sum/{n // 3}", n + 0.5, family_index=n // 3, per_family_instance_index=0, repetition_index=n % 3
    )
    for n in range(30)
]


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 20])
@pytest.mark.parametrize(
    "counter", [{}, {"x": float("nan")}, {"number": "x", "rms": 1}, {"x": [{"a": 1}, {"b": "}, {"}]}]
)
def test_google_benchmark_rows_are_what_they_are_whoever_decodes_them(
    monkeypatch: pytest.MonkeyPatch, at_once: int, counter: dict[str, object]
) -> None:
    """However much is read at once, and whether msgspec refuses a row or its neighbour."""
    monkeypatch.setattr("assay_foreign.document._AT_ONCE", at_once)
    rows = [{**row, **(counter if n == 17 else {})} for n, row in enumerate(MANY)]
    every = {f"sum/{n}": [3 * n + 0.5, 3 * n + 1.5, 3 * n + 2.5] for n in range(10)}
    assert known(google(*rows)) == every
    interleaved = [row for first in range(3) for row in rows[first::3]]
    assert known(google(*interleaved)) == every
    with pytest.raises(ForeignError, match=r"a.json: benchmarks\[20\].real_time: is -1, which no time"):
        google(*rows[:20], {**rows[20], "real_time": -1}, *rows[21:])


# Criterion.rs

SAMPLE = {"sampling_mode": "Linear", "iters": [1.0, 2.0], "times": [30.0, 60.0]}
ESTIMATE = {"confidence_interval": {"lower_bound": 4, "upper_bound": 6}, "point_estimate": 5}
COLUMNS = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count"


def criterion(folder: Path, path: str, **files: object) -> None:
    for name, content in files.items():
        ending = "csv" if name == "raw" else "json"
        written(folder, f"{path}/new/{name}.{ending}", content)


@pytest.mark.parametrize(
    ("unit", "raw_values", "metric", "stored_unit", "value"),
    [
        ("ns", (30, 60), "time_ns", "ns", 30),
        ("us", (30, 60), "time_ns", "ns", 30_000),
        ("cycles", (30, 60), "cycles", "cycles", 30),
        ("cache misses", (30, 60), "cache_misses", "cache misses", 30),
        ("ns", (15, 30), "time_ns", "ns", 15),  # sample.json counts in a unit that raw.csv does not show
    ],
)
def test_criterion_the_unit_is_read(
    tmp_path: Path, unit: str, raw_values: tuple[int, int], metric: str, stored_unit: str, value: float
) -> None:
    raw = "\n".join([COLUMNS, *(f"h,b/c,,,,{of},{unit},{count}" for count, of in enumerate(raw_values, 1))])
    criterion(tmp_path, "h/b_c", sample=SAMPLE, raw=raw)
    criterion(tmp_path, "only", raw=raw.replace("h,b/c", "only,"))
    both, only_raw = read(tmp_path).benchmarks
    assert (both.name, both.parameters) == ("h/b/c", {"group": "h", "function": "b/c"})
    [measure] = both.measures
    assert (measure.metric, measure.unit, both.unit_recorded) == (metric, stored_unit, True)
    assert values(both) == pytest.approx([value, value])
    assert (only_raw.name, only_raw.measures) == ("only", both.measures)


def test_criterion_without_a_unit_says_so(tmp_path: Path) -> None:
    criterion(tmp_path, "h", sample=SAMPLE)
    assert [benchmark.unit_recorded for benchmark in read(tmp_path).benchmarks] == [False]


def test_criterion_names_a_benchmark_by_all_that_identifies_it(tmp_path: Path) -> None:
    identity = {"group_id": "a/b", "function_id": "f*", "value_str": None, "throughput": {"Bytes": 64}}
    criterion(tmp_path, "a_b/f_", sample=SAMPLE, benchmark=identity)
    for function in ("iter", "fold"):
        criterion(tmp_path, f"sum/{function}/4096", sample=SAMPLE)
    named, *others = read(tmp_path).benchmarks
    assert (named.name, named.parameters) == ("a/b/f*", {"group": "a/b", "function": "f*", "bytes": 64})
    assert [benchmark.name for benchmark in others] == ["sum/fold/4096", "sum/iter/4096"]
    criterion(tmp_path, "target/criterion/sum/iter", sample=SAMPLE)
    of_subfolder = read(tmp_path / "target/criterion/sum")
    assert [benchmark.name for benchmark in of_subfolder.benchmarks] == ["sum/iter"]
    with pytest.raises(
        ForeignError, match=r"has no benchmark.json that names the benchmark; import the folder"
    ):
        read(tmp_path / "sum/iter/4096/new/sample.json")


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (
            {"sample": [[1, 2], [3, 6]]},
            "stale/new/sample.json: was written before Criterion.rs 0.3.3; delete",
        ),
        (
            {"estimates": {"Median": ESTIMATE}},
            "stale/new/estimates.json: was written before Criterion.rs 0.3.3",
        ),
        ({"sample": SAMPLE, "benchmark": {}}, "benchmark.json: the field group_id is missing; delete"),
        ({"sample": "{"}, "sample.json: line 1, column 2: the JSON is cut off here"),
        ({"raw": "x,y\n1,2"}, "raw.csv: line 1: has no sample with group, unit"),
        ({"raw": f"{COLUMNS}\ns,,,,,x,ns,1"}, "raw.csv: line 2: x is neither a measurement nor a number"),
        (
            {"raw": f"{COLUMNS}\ns,,,,,3,ns,1\ns,,,,,3,ms,1"},
            "raw.csv: has the unit 'ms' and 'ns'; delete its folder",
        ),
        ({"raw": f"{COLUMNS}\ns,,,,,3,,1"}, "raw.csv: has the unit ''; delete its folder"),
        ({"raw": f"{COLUMNS}\ns,,,,,3,ns,0"}, "raw.csv: line 2: a sample has no iteration"),
        (
            {"sample": SAMPLE, "raw": f"{COLUMNS}\ns,,,,,30,ns,1\ns,,,,,99,ns,2"},
            "raw.csv: its samples are not those of sample.json, so it is of another run; delete",
        ),
    ],
)
def test_criterion_a_folder_that_cannot_be_read_is_named_and_the_others_are(
    tmp_path: Path, damaged: dict[str, object], reason: str
) -> None:
    criterion(tmp_path, "stale", **damaged)
    with pytest.raises(ForeignError) as error:
        read(tmp_path)
    assert reason in str(error.value)
    criterion(tmp_path, "good", estimates={"median": ESTIMATE})
    run = read(tmp_path)
    assert [benchmark.name for benchmark in run.benchmarks] == ["good"]
    assert run.left_out == (str(error.value),)


# hyperfine, pyperf, JMH


@pytest.mark.parametrize("times", [{"mean": 1.0}, {"times": [1.0, 1.0, 1.0]}])
def test_hyperfine_runs_that_failed_are_failed_with_times_or_without(tmp_path: Path, times: Any) -> None:
    result = {"command": "./prog", "exit_codes": [0, 139, 0], **times}
    [failed] = read(written(tmp_path, "a.json", {"results": [result]})).benchmarks
    assert failed.failure == "1 of its runs ended with an exit code other than 0 or by a signal"


def test_compressed_files_of_any_tool_are_read(tmp_path: Path) -> None:
    for name in ("pyperf.json", "catch2.xml", "setbench.txt"):
        compressed = tmp_path / f"{name}.gz"
        compressed.write_bytes(gzip.compress((FILES / name).read_bytes()))
        assert read(compressed) == read(FILES / name)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress((FILES / "pyperf.json").read_bytes())[:-50])
    with pytest.raises(ForeignError, match=r"cut.gz: is compressed, and cut off or damaged; let the tool"):
        read(cut)


PYPERF = {"runs": [{"values": [1e-6]}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"version": 5, "benchmarks": [{"runs": [{"samples": [0.1]}]}]},
            "version: is format 5 of pyperf, not 1.0; write the file anew: pyperf convert ",
        ),
        ({"version": "1.0", "benchmarks": [PYPERF]}, "no metadata names the benchmark; run it with a name"),
    ],
)
def test_pyperf_another_format_and_no_name_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ForeignError) as error:
        read(written(tmp_path, "a.json", content))
    assert message in str(error.value)


def test_pyperf_benchmarks_of_one_name_are_two(tmp_path: Path) -> None:
    named = [
        PYPERF | {"metadata": {"name": "join"}},
        {"runs": [{"values": [5e-6]}], "metadata": {"name": "join"}},
    ]
    run = read(written(tmp_path, "a.json", {"version": "1.0", "benchmarks": named}))
    assert known(run.benchmarks) == {"join": [pytest.approx(1e3)], "join #2": [pytest.approx(5e3)]}


def test_jmh_what_results_differ_in_is_a_parameter(tmp_path: Path) -> None:
    [result, *_] = json.loads((FILES / "jmh.json").read_text(encoding="utf-8"))
    flag = {"jvmArgs": ["-XX:+UseZGC", "-Xmx1g"]}
    run = read(written(tmp_path, "a.json", [result, result | flag]))
    assert [benchmark.parameters.get("jvmArgs") for benchmark in run.benchmarks] == ["", "-XX:+UseZGC -Xmx1g"]
    assert "jvmArgs" not in run.host
    own = read(written(tmp_path, "b.json", [result | {"params": {"mode": "fast", "threads": "4"}}]))
    assert own.benchmarks[0].parameters == {"mode": "thrpt", "@Param mode": "fast", "threads": "4"}


# Catch2

XML = (FILES / "catch2.xml").read_text(encoding="utf-8")


def printing(line: str, before: int = 7) -> str:
    """Return a file in which the program has printed a line before that with a number from 1."""
    lines = XML.splitlines()
    return "\n".join([*lines[: before - 1], line, *lines[before - 1 :]])


@pytest.mark.parametrize("line", ["seed <3", "x && y", "</b>", "<b> bold", "done <1>", "a &nbsp; b"])
def test_catch2_output_of_the_program_within_the_xml_is_named(line: str) -> None:
    with pytest.raises(ForeignError) as error:
        read_catch2(printing(line), "a.xml")
    assert str(error.value).startswith(
        "a.xml: line 7: the program's own output is here, within the XML; run it"
    )


@pytest.mark.parametrize(
    "text",
    [
        printing("loading 3 files"),
        f"[info] a < b\n\n{XML}",
        f"\n\n{XML}\nbye & <thanks>\n",
        f"{{not JSON\n   {XML}",
    ],
)
def test_catch2_output_of_the_program_that_is_surely_its_own_is_skipped(tmp_path: Path, text: str) -> None:
    assert read(written(tmp_path, "a.xml", text)) == read_catch2(XML)


def test_catch2_a_second_run_in_a_file_is_refused() -> None:
    with pytest.raises(ForeignError, match="the XML of another run begins after this one; import each as"):
        read_catch2(XML + XML)


def test_catch2_names_hold_what_they_hold() -> None:
    text = (
        '<Catch name="t"><TestCase name="a] &quot;b&quot;"><BenchmarkResults name="v&lt;int, 2>[0]">'
        '<mean value="2" lowerBound="1" upperBound="3"/></BenchmarkResults></TestCase></Catch>'
    )
    assert [benchmark.name for benchmark in read_catch2(text).benchmarks] == ['a] "b"/v<int, 2>[0]']


def test_names_that_end_like_ours_stay_apart() -> None:
    one = '<BenchmarkResults name="{}"><mean value="2" lowerBound="1" upperBound="3"/></BenchmarkResults>'
    benchmarks = "".join(one.format(name) for name in ("a", "a", "a #2"))
    run = read_catch2(f'<Catch name="t"><TestCase name="t">{benchmarks}</TestCase></Catch>')
    assert [benchmark.name for benchmark in run.benchmarks] == ["t/a", "t/a #3", "t/a #2"]


# Harnesses of maps


def runs(tmp_path: Path, file: str, *changes: tuple[str, str], count: int = 1) -> ForeignRun:
    """Return the first run of a file `count` times, then the same with changes in the text."""
    text = (FILES / file).read_text(encoding="utf-8")
    begins = {"setbench.txt": "MAIN_START", "synchrobench.txt": "Set type", "ascylib.txt": "## Initial"}[file]
    first = begins + text.split(begins)[1]
    changed = first
    for before, after in changes:
        assert before in changed
        changed = changed.replace(before, after)
    return read(written(tmp_path, "tree.txt", first * count + changed))


@pytest.mark.parametrize(
    ("file", "before", "after", "parameter", "values"),
    [
        ("setbench.txt", "RQSIZE=1\n", "RQSIZE=100\n", "RQSIZE", ["1", "100"]),
        ("setbench.txt", "POOL=none", "POOL=numa", "POOL", ["none", "numa"]),
        ("setbench.txt", "PREFILL_THREADS=2", "PREFILL_THREADS=1", "PREFILL_THREADS", ["2", "1"]),
        ("setbench.txt", "MAXKEY=20000\n", "MAXKEY=20000\nDIST=zipf\n", "DIST", [None, "zipf"]),
        ("setbench.txt", "binary=./bin/", "binary=./debug/", "binary", None),
        ("synchrobench.txt", "Lock alg.    : 4", "Lock alg.    : 2", "Lock alg.", ["4", "2"]),
        ("synchrobench.txt", "Duration     : 500", "Duration     : 50", "Duration", ["500", "50"]),
        ("ascylib.txt", "Sequential", "Parallel", "options", ["Sequential", "Parallel"]),
        (
            "ascylib.txt",
            "|        5.0% |        2.5%\nrems",
            "|        9.0% |        2.5%\nrems",
            "insert_percent",
            None,
        ),
    ],
)
def test_runs_of_a_harness_with_other_options_are_other_benchmarks(
    tmp_path: Path, file: str, before: str, after: str, parameter: str, values: list[object] | None
) -> None:
    run = runs(tmp_path, file, (before, after), count=2)
    assert [benchmark.processes for benchmark in run.benchmarks] == [2, 1]
    told = [benchmark.parameters.get(parameter) for benchmark in run.benchmarks]
    assert len(set(told)) == 2
    assert values is None or told == values
    assert parameter not in run.options


def test_what_is_not_requested_tells_no_runs_of_a_harness_apart(tmp_path: Path) -> None:
    run = runs(
        tmp_path,
        "setbench.txt",
        *(("TIMESTAMP=1000", "TIMESTAMP=2000"), ("pref_size=10012", "pref_size=9998")),
        ("garbage=0", "garbage=7"),
    )
    [tree] = run.benchmarks
    assert tree.processes == 2
    assert run.options["RQSIZE"] == "1"
    assert "MAXKEY" not in run.options  # it is a parameter
    [seeded] = runs(tmp_path, "synchrobench.txt", ("Seed         : 7", "Seed         : 8")).benchmarks
    assert seeded.processes == 2
