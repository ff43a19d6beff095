"""Workers are started on this machine, and beside those of a Dask cluster, tell how they ended, and end."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from assay.errors import AssayError
from assay_cluster import dask, local
from assay_cluster.dask import DaskUnit, check_names
from assay_cluster.local import LocalUnit
from assay_cluster.start import decoded, encoded, last_words, words
from assay_cluster.testing_cluster import SilentServer, await_end, is_over
from assay_cluster.units import Unit, Work


def test_words_survive_shells_and_say_all() -> None:
    work = Work("postgresql://me@db/it's?a=%20b", 3, tuned=True)
    given = words(work, "lab 1", "lab 1")
    assert given[-1] == "--tuned"
    assert decoded(encoded(given)) == given
    assert encoded(given).isalnum()


def test_last_words_are_one_line() -> None:
    assert last_words(0, "") == ""
    assert last_words(1, "a\nerror: the host is \x1b[31mred\n\n") == "the host is \\x1b[31mred; exit status 1"
    assert last_words(2, "a\nit has said why\n") == "it has said why"
    assert last_words(-9, "") == "signal 9"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Dask cluster with one worker."""
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    script = (
        "from distributed import LocalCluster; import sys; import time\n"
        "if __name__ == '__main__':\n"
        "  with LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster:\n"
        "    print(cluster.scheduler_address, flush=True); sys.stdin.read()\n"
    )
    program = file.with_suffix(".py")
    program.write_text(script)
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        yield running.stdout.readline().strip()


@pytest.fixture(params=["local", "dask"])
def unit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unit]:
    for module in (local, dask):  # a worker that waits for a connection does not end by itself
        monkeypatch.setattr(module, "GRACE_S", 0.1)
    unit: Unit = LocalUnit()
    if request.param == "dask":
        unit = DaskUnit(request.getfixturevalue("scheduler"), 1)
    yield unit
    unit.close()


def test_a_worker_runs_and_tells_how_it_ended(unit: Unit, silent: SilentServer) -> None:
    unit.start(Work(silent.url, 1))
    connection = silent.connection()
    assert unit.ended() is None
    connection.close()
    silent.close()
    assert "127.0.0.1" in await_end(unit)


def test_closing_ends_a_worker(unit: Unit, silent: SilentServer) -> None:
    unit.start(Work(silent.url, 1))
    connection = silent.connection()
    unit.close()
    assert is_over(connection)


def test_a_dask_cluster_that_does_not_fit_is_told(
    scheduler: str, silent: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "_CONNECT_S", 1)
    with pytest.raises(AssayError, match="on 1 host, and hosts = 2; start more, or write fewer"):
        DaskUnit(scheduler, 2).start(Work(silent.url, 1))
    with pytest.raises(AssayError, match="no Dask scheduler answers there; correct its address"):
        DaskUnit("tcp://127.0.0.1:1", 1).start(Work(silent.url, 1))


def test_hosts_of_dask_with_one_name_are_refused() -> None:
    check_names({"10.0.0.1": "lab1", "10.0.0.2": "lab2"})
    message = "10.0.0.1 and 10.0.0.3 are all called node: if they are one machine, write fewer hosts; if not"
    with pytest.raises(AssayError, match=message):
        check_names({"10.0.0.1": "node", "10.0.0.2": "lab2", "10.0.0.3": "node"})
