"""Paths of the campaign's host become paths of the bundle, and nothing else changes."""

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import load
from assay.experiment.testing import experiment_text
from assay_bundle.libraries import libraries_of
from assay_bundle.moved import Moved


@pytest.fixture
def moved(tmp_path: Path) -> Moved:
    """Return where files of an experiment are, whose trials ran with programs in a folder of the project."""
    file = tmp_path / "x.toml"
    file.write_text(experiment_text())
    return Moved(load(file), tmp_path / "build/bin")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("{}", "/project"),
        ("{}/a b.c", "/project/a b.c"),
        ("{}/build/bin/assay-trial", "/programs/assay-trial"),
        ("{}/build/binary", "/project/build/binary"),
        ("{}-other/a", "{}-other/a"),
        ("error in {}/x: {}/build/bin", "error in /project/x: /programs"),
        ("/usr/bin/sort", "/usr/bin/sort"),
    ],
)
def test_a_path_is_moved_as_a_whole(moved: Moved, tmp_path: Path, path: str, place: str) -> None:
    assert moved.place(path.replace("{}", str(tmp_path))) == place.replace("{}", str(tmp_path))


def test_values_keep_their_kinds(moved: Moved, tmp_path: Path) -> None:
    value = {str(tmp_path): [1, None, True, 0.5, {"a": (f"{tmp_path}/a",)}]}
    assert moved.value(value) == {"/project": [1, None, True, 0.5, {"a": ["/project/a"]}]}


def test_an_experiment_is_read_again_with_its_paths_moved(moved: Moved, tmp_path: Path) -> None:
    experiment = moved.experiment(load(tmp_path / "x.toml"))
    assert experiment.path == Path("/project/x.toml")
    assert experiment.source == experiment_text()


def test_a_program_brings_its_libraries_and_its_loader() -> None:
    names = {Path(path).name for path in libraries_of([Path("/bin/sh").resolve()])}
    assert any(name.startswith("ld-") for name in names)
    assert any(name.startswith("libc.so") for name in names)


def test_a_text_brings_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    assert libraries_of([tmp_path / "a"]) == {}


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\nprintf '\\tlibnone.so.1 => not found\\n'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(AssayError, match=r"libnone\.so\.1"):
        libraries_of([Path("/bin/sh").resolve()])
