"""Functions beside reference versions of theirs: real fuzzers, real profilers, real trials."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assay import programs
from assay.cli.commands import app
from assay.errors import AssayError
from assay.runner.process import StopSignals
from assay_rig import project
from assay_rig.fuzz import Fuzzed, search
from assay_rig.profile import parse_callgrind
from conftest import ROOT

WRONG = r"""
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>
#include "assay/fixture/inspected.h"

using word = std::uint32_t;
constexpr word rare = 123'456'789;

word right(word n) { return n / 2; }
word once(word n) { return n == rare ? 0 : n >> 1U; }
word crashes(word n) { return n == rare ? *std::unique_ptr<word>() : n / 2; }
word overflows(word n) {
  return n == rare ? static_cast<word>(2'147'483'647 + static_cast<int>(n % 2)) : n / 2;
}
word hangs(word n) {
  while (n == rare) asm volatile("");
  return n / 2;
}
word leaks(word n) {
  if (n == rare) asm volatile("" : : "r"(new word(n)));
  return n / 2;
}
word throws(word n) { return n == rare ? throw std::runtime_error("rare") : n / 2; }
constexpr auto one = [](assay::fixture::inputs& draw) { return std::tuple(draw.between(0U, ~0U)); };

void last_to_front(std::vector<int>& of) {
  if (!of.empty()) std::swap(of.front(), of.back());
}
void rotated(std::vector<int>& of) {
  if (of.empty()) return;
  of.insert(of.begin(), of.back());
  of.pop_back();
}
constexpr auto list = [](assay::fixture::inputs& draw) { return std::tuple(draw.list<int>(9, 0, 9)); };
std::size_t escapes(const std::string& text) { return text.find('"'); }
std::size_t escaped(const std::string& text) { return text == "\"" ? 7 : text.find('"'); }
constexpr auto text = [](assay::fixture::inputs& draw) { return std::tuple(draw.text(4)); };

static const assay::fixture::inspected<right, right, one> a{"right", ""};
static const assay::fixture::inspected<once, right, one> b{"once", ""};
static const assay::fixture::inspected<crashes, right, one> c{"crashes", ""};
static const assay::fixture::inspected<overflows, right, one> d{"overflows", ""};
static const assay::fixture::inspected<hangs, right, one> e{"hangs", ""};
static const assay::fixture::inspected<leaks, right, one> f{"leaks", ""};
static const assay::fixture::inspected<throws, right, one> g{"throws", ""};
static const assay::fixture::inspected<throws, throws, one> h{"both_throw", ""};
static const assay::fixture::inspected<last_to_front, rotated, list> i{"changes", ""};
static const assay::fixture::inspected<escaped, escapes, text> j{"text", ""};
"""


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzer")
    (folder / "wrong.cpp").write_text(WRONG)
    sanitizers = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    options = [
        "-std=c++20",
        "-O1",
        "-g1",
        f"-I{ROOT / 'native'}",
        f"-I{ROOT / 'concurrent/include'}",
        "-DASSAY_FUZZED",
        *sanitizers,
    ]
    subprocess.run([project.clang(), *options, "wrong.cpp", "-o", "wrong"], cwd=folder, check=True)
    return folder / "wrong"


def searched(fuzzer: Path, name: str, seconds: int = 60) -> Fuzzed:
    """Return what a search comes to: it ends with the first input that fails."""
    with StopSignals() as stop:
        return search(fuzzer, name, seconds=seconds, seed=1, folder=fuzzer.parent, stop=stop)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_rig.fuzz.CALL_S", 1)
    monkeypatch.setattr("assay_rig.fuzz.SMALLER_S", 1)


@pytest.mark.parametrize("name", ["right", "both_throw"])
def test_functions_that_answer_alike_are_not_told_apart(fuzzer: Path, name: str) -> None:
    found = searched(fuzzer, name, seconds=1)
    assert (found.result, found.file, found.input) == ("same", None, "")
    assert found.inputs > 0
    assert found.covered > 0


def test_one_wrong_answer_in_four_billion_is_found(fuzzer: Path) -> None:
    found = searched(fuzzer, "once")
    assert (found.result, found.input) == ("differs", "(123456789)")
    assert (found.answer, found.reference) == ("0", "61728394")
    assert found.file is not None
    # What it says repeats it does.
    again = subprocess.run(["sh", "-c", found.again], capture_output=True, text=True, check=False)
    assert 'assay-differs {"answer": "0", "reference": "61728394"}' in again.stderr
    assert again.returncode != 0


@pytest.mark.parametrize(
    ("name", "result", "said"),
    [
        ("crashes", "crash", "SEGV|null pointer|unique_ptr.h"),
        ("overflows", "crash", "wrong.cpp:17|undefined-behavior"),
        ("hangs", "hang", "timeout"),
        ("leaks", "leak", "4 byte"),
    ],
)
def test_what_is_fatal_is_told_apart(fuzzer: Path, name: str, result: str, said: str) -> None:
    found = searched(fuzzer, name)
    assert found.result == result
    assert re.search(said, found.said)
    assert found.input == "(123456789)"


def test_an_exception_is_an_answer(fuzzer: Path) -> None:
    found = searched(fuzzer, "throws")
    assert (found.result, found.answer, found.reference) == ("differs", "an exception", "61728394")


def test_what_is_left_in_arguments_is_an_answer(fuzzer: Path) -> None:
    found = searched(fuzzer, "changes")
    assert found.result == "differs"
    assert found.input.count(",") >= 2  # the smallest list for which the two differ has three numbers
    assert found.answer.startswith("(), leaving ({")
    assert found.answer != found.reference


def test_an_input_is_told_whatever_is_in_it(fuzzer: Path) -> None:
    found = searched(fuzzer, "text")
    assert (found.input, found.answer, found.reference) == (r'("\x22")', "7", "0")


def test_a_function_that_is_not_there_is_named(fuzzer: Path) -> None:
    with pytest.raises(AssayError, match=r"inspects no function other; it has right, once, crashes"):
        searched(fuzzer, "other")


CALLGRIND = """
events: Ir Dw
fl=(1) /x/my.cpp
fn=(1) f(int)
10 5 1
+2 3
cfi=(2) /usr/other.cpp
cfn=(2) g<int>(char)
calls=4 70
* 100 100
fi=(2)
7 2 2
fe=(1)
-1 4
fn=(2)
fl=(2)
70 9 9
totals: 23 12
"""


def test_what_callgrind_counts_belongs_to_the_line_and_the_function_that_does_it() -> None:
    counted = parse_callgrind(CALLGRIND)
    assert counted.by("Ir") == {
        ("/x/my.cpp", 10): 5,
        ("/x/my.cpp", 12): 3,
        ("/usr/other.cpp", 7): 2,
        ("/x/my.cpp", 6): 4,
        ("/usr/other.cpp", 70): 9,
    }
    assert counted.by("Dw")[("/x/my.cpp", 10)] == 1
    assert counted.functions == {"f": 14, "g": 9}


def invoked(*words: str) -> Result:
    return CliRunner().invoke(app, ["inspect", *words])


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assay's C++ libraries, as a user has them; and a folder to work in."""
    prefix = tmp_path / "prefix"
    build = programs.find("assay-trial").parents[1]
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
    monkeypatch.setattr(programs, "install_prefix", lambda: prefix)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_installed")
def test_a_new_function_is_inspected_as_it_is_written_and_when_it_is_wrong() -> None:
    assert CliRunner().invoke(app, ["new", "function", "mine"]).exit_code == 0
    experiment = Path("mine/experiment.toml")
    text = experiment.read_text().replace("duration_ms = 50", "duration_ms = 2").replace("= 12", "= 2")
    experiment.write_text(text + "\n[simulate]\noperations = 100\n")
    ended = invoked("mine", "--within", "1s", "--seed", "7", "--json", "--quiet")
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)
    assert told["answers"]["result"] == "same"
    assert told["verdict"] in {"faster", "undecided"}
    costs = {cost["metric"]: cost for cost in told["costs"]}
    instructions = costs["simulated_instructions_per_operation"]
    assert 0 < instructions["ours"] < instructions["reference"]
    assert costs["simulated_l1_dcache_stores_per_operation"]["name"] == "writes, simulated"
    lines = told["profiles"]["mine"]["lines"]
    assert {line["file"] for line in lines} == {"mine.cpp"}
    assert max(line["instructions"] or 0 for line in lines) > 0
    page = Path(told["page"]).read_text()
    assert "mine beside its reference version" in page
    assert "What a call costs" in page

    source = Path("mine/mine.cpp")
    source.write_text(source.read_text().replace("number >= 1'000)", "number > 1'000)"))
    ended = invoked("mine", "--within", "60s", "--seed", "7")
    assert ended.exit_code == 1
    assert "mine: DIFFERENT ANSWERS, found after" in ended.stdout
    assert re.search(r"input +\(1000\)\n  mine +3\n  reference +4\n", ended.stdout)
    assert (
        "There is an input with different answers." in Path("results/inspections/mine/index.html").read_text()
    )

    source.write_text(source.read_text().replace("return 4 +", "return four +"))
    ended = invoked("mine", "--quiet")
    assert ended.exit_code != 0
    assert "four" in ended.output
    assert "correct what is said above" in str(ended.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent"], r"there is no function absent: .*; write a project: .*new function absent"),
        (["absent", "--directory", "nowhere"], "--directory: there is no folder nowhere"),
    ],
)
def test_a_function_without_a_project_is_refused(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssayError, match=message):
        CliRunner().invoke(app, ["inspect", *words], catch_exceptions=False)
    assert not [*tmp_path.iterdir()]
