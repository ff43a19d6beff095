"""What a worker does on its host: checks, files, and the end of its time."""

import hashlib
import os
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment.testing import experiment
from assay.plan.types import Plan, PlannedTrial
from assay.store import Store
from assay.store.hosts import NeededFile, files_of, keep_files
from assay_cluster.files import fetch, needed, placed
from assay_cluster.worker import allocation_ends, check_host


def planned(ordinal: int, threads: int = 1, program: str = "/x") -> PlannedTrial:
    levels = {"subject": "ab"[ordinal % 2]}
    request = {"seed": ordinal, "threads": threads}
    return PlannedTrial(ordinal, 0, ordinal // 2, levels, request, program, {}, 1, 1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "assay.sqlite")


def begin(store: Store, *trials: PlannedTrial, processors: int = 2) -> int:
    return store.begin_campaign(
        experiment=experiment(), plan=Plan(1, trials), host={"processors": processors}
    )


def write(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_files_are_copied_once_by_their_digest_and_keep_what_they_are(store: Store, tmp_path: Path) -> None:
    program = write(tmp_path / "leader/run", "#!/bin/sh\necho 1\n")
    keys = write(tmp_path / "leader/keys", "1\n", 0o644)
    campaign = begin(store, planned(0, program=str(program)))
    keep_files(store, campaign, {str(program): str(program), str(keys): str(keys)})
    keep_files(store, campaign, {str(program): str(program)})  # as when it is resumed
    files = files_of(store, campaign)
    shutil.rmtree(tmp_path / "leader")
    places = fetch(store, campaign, files, tmp_path / "cache")
    copied = Path(places[str(program)])
    assert copied.read_text() == "#!/bin/sh\necho 1\n"
    assert copied.stat().st_mode & 0o777 == 0o755
    assert Path(places[str(keys)]).stat().st_mode & 0o777 == 0o644
    before = copied.stat().st_mtime_ns
    assert fetch(store, campaign, files, tmp_path / "cache") == places
    assert copied.stat().st_mtime_ns == before
    copied.write_text("changed")  # it is what the digest says, or it is copied again
    fetch(store, campaign, files, tmp_path / "cache")
    assert copied.read_text() == "#!/bin/sh\necho 1\n"


def test_a_file_that_is_here_already_is_used_where_it_is(store: Store, tmp_path: Path) -> None:
    program = write(tmp_path / "run", "#!/bin/sh\n")
    campaign = begin(store, planned(0, program=str(program)))
    keep_files(store, campaign, {str(program): str(program)})
    assert fetch(store, campaign, files_of(store, campaign), tmp_path / "cache") == {
        str(program): str(program)
    }


def test_trials_find_their_files_where_they_were_copied_to() -> None:
    trial = PlannedTrial(
        *(0, 0, 0, {}, {"run": {"input": "/in"}}, "/x", {}, 1, 1),
    )
    moved = replace(trial, program="/new/x")
    assert needed([trial], [moved]) == {"/x": "/new/x", "/new/x": "/new/x", "/in": "/in"}
    here = placed(trial, {"/x": "/cache/x", "/in": "/cache/in"})
    assert (here.program, here.request["run"]["input"]) == ("/cache/x", "/cache/in")
    assert trial.request["run"]["input"] == "/in"


def test_a_full_disk_is_said_before_anything_is_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path / "leader/run", "#!/bin/sh\n")
    campaign = begin(store, planned(0, program=str(program)))
    keep_files(store, campaign, {str(program): str(program)})
    shutil.rmtree(tmp_path / "leader")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 2**20))
    with pytest.raises(AssayError, match="1 MiB are free, and run needs 65 MiB: free some"):
        fetch(store, campaign, files_of(store, campaign), tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"#!/no/such/interpreter\n", "cannot be started: .*/no/such/interpreter"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(44), "is for another processor"),
    ],
    ids=["interpreter", "aarch64"],
)
def test_a_program_that_cannot_run_here_is_refused(
    store: Store, tmp_path: Path, content: bytes, message: str
) -> None:
    program = tmp_path / "run"
    program.write_bytes(content)
    program.chmod(0o755)
    campaign = begin(store, planned(0, program=str(program)))
    file = NeededFile(str(program), hashlib.sha256(content).hexdigest(), executable=True)
    with pytest.raises(AssayError, match=message):
        fetch(store, campaign, [file], tmp_path / "cache")


def test_a_library_that_is_missing_is_named(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(shutil.copy("/bin/true", tmp_path / "run"))
    write(tmp_path / "bin/ldd", "#!/bin/sh\necho '	libhwloc.so.15 => not found'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    campaign = begin(store, planned(0, program=str(program)))
    keep_files(store, campaign, {str(program): str(program)})
    with pytest.raises(
        AssayError, match=r"run needs 1 library that this host lacks: libhwloc.so.15; install"
    ):
        fetch(store, campaign, files_of(store, campaign), tmp_path / "cache")


def test_a_wrong_clock_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = begin(store, planned(0))
    monkeypatch.setattr(Store, "now", lambda _: datetime.now(UTC) + timedelta(hours=2))
    with pytest.raises(AssayError, match="the clock is about 2 hours behind the store's: set it"):
        check_host(store, campaign, experiment())


def test_too_few_processors_are_refused_where_the_leader_has_enough(store: Store) -> None:
    campaign = begin(store, planned(0, threads=4096), processors=4096)
    with pytest.raises(AssayError, match="too few for 4096 threads"):
        check_host(store, campaign, experiment())


def test_the_end_of_an_allocation_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert allocation_ends() is None
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1700000000")
    assert allocation_ends() == 1700000000
    monkeypatch.delenv("SLURM_JOB_END_TIME")
    for said, left_s in (("1-02:03:04", 93784), ("59:30", 3570), ("UNLIMITED", None)):
        write(tmp_path / "bin/squeue", f"#!/bin/sh\necho {said}\n")
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        ends = allocation_ends()
        assert ends == (None if left_s is None else pytest.approx(time.time() + left_s, abs=60))
