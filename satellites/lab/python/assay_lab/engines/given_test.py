"""Numbers of the user's own: where they come from, and what is said of those that cannot be judged."""

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay_lab.engines import judge_numbers, of_file, of_program, seeds_of_program

GOOD = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


WRITES = (
    "import numpy,sys; sys.stdout.buffer.write(numpy.arange({seed}, 20_000 + {seed}, dtype='u8').tobytes())"
)


def test_a_file_is_binary_text_or_an_array(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(GOOD.tobytes() + b"cut")
    assert (of_file(file, numbers=10**6, bits=64, text=False) == GOOD).all()
    assert (of_file(file, numbers=15_000, bits=64, text=False) == GOOD[:15_000]).all()
    assert len(of_file(file, numbers=10**6, bits=32, text=False)) == 2 * len(GOOD)
    file.write_text("\n".join(map(str, GOOD)) + "\n", encoding="utf-8")
    assert (of_file(file, numbers=10**6, bits=64, text=True) == GOOD).all()
    for dtype, bits in (("u8", 64), ("i8", 64), ("u4", 32)):
        np.save(tmp_path / "array.npy", GOOD.astype(dtype))
        given = of_file(tmp_path / "array.npy", numbers=10**6, bits=64, text=False)
        assert given.dtype.itemsize * 8 == bits
        assert (given == GOOD.astype(f"u{bits // 8}")).all()


def test_a_program_is_given_the_seed_and_ended_when_it_has_written_enough() -> None:
    given = of_program(python(WRITES), seed=7, numbers=20_000, bits=64, text=False)
    assert given[0] == 7
    endless = python("import sys\nwhile True: print(5)")
    assert set(of_program(endless, seed=7, numbers=10_000, bits=64, text=True)) == {5}
    chatty = python("import sys; sys.stderr.write('x' * 10**6); " + WRITES)
    assert len(of_program(chatty, seed=7, numbers=20_000, bits=64, text=False)) == 20_000


SEEDED = "import random,sys; s={seed}; sys.stdout.buffer.write(random.Random(%s).randbytes(80_000))"


@pytest.mark.parametrize(
    ("derived", "alike", "zero_is_one", "why"),
    [
        ("s", [], False, ""),
        ("301", range(64), True, "every seed gives the same numbers: it is ignored"),
        (
            "s & 0xff",
            [8, 12, 15, 16, 20, 24, 28, 31, 32, 40, 48, 52],
            False,
            "12 bits from 8 to 52 of the seed make no difference",
        ),
        (
            "s % 2**32",
            [32, 40, 48, 52],
            False,
            "bits 32, 40, 48 and 52 of the seed make no difference",
        ),
        (
            "s >> 32",
            [0, 1, 2, 4, 7, 8, 12, 15, 16, 20, 24, 28, 31],
            True,
            "13 bits from 0 to 31 of the seed make no difference",
        ),
        ("s or 1", [], True, "the seeds 0 and 1 give the same numbers"),
    ],
)
def test_whether_the_seed_of_a_program_counts(
    derived: str, alike: list[int], zero_is_one: bool, why: str
) -> None:
    command = python(SEEDED % derived)
    seeds = seeds_of_program(command, seed=1, bits=64, text=False)
    assert seeds == {"alike": list(alike), "zero_is_one": zero_is_one, "repeats": True}
    verdict = judge_numbers(GOOD, "program", seeds).verdict
    assert verdict is not None
    assert verdict.word == ("rejected" if why else "accepted")
    assert verdict.why.startswith(why)


def test_a_seed_that_does_not_repeat_and_one_that_is_refused() -> None:
    drawn = seeds_of_program(python(SEEDED % "None"), seed=1, bits=64, text=False)
    assert drawn == {"alike": [], "zero_is_one": False, "repeats": False}
    verdict = judge_numbers(GOOD, "program", drawn).verdict
    assert verdict is not None
    assert verdict.why == "the same seed gives other numbers each time"
    assert verdict.effect.startswith("A trial cannot be repeated by its seed.")
    small = python(SEEDED % "s if s < 2**31 else 1 / 0")
    assert seeds_of_program(small, seed=1, bits=64, text=False) == {
        "alike": [],
        "zero_is_one": False,
        "repeats": True,
    }
    assert seeds_of_program(python("print(1)"), seed=1, bits=64, text=True) is None


def test_a_counter_is_rejected_and_good_numbers_are_not() -> None:
    assert judge_numbers(GOOD, "file").verdict.word == "accepted"  # type: ignore[union-attr]
    counter = np.arange(20_000, dtype=np.uint64)
    assert judge_numbers(counter, "file").verdict.word == "rejected"  # type: ignore[union-attr]
    narrow = GOOD.astype(np.uint32)
    assert judge_numbers(narrow, "file").verdict.word == "accepted"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        ("/nowhere/at-all", False, "cannot be started (No such file or directory); see its path"),
        ("", False, "cannot be started (there is no command); see its path"),
        ("foo 'bar", False, '--program "foo \'bar": no closing quotation; close the quotes'),
        (python("raise SystemExit('no seed')"), False, "ended with exit code 1 (no seed); run it by itself"),
        (python("import os; os.kill(os.getpid(), 9)"), False, "ended with signal 9; run it by itself"),
        (python("print('x' * 8 * 9_999, end='')"), False, "has 9,999 numbers; 10,000 are the fewest"),
        (python("print('123 ' * 20_000)"), False, "are decimal numbers, and not binary ones; add --text"),
        (python("print('1 2 three 4 ')"), True, "number 3 is 'three', not a whole number below 2^64; leave"),
    ],
)
def test_a_program_that_gives_no_numbers_is_refused(command: str, text: bool, message: str) -> None:
    with pytest.raises(AssayError) as error:
        of_program(command, seed=1, numbers=20_000, bits=64, text=text)
    assert message in str(error.value)


