"""What perf prints is read, and where it tells nothing callgrind's counts stand in."""

import os
from pathlib import Path

import pytest

from assay.runner.process import StopSignals
from assay_rig.profile import _perf, parse_perf

PERF = """\
     55d0c0a1b2c3 digits(unsigned int)
  digits.cpp:12
     55d0c0a1b2c9 digits(unsigned int)
  digits.cpp:13
     7f10aabbccdd __memcpy_avx_unaligned
  memmove.S:0
     55d0c0a1b2c3 std::vector<int, std::allocator<int> >::push_back(int&&)
  digits.cpp:12
"""


def test_what_perf_saw_belongs_to_functions_and_lines() -> None:
    sampled = parse_perf(PERF)
    assert sampled.functions == {"digits": 2, "__memcpy_avx_unaligned": 1, "std::vector::push_back": 1}
    assert sampled.lines == {("digits.cpp", 12): 2, ("digits.cpp", 13): 1, ("memmove.S", 0): 1}
    assert parse_perf("").functions == {}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo '  55d0c0 digits'; echo 'incompatible file format' >&2; exit 1", "incompatible file format"),
        ("exit 0", "it saw nothing"),
    ],
)
def test_without_what_perf_saw_there_is_a_reason(
    script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf = tmp_path / "perf"
    perf.write_text(f'#!/bin/sh\n[ "$1" = record ] && : > "$8" && exit\n{script}\n')
    perf.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with StopSignals() as stop:
        sampled, reason = _perf(Path("program"), "digits", tmp_path, stop)
    assert sampled is None
    assert reason == f"perf does not tell what it saw, so that shares are of instructions: {why}"
