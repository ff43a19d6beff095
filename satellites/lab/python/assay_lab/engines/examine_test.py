"""What becomes of the real engines, drawn by the real program."""

import json
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.audit import KNOWN_FLAWS
from assay.cli.commands import app
from assay.errors import AssayError
from assay_lab.engines import chosen, examine, known
from assay_lab.engines.judge import judge
from assay_lab.engines.page import write_judged
from assay_lab.engines.program import count
from assay_lab.engines.types import EngineExamination

N = 400_000


@cache
def judged() -> dict[str, EngineExamination]:
    names = ["xoshiro256pp", "pcg64", "fnv1a", "lcg64"]
    engines = examine(chosen(names), numbers=N, seed=1, reseed_every=None)
    return {engine.engine.name: engine for engine in engines}


def test_good_engines_are_accepted_and_bad_ones_rejected() -> None:
    words = {name: engine.verdict.word for name, engine in judged().items() if engine.verdict}
    assert words == {
        "xoshiro256pp": "accepted",
        "pcg64": "accepted",
        "fnv1a": "rejected",
        "lcg64": "rejected",
    }


def test_the_strict_alternation_of_fnv1a_is_named_with_what_it_does() -> None:
    verdict = judged()["fnv1a"].verdict
    assert verdict
    assert verdict.why.startswith("bit 0 strictly alternates")
    assert "two draws and modulo, every key has the parity" in verdict.effect


def test_the_short_periods_of_a_plain_lcg_are_named() -> None:
    verdict = judged()["lcg64"].verdict
    assert verdict
    assert "repeat after 4 to" in verdict.why


@pytest.mark.parametrize("name", ["xoshiro256pp", "pcg64"])
def test_good_engines_are_accepted_whatever_the_seed(name: str) -> None:
    """At 1e-3 for each, one of these would fail with a probability of at most 0.006."""
    for seed in range(100, 106):
        counts = count(name, numbers=100_000, seed=seed, reseed_every=None, parts=("bits", "keys", "streams"))
        assert judge(counts).word == "accepted", seed


def test_every_known_flaw_is_still_found_and_no_other_engine_has_one() -> None:
    engines = [engine for engine in known() if engine.available]
    words = {}
    for engine in engines:
        counts = count(engine.name, numbers=N, seed=3, reseed_every=None, parts=("bits", "keys", "streams"))
        words[engine.name] = judge(counts).word
    assert {name for name, word in words.items() if word == "rejected"} == set(KNOWN_FLAWS)
    assert set(words.values()) == {"accepted", "rejected"}


def test_pictures_and_page_are_files_that_need_no_network(tmp_path: Path) -> None:
    two = [judged()[name] for name in ("pcg64", "fnv1a")]
    page = write_judged(two, "Asked.", tmp_path / "new")
    text = page.read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "").replace("https://vega.github.io/schema", "")
    assert "bit 0 strictly alternates" in text
    names = {file.name for file in (tmp_path / "new").iterdir()}
    assert {"vega.js", "style.css", "speed.svg", "fnv1a-first-byte.svg", "fnv1a-first-byte.png"} <= names
    assert {"fnv1a-eight-bits.svg", "fnv1a-eight-bits-reseeded.svg"} <= names


def test_without_what_draws_files_there_is_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = write_judged([judged()["pcg64"]], "Asked.", tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert page.name in names
    assert not {name for name in names if name.endswith((".svg", ".png"))}


def test_an_engine_that_cannot_be_had_is_shown_with_the_reason(tmp_path: Path) -> None:
    engine = known()[0].__class__("rdrand", "the instruction RDRAND", 0, 64, False, False, False)
    (refused,) = examine([engine], numbers=N, seed=1, reseed_every=None)
    assert refused.verdict is None
    assert "the instruction RDRAND" in refused.unavailable
    assert refused.unavailable in write_judged([refused], "Asked.", tmp_path).read_text(encoding="utf-8")


def test_engines_that_cannot_be_reseeded_are_judged_without_and_refused_with_it() -> None:
    (engine,) = examine(chosen(["c_rand"]), numbers=10_000, seed=1, reseed_every=None)
    assert engine.verdict
    assert engine.other is None
    (engine,) = examine(chosen(["c_rand"]), numbers=10_000, seed=1, reseed_every=1000)
    assert engine.verdict is None
    assert "cannot be reseeded" in engine.unavailable


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fnv1b"], "did you mean fnv1a?"),
        (["--all", "fnv1a"], "--all"),
        (["fnv1a", "--output", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_mistakes_are_told_before_anything_is_drawn(arguments: list[str], words: str) -> None:
    ended = CliRunner().invoke(app, ["lab", "engines", *arguments])
    assert isinstance(ended.exception, AssayError)
    assert words in str(ended.exception)


def test_named_engines_decide_the_exit_code_and_json_says_all() -> None:
    ended = CliRunner().invoke(app, ["lab", "engines", "fnv1a", "--numbers", "1e5", "--json"])
    assert ended.exit_code == 1
    (engine,) = json.loads(ended.stdout)["engines"]
    assert (engine["engine"]["name"], engine["verdict"], engine["numbers"]) == ("fnv1a", "rejected", 100_000)
    assert engine["speed_ns"]["source"] > 0
    assert any(test["kind"] == "alternation of each bit" for test in engine["tests"])
    ended = CliRunner().invoke(app, ["lab", "engines", "pcg64", "--numbers", "1e5", "--json"])
    assert ended.exit_code == 0


def test_without_names_the_engines_are_listed() -> None:
    ended = CliRunner().invoke(app, ["lab", "engines"])
    assert ended.exit_code == 0
    assert "xoshiro256pp" in ended.stdout
    assert "rejected: odd and even numbers strictly alternate" in " ".join(ended.stdout.split())
