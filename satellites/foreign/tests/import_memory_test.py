"""An import, and what reads a campaign whole, need no more memory for more results."""

import json
import tracemalloc
from collections import deque
from pathlib import Path

import pytest

from assay.store import Store
from assay.store.types import Imported
from assay_foreign.audit import audit_foreign
from assay_foreign.campaigns import import_run, stored_run
from assay_foreign.read import read

CATCH2 = '<BenchmarkResults name="{}"><mean value="2" lowerBound="1" upperBound="3"/></BenchmarkResults>\n'
SYNCHROBENCH = "Bench type : set\nNb threads : {}\nSeed : 1\n#txs : 9 (3.0 / s)\n#update txs : 1 (1 / s)\n"


def written(folder: Path, tool: str, count: int) -> Path:
    """Return a file with that many benchmarks, each repeated twice if the tool can repeat one."""
    google = [
        {"name": f"BM/{n}", "run_type": "iteration", "real_time": n, "cpu_time": 1, "time_unit": "ns"}
        for n in [*range(count), *range(count)]
    ]
    hyperfine = [{"command": f"run {n}", "times": [1, 2]} for n in range(count)]
    texts = {
        "google": json.dumps({"context": {"host_name": "h"}, "benchmarks": google}, indent=1),
        "hyperfine": json.dumps({"results": hyperfine}),
        "catch2": '<Catch2TestRun name="t">\n<TestCase name="t">\n'
        + "".join(map(CATCH2.format, range(count)))
        + "</TestCase></Catch2TestRun>",
        "synchrobench": "".join(map(SYNCHROBENCH.format, range(count))),
    }
    file = folder / f"{tool}-{count}"
    file.write_text(texts[tool])
    return file


@pytest.mark.parametrize("tool", ["google", "hyperfine", "catch2", "synchrobench"])
def test_memory_does_not_grow_with_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    monkeypatch.setattr("assay_foreign.document._AT_ONCE", 1000)
    monkeypatch.setattr("assay_foreign.audit._NAMED_AT_MOST", 10)
    monkeypatch.setattr("assay.store.store._ROWS_AT_ONCE", 10)
    monkeypatch.setattr("assay_foreign.campaigns._ROWS_AT_ONCE", 10)
    monkeypatch.setattr("assay.store.store._RECORDS_AT_ONCE", 10)
    files = [written(tmp_path, tool, count) for count in (20, 20, 120)]
    peaks = []
    with Store.open(tmp_path / "s.sqlite") as store:
        for file in files:  # the first fills caches
            tracemalloc.start()
            run = read(file)
            assert audit_foreign(run)
            campaign = import_run(store, run, Imported(run.tool, "", file.name, file.name))
            assert stored_run(store, campaign) is not None
            deque(stored_run(store, campaign).benchmarks, maxlen=0)
            deque(store.each_trial(campaign), maxlen=0)
            assert [*store.damages()] == []
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert tuple(stored_run(store, campaign).benchmarks) == tuple(run.benchmarks)
    assert peaks[2] < 3 * peaks[1]  # of six times as many results; 5.7 where a list holds them
