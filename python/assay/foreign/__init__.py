"""Other tools' formats: readers of their results, and writers of ours that their scripts read."""

from assay.foreign.catch2 import read_catch2
from assay.foreign.document import LARGEST, ForeignError
from assay.foreign.google_benchmark import read_google_benchmark
from assay.foreign.read import files_of, read
from assay.foreign.types import Benchmark, Benchmarks, Fact, ForeignRun, MapRun, Measure, Summary
from assay.foreign.write import Exported, google_benchmark_json, hyperfine_json

__all__ = [
    "LARGEST",
    "Benchmark",
    "Benchmarks",
    "Exported",
    "Fact",
    "ForeignError",
    "ForeignRun",
    "MapRun",
    "Measure",
    "Summary",
    "files_of",
    "google_benchmark_json",
    "hyperfine_json",
    "read",
    "read_catch2",
    "read_google_benchmark",
]
