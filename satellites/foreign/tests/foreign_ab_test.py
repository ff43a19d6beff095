"""`assay ab` of programs of Google Benchmark and Catch2, in a real git repository."""

import json

import pytest

from ab_test import assay, few_blocks, project, temporary, told
from assay.versions.testing import ExampleRepository
from conftest import Assay, run_assay

__all__ = ["assay", "few_blocks", "project", "temporary"]  # fixtures

pytestmark = pytest.mark.usefixtures("steady_host", "no_pages")

GOOGLE_BENCHMARK = r"""
#include <benchmark/benchmark.h>
static void sum(benchmark::State& state) {
  for (auto _ : state)
    for (volatile long i = 0; i < state.range(0); i = i + 1) {}
}
BENCHMARK(sum)->SIZES;
template <class Value> void nothing(benchmark::State& state) { for (auto _ : state) {} }
BENCHMARK_TEMPLATE(nothing, unsigned long)->UseRealTime();
BENCHMARK_MAIN();
"""


def test_each_benchmark_of_a_google_benchmark_program_runs_alone(project: ExampleRepository) -> None:
    makefile = "bench: bench.cpp\n\tc++ -o $@ bench.cpp -lbenchmark -pthread\n"
    for sizes in ("Arg(8)->Arg(64)", "Arg(8)->Arg(512)"):
        source = GOOGLE_BENCHMARK.replace("SIZES", sizes)
        project.commit("Sums", **{"Makefile": makefile, "bench.cpp": source})
    program = "./bench --benchmark_min_time=0.001"
    words = ("ab", "--base", "HEAD~1", "--build", "make", "--gate", "50%", "--google-benchmark", program)
    ended = run_assay(project.root, *words, "--json")
    answer = json.loads(ended.stdout)
    assert ended.returncode in {0, 1, 3}  # what it takes is up to the host
    assert {of["name"]: of["base"] is not None for of in answer["benchmarks"]} == {
        "sum/8": True,
        "nothing<unsigned long>/real_time": True,
    }
    assert {of["name"]: of["kind"] for of in answer["left_out"]} == {"sum/64": "gone", "sum/512": "new"}
    ended = run_assay(project.root, *words, "--filter", "sum/8$", "--metric", "cpu_time_ns", "--json")
    answer = json.loads(ended.stdout)
    assert (answer["metric"], [of["name"] for of in answer["benchmarks"]]) == ("cpu_time_ns", ["sum/8"])


# As Catch2 3 does: it takes no option twice, and prints what a test case has.
CATCH2 = """#!/bin/sh
case "$*" in *--benchmark-no-analysis*--benchmark-no-analysis*) echo 'Unrecognised token' >&2; exit 255;; esac
echo '<Catch2TestRun name="t" rng-seed="1" catch2-version="3.4.0">'
case $1 in
  '[!benchmark]' | 'sums\\, all') echo '<TestCase name="sums, all"><BenchmarkResults name="small" samples="1">
    <mean value="COST" lowerBound="1" upperBound="900"/></BenchmarkResults><BenchmarkResults name="large">
    <mean value="900" lowerBound="1" upperBound="900"/></BenchmarkResults></TestCase>';;
  *) echo "No test cases matched '$1'" >&2; exit 2;;
esac
echo '</Catch2TestRun>'
"""


def test_each_benchmark_of_a_catch2_program_is_one(assay: Assay, project: ExampleRepository) -> None:
    for ns in ("100", "130"):
        project.commit("Sums", tests=CATCH2.replace("COST", ns))
    words = ("ab", "--base", "HEAD~1", "--build", "chmod +x tests", "--catch2", "./tests")
    answer = told(assay, *words, expect=1)
    assert {of["name"]: (of["base"], of["head"], of["verdict"]) for of in answer["benchmarks"]} == {
        "sums, all/small": (100, 130, "slower"),
        "sums, all/large": (900, 900, "equivalent"),
    }
    message = assay(*words, "--filter", "[other]", expect=2).stderr
    assert (
        "./tests does not list its benchmarks: it exited with 2: No test cases matched '[other]'" in message
    )
