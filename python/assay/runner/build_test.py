"""Real builds by a real shell."""

import json
import os
import signal
from pathlib import Path

import pytest

from assay.experiment import Experiment, parse
from assay.runner.build import run_builds
from assay.runner.process import CannotStartError, Interrupted, StopSignals

TEXT = """
name = "x"
question = "?"
design = { blocks = 8 }
comparison = { metric = "wall_ms", factor = "subject", baseline = "mine_0", smallest_effect_percent = 3 }
"""


def experiment(folder: Path, *builds: str | None) -> Experiment:
    programs = "".join(
        f"[subjects.mine_{number}]\nprogram = 'true'\nprotocol = false\n"
        + ("" if build is None else f"build = {json.dumps(build)}\n")
        for number, build in enumerate([*builds, "touch unused"])
    )
    factors = f"[factors]\nsubject = {[f'mine_{number}' for number in range(len(builds))]}\n"
    return parse(TEXT + factors + programs, folder / "x.toml")


def test_each_build_runs_once_in_the_folder_of_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    printed: list[str] = []
    first, second = "echo one >> diary; pwd >> diary", 'echo "$HOME" >> diary'
    run_builds(experiment(tmp_path, first, None, second, first), printed.append, printed.append)
    assert (tmp_path / "diary").read_text().splitlines() == ["one", str(tmp_path), "/home/me"]
    assert printed == [f"building: {first}", f"building: {second}"]


def test_a_program_of_several_subjects_is_built_once(tmp_path: Path) -> None:
    factors = "[factors]\nsubject = ['mine_0', 'mine_1']\n"
    table = "[subjects.mine]\nprogram = 'true'\nnames = ['mine_0', 'mine_1']\nprotocol = false\n"
    text = f"{TEXT}{factors}{table}build = 'echo built >> diary'\n"
    run_builds(parse(text, tmp_path / "x.toml"), print, print)
    assert (tmp_path / "diary").read_text() == "built\n"


def test_what_is_not_measured_is_not_built(tmp_path: Path) -> None:
    run_builds(experiment(tmp_path, "touch used", "true"), print, print)
    assert [file.name for file in tmp_path.iterdir()] == ["used"]


@pytest.mark.parametrize(
    ("build", "how"),
    [("exit 3", "exited with 3"), ("kill -9 $$", "was ended by signal 9"), ("(", "exited with 2")],
)
def test_a_build_that_fails_is_shown_with_what_it_printed(tmp_path: Path, build: str, how: str) -> None:
    command = f"echo first; echo broken >&2; touch made\n{build}"
    shown: list[str] = []
    with pytest.raises(CannotStartError) as caught:
        run_builds(experiment(tmp_path, command, "touch never"), print, shown.append)
    assert str(caught.value) == (
        f'the build "echo first; echo broken >&2; touch made\\n{build}" in {tmp_path} {how}; correct it'
    )
    assert build == "(" or shown == ["first", "broken"]
    assert not (tmp_path / "never").exists()


def test_of_a_flood_of_output_the_end_is_shown(tmp_path: Path) -> None:
    shown: list[str] = []
    build = "yes | head -c 100000000; head -c 30000 /dev/zero | tr '\\0' x; echo; seq 9; exit 1"
    with pytest.raises(CannotStartError, match="exited with 1"):
        run_builds(experiment(tmp_path, build, "true"), print, shown.append)
    assert shown[-1] == "9"
    assert len(shown) < 100
    assert max(map(len, shown)) < 1000


def test_what_a_build_prints_cannot_play_with_the_terminal(tmp_path: Path) -> None:
    shown: list[str] = []
    with pytest.raises(CannotStartError):
        run_builds(
            experiment(tmp_path, r"printf '\033]0;owned\007\tx\n'; exit 1", "true"), print, shown.append
        )
    assert shown == [r"\x1b]0;owned\x07\tx"]


def test_a_signal_ends_a_build_and_what_it_started(tmp_path: Path) -> None:
    with StopSignals() as stop, pytest.raises(Interrupted) as caught:
        run_builds(
            experiment(tmp_path, f"kill -TERM {os.getpid()}; sleep 3600 | sleep 3600", "true"),
            print,
            print,
            stop,
        )
    assert caught.value.signum == signal.SIGTERM
