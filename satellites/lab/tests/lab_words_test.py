"""How the commands take their words."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Assay
from program_output import HOSTILE, check_lost_output, check_unknown_words, quoted


@pytest.mark.parametrize(
    "words", ["lab engines --all --output -", "lab energy --microbenchmarks --figures -"]
)
def test_standard_output_is_no_folder(words: str, assay: Assay, tmp_path: Path) -> None:
    said = assay(*words.split(), expect=2).stderr
    assert "- is standard output, and these are files of a folder" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "place", "remedy"),
    [
        ("lab engines --all --numbers 999", "assay lab engines: --numbers:", "1,000 or more"),
        ("lab engines --all --numbers 1e10", "assay lab engines: --numbers:", "1,000,000,000 or less"),
        ("lab engines --all --reseed-every 0", "assay lab engines: --reseed-every:", "1 or more"),
    ],
)
def test_numbers_out_of_range_end_with_place_and_remedy(
    words: str, place: str, remedy: str, assay: Assay
) -> None:
    said = assay(*words.split(), expect=2).stderr
    assert place in said
    assert remedy in said


@pytest.mark.parametrize("program", ["assay-energy", "assay-engines", "assay-govern", "assay-rtm"])
def test_a_program_quotes_a_word_that_it_does_not_know_printable_and_short(program: str) -> None:
    check_unknown_words(program)


def test_the_emulator_quotes_the_name_of_a_record_so_too() -> None:
    assert len(quoted("assay-rtm", b"--record=" + HOSTILE[:-1] + b"/x", b"true")) < 400


@pytest.mark.parametrize(
    "command", ["assay-engines --list", "assay-energy --help", "assay-govern --help", "assay-rtm --help"]
)
def test_what_is_printed_in_vain_is_an_error(command: str) -> None:
    check_lost_output(command)


def test_an_engine_of_ones_own_is_judged_as_trials_draw_from_it(
    assay: Assay, tmp_path: Path, prefix: Path
) -> None:
    for command in (
        ["-S", str(ROOT / "examples" / "own_engine"), "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["--build", "build"],
    ):
        subprocess.run(["cmake", *command], cwd=tmp_path, check=True, capture_output=True)
    draws = f"{tmp_path}/build/engine --draw c_rand_r --seed {{seed}}"
    printed = assay("lab", "engines", "--program", draws, "--numbers", "1e6", "--json", expect=1).stdout
    [judged] = json.loads(printed)["engines"]
    assert judged["verdict"] == "rejected"
    # Two numbers of 31 bits and one more make 64: none of these stands still.
    assert "never change" not in json.dumps(judged)
    unknown = subprocess.run(
        ["build/engine", "--draw", "c_rand_s"], cwd=tmp_path, check=False, capture_output=True
    )
    assert unknown.returncode != 0
    assert unknown.stdout == b""
    assert b"c_rand_r" in unknown.stderr  # among those that there are
