import json
import os
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay_lab.governor import state


def test_a_number_that_another_process_has_now_is_no_governor(tmp_path: Path) -> None:
    (tmp_path / "state").write_text(json.dumps({"process": os.getpid()}))
    assert state.running(tmp_path / "state") is None


def test_the_state_of_another_version_is_said_to_be_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "PROGRAMS", {Path("/proc/self/comm").read_bytes().strip()})
    (tmp_path / "state").write_text(json.dumps({"process": os.getpid(), "domains": 7}))
    with pytest.raises(AssayError, match="another version"):
        state.running(tmp_path / "state")


@pytest.mark.parametrize("text", ["", "7", "[]", "{}", '{"process": "x"}', "[" * 100_000])
def test_what_is_no_state_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(AssayError, match="not the state of a governor"):
        state.running(tmp_path / "state")


def test_a_pipe_or_a_link_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(AssayError, match=name):
            state.running(tmp_path / name)
