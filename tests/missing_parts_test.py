"""What an installation without some of its parts does: the rest, and a line on what to install."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import assay as package
from assay import programs, satellites
from assay.errors import AssayError
from assay.report.render import write_scripts
from conftest import Assay, small_experiment


def test_data_frames_name_their_satellite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(satellites, "added", lambda _: {})
    with pytest.raises(AssayError, match=r"^assay.open: assay-foreign is not installed: pip install "):
        package.open(tmp_path / "assay.sqlite")


@pytest.mark.usefixtures("constant_trials")
def test_without_what_draws_charts_a_run_writes_its_page_and_says_how_to_see_them(
    tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.toml").write_text(small_experiment("plain", blocks=2))
    with monkeypatch.context() as without:
        for module in ("altair", "vl_convert"):
            without.setitem(sys.modules, module, None)
        lines = assay("run", "plain.toml", "--anyway").stdout.splitlines()
    [place] = [number for number, line in enumerate(lines) if line.startswith("page: ")]
    assert "pip install 'assay[charts]'" in lines[place + 1]
    page = Path(lines[place].removeprefix("page: "))
    assert "medians" in page.read_text(encoding="utf-8")
    vega = page.parents[1] / "vega.js"
    assert vega.stat().st_size < 100

    assert "pip install" not in assay("report").stdout
    assert vega.stat().st_size > 100_000

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    write_scripts(vega.parent)
    assert vega.stat().st_size > 100_000


def test_what_draws_charts_is_bundled_once_and_kept_for_every_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled: list[str] = []

    def bundle(_: None) -> str:
        bundled.append("")
        return "vega"

    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for site in ("one", "other"):
        write_scripts(tmp_path / site)
        assert (tmp_path / site / "vega.js").read_text().endswith("\nvega")
    assert len(bundled) == 1

    (kept,) = (tmp_path / "cache").rglob("*.js")
    kept.write_text("// another version\nold")
    write_scripts(tmp_path / "third")
    assert (tmp_path / "third" / "vega.js").read_text() == kept.read_text()
    assert len(bundled) == 2

    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_scripts(tmp_path / "fourth")
    assert (tmp_path / "fourth" / "vega.js").exists()


def installed(folder: Path) -> ModuleType:
    """Return `assay.programs` as it is where a wheel has put it: in no checkout."""
    copy = folder / "assay" / "programs.py"
    copy.parent.mkdir()
    copy.write_text(Path(programs.__file__).read_text(encoding="utf-8"))
    spec = importlib.util.spec_from_file_location("installed_programs", copy)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_has_programs_in_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_PROGRAMS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    module = installed(tmp_path)
    with pytest.raises(
        AssayError, match=r"assay-absent .*assay/bin or on the PATH; .*a checkout.*ASSAY_PROGRAMS$"
    ):
        module.find("assay-absent")
    program = tmp_path / "assay" / "bin" / "assay-trial"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert module.find("assay-trial") == program.resolve()
    assert module.install_prefix() is None


@pytest.mark.parametrize(
    ("only", "said"), [("", ""), ("std_map_mutex;tbb_map", "; make build builds further subjects")]
)
def test_subjects_that_the_quickstart_left_out_are_built_by_make_build(
    only: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_BUILT", tmp_path / "bin")
    assert programs.further_subjects() == ""
    (tmp_path / "CMakeCache.txt").write_text(f"A:BOOL=ON\nASSAY_ONLY_SUBJECTS:STRING={only}\nB:BOOL=ON\n")
    assert programs.further_subjects() == said
