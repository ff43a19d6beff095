"""Real builds by a real shell."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from assay.experiment import Experiment, parse
from assay.experiment.types import Program
from assay.runner.build import run_builds
from assay.runner.process import CannotStartError, Interrupted, StopSignals

TEXT = """
name = "x"
question = "?"
factors = { threads = [1, 2] }
trial = { subject = "mine" }
design = { blocks = 8 }
comparison = { metric = "wall_ms", factor = "threads", baseline = 1, smallest_effect_percent = 3 }
subjects = { mine = { program = "true", extract = {} } }
"""


def experiment(folder: Path, *builds: str | None) -> Experiment:
    programs = {
        f"mine_{number}": Program(folder / "mine", build=build) for number, build in enumerate(builds)
    }
    return replace(parse(TEXT, folder / "x.toml"), programs=programs)


def test_each_build_runs_once_in_the_folder_of_the_experiment(tmp_path: Path) -> None:
    said: list[str] = []
    one, two = "echo one >> diary; pwd >> diary", 'echo "$HOME" >> diary'
    run_builds(experiment(tmp_path, one, None, two, one), said.append)
    assert (tmp_path / "diary").read_text().splitlines() == ["one", str(tmp_path), os.environ["HOME"]]
    assert said == [f"building: {one}", f"building: {two}"]


@pytest.mark.parametrize(
    ("build", "how"),
    [("exit 3", "exited with 3"), ("kill -9 $$", "was ended by signal 9"), ("(", "exited with 2")],
)
def test_a_build_that_fails_is_shown_with_what_it_printed(tmp_path: Path, build: str, how: str) -> None:
    command = f"echo first; echo broken >&2; touch made\n{build}"
    with pytest.raises(CannotStartError) as caught:
        run_builds(experiment(tmp_path, command, "touch never"), print)
    assert str(caught.value).endswith(f"the build `{command}` in {tmp_path} {how}; put that right")
    assert build == "(" or str(caught.value).startswith("first\nbroken\n")
    assert not (tmp_path / "never").exists()


def test_of_a_flood_of_output_the_end_is_shown(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError) as caught:
        run_builds(experiment(tmp_path, "seq 100000; exit 1"), print)
    lines = str(caught.value).splitlines()
    assert lines[-2] == "100000"
    assert len(lines) < 100


def test_a_signal_ends_a_build_and_what_it_started(tmp_path: Path) -> None:
    with StopSignals() as stop, pytest.raises(Interrupted) as caught:
        run_builds(experiment(tmp_path, f"kill -TERM {os.getpid()}; sleep 3600 | sleep 3600"), print, stop)
    assert caught.value.signum == signal.SIGTERM