def test_a_program_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_lab.engines.given.SILENT_S", 0.2)
    with pytest.raises(AssayError, match="has not written 20,000 numbers within 0 s; ask for fewer"):
        of_program(python("import time; time.sleep(1000)"), seed=1, numbers=20_000, bits=64, text=False)


def test_a_file_without_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be read"):
        of_file(tmp_path / "none", numbers=10**6, bits=64, text=False)
    np.save(tmp_path / "a.npy", np.zeros(20_000))
    with pytest.raises(AssayError, match="is an array of float64 with 1 dimension; save one of uint64"):
        of_file(tmp_path / "a.npy", numbers=10**6, bits=64, text=False)
    np.save(tmp_path / "a.npy", np.zeros((200, 200), dtype=np.uint64))
    with pytest.raises(AssayError, match="2 dimensions"):
        of_file(tmp_path / "a.npy", numbers=10**6, bits=64, text=False)
    np.savez(tmp_path / "a.npz", GOOD)
    with pytest.raises(AssayError, match=r"a.npz: is an archive, as .npz are; save one array of it by"):
        of_file(tmp_path / "a.npz", numbers=10**6, bits=64, text=False)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': (",
        b"{1: 2, []: 3}",
        b"(" * 500,
        b"-" * 9_000 + b"1",
        b"{'descr': '<u8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        b"\0",
    ],
)
def test_an_array_with_a_broken_header_is_refused(tmp_path: Path, header: bytes) -> None:
    file = tmp_path / "a.npy"
    file.write_bytes(b"\x93NUMPY\x01\0" + (len(header) + 1).to_bytes(2, "little") + header + b"\n")
    with pytest.raises(AssayError) as error:
        of_file(file, numbers=10**6, bits=64, text=False)
    assert str(error.value).startswith(f"{file}: is no array of numpy's (")
    assert str(error.value).endswith("); save it again by numpy.save")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("word", ["9" * 6_000, "18446744073709551616", "1" * 21])
def test_a_number_that_is_too_large_is_refused(tmp_path: Path, word: str) -> None:
    file = tmp_path / "numbers"
    file.write_text(f"{'0' * 6_000}7 {word} 3\n" + "5\n" * 20_000, encoding="utf-8")
    with pytest.raises(AssayError, match=r"numbers: number 2 is '\d{20}', not a whole number below 2\^64;"):
        of_file(file, numbers=10**6, bits=64, text=True)
    file.write_text(f"{'0' * 6_000}7 18446744073709551615\n" + "5\n" * 20_000, encoding="utf-8")
    assert [*of_file(file, numbers=10**6, bits=64, text=True)[:3]] == [7, 2**64 - 1, 5]


def test_fewer_numbers_than_can_be_judged_are_not_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(GOOD.tobytes())
    few = "--numbers: 1,000 are too few for tests; ask for 10,000 or more"
    with pytest.raises(AssayError, match=few):
        of_file(file, numbers=1_000, bits=64, text=False)
    with pytest.raises(AssayError, match=few):
        of_program(python(WRITES), seed=7, numbers=1_000, bits=64, text=False)
    file.write_bytes(GOOD[:9].tobytes())
    with pytest.raises(AssayError, match=r"numbers: has 9 numbers; 10,000 are the fewest .*: write more"):
        of_file(file, numbers=10_000, bits=64, text=False)
