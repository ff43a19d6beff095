"""assay lab advise, over programs that break a guideline each, and over bad input."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay_lab.testing import compiled
from conftest import ROOT, Assay, run_assay

SOURCES = ROOT / "satellites/lab/native/flawed"
_BEGIN = 'unsigned status = ~0u; asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");'
_END = 'asm volatile("xend" : : : "memory");'


def advise(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "lab", "advise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def judged(*arguments: object) -> list[dict[str, Any]]:
    done = advise("--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    sections: list[dict[str, Any]] = json.loads(done.stdout)["sections"]
    return sections


@pytest.mark.parametrize(
    ("name", "function", "guideline", "code", "variable"),
    [
        ("neighbours", "add_up", 1, "sums[thread] +=", "sums"),
        ("log_line", "add_up", 2, "::write(", ""),
        ("common_counter", "add_up", 3, "++sections", "sections"),
        ("early_write", "add_up", 4, "works += 1", ""),
        ("fine_locks", "count_all", 5, "scoped_lock", ""),
    ],
)
def test_the_guideline_is_named_with_its_place(
    name: str, function: str, guideline: int, code: str, variable: str
) -> None:
    source = (SOURCES / f"{name}.cpp").read_text().splitlines()
    sections = judged(programs.find(f"advised_{name}"))
    advice = [advice for section in sections for advice in section["advice"]]
    assert {each["guideline"] for each in advice} == {guideline}
    assert sections[0]["place"]["function"].startswith(function)
    assert "scoped_lock" in source[sections[0]["place"]["line"] - 1]
    place = advice[0]["places"][0]
    assert place["file"].endswith(f"{name}.cpp")
    assert code in source[place["line"] - 1]
    assert (advice[0]["range"] or {"variable": ""})["variable"] == variable


def test_nothing_is_said_against_sound_sections() -> None:
    done = advise(programs.find("advised_sound"))
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing is said against")


def test_a_small_cache_makes_a_sound_section_too_large() -> None:
    (section, *_) = judged("--sets", 1, "--read-ways", 2, programs.find("advised_sound"))
    assert section["ended"]["capacity"] > 0
    assert [advice["guideline"] for advice in section["advice"]] == [1]


@pytest.mark.parametrize(
    ("source", "flags", "words"),
    [
        ("int main() {}", ["-static"], "is linked statically"),
        ("int main() {}", [], "began no transaction"),
        ("int main() { __builtin_trap(); }", [], "It crashed (SIGILL)"),
        ("#include <csignal>\nint main() { std::raise(40); }", [], "It crashed (signal 40)"),
    ],
)
def test_a_program_that_cannot_be_judged_is_refused(
    tmp_path: Path, source: str, flags: list[str], words: str
) -> None:
    done = advise(compiled(tmp_path, source, *flags))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_program_that_is_not_there_is_refused() -> None:
    done = advise("/no/such/program")
    assert done.returncode == 2
    assert "No such file" in done.stderr


def test_avx_in_a_transaction_is_named_with_its_remedy(tmp_path: Path) -> None:
    avx = 'asm volatile("vpaddd %ymm0, %ymm0, %ymm0");'
    source = f"int main() {{ {_BEGIN} if (status == ~0u) {{ {avx} {_END} }} }}"
    done = advise(compiled(tmp_path, source, "-g"))
    assert done.returncode == 1
    assert "vpaddd" in done.stdout
    assert "-mno-avx" in done.stdout


def test_what_was_seen_before_a_program_crashed_or_hung_is_told(tmp_path: Path) -> None:
    transaction = f"{_BEGIN} if (status == ~0u) {{ {_END} }}"
    crashes = compiled(tmp_path, f"int main() {{ {transaction} __builtin_trap(); }}", "-g")
    done = advise(crashes)
    assert done.returncode == 1
    assert "It crashed (SIGILL)" in done.stdout
    assert "1 transaction, 1 committed" in done.stdout
    hangs = compiled(tmp_path, f"int main() {{ {transaction} for (volatile int i = 0;; i = 1) {{}} }}", "-g")
    done = advise("--within", "2s", hangs)
    assert done.returncode == 1
    assert "It did not end within 2 s" in done.stdout


def test_a_program_a_trial_or_a_campaign_is_named_and_one_alone() -> None:
    for given in ([], ["--trial", "1", "/bin/true"], ["--trial", "1", "--campaign", "1"]):
        done = advise(*given)
        assert done.returncode == 2
        assert "name a program, or a trial with --trial, or a campaign" in done.stderr


def test_of_a_campaign_each_setting_is_judged(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "maps.toml").write_text(
        'name = "maps"\nquestion = "?"\n[factors]\nsubject = ["std_map_mutex", "std_map_elided"]\n'
        "[trial]\nkey_range = 100\nmix = { insert = 20, erase = 20, find = 60 }\nduration_ms = 1\n"
        "warm_up_ms = 0\n[design]\nblocks = 2\n"
    )
    assay("run", "maps.toml", "--anyway", "--no-page")
    answer = json.loads(run_assay(tmp_path, "lab", "advise", "--campaign", "1", "--json").stdout)
    by_subject = {each["levels"]["subject"]: each["judged"] for each in answer["settings"]}
    assert by_subject["std_map_mutex"] is None
    assert by_subject["std_map_elided"]["sections"][0]["transactions"] > 0
