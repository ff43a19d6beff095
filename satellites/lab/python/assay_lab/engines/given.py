"""Numbers of the user's own: an array, a file, or what a program writes to its standard output."""

import shlex
import subprocess
import threading
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from tokenize import TokenError

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.runner.temporary import Temporary
from assay.words import counted, one_line
from assay_lab.engines.judge import judge
from assay_lab.engines.program import count_file
from assay_lab.engines.types import SEED_BITS, Counts, Engine, EngineExamination

SEED = "{seed}"
"""Stands for the seed in a command."""
_FEW = 64
"""This many numbers are never equal in two streams by chance."""
_SOME = 0x15_5555_5555_5555
"""Some seed of 53 bits."""
_SEED_BITS_TRIED = (0, 1, 2, 4, 7, 8, 12, 15, 16, 20, 24, 28, 31, 32, 40, 48, 52)
FEWEST = 10_000
"""The fewest numbers: with fewer, most tests have no result."""
_MOST_DIGITS = 20
"""The most decimal digits of a number below 2^64."""
SILENT_S = 60.0
"""Seconds that a program may take for all of its numbers, and as much again for each million."""
_NUMPY = b"\x93NUMPY"
_ZIP = b"PK\x03\x04"
"""The first bytes of an archive of arrays (.npz); good binary numbers begin so in 1 of 4 billion files."""
_BROKEN = (ValueError, TypeError, ArithmeticError, SyntaxError, MemoryError, RecursionError, TokenError)
"""Exceptions of numpy for an invalid header, which it reads as Python."""
_DECIMAL = b"0123456789 \r\n\t"
_LAST_WORDS = 1000
"""Bytes: the end of what a program said is on its last lines."""
_LOOKED_AT = 1000
"""Bytes: no engine writes only digits that long by chance."""

Numbers = NDArray[np.unsignedinteger]


def of_file(path: Path, *, numbers: int, bits: int, text: bool) -> Numbers:
    """Return the first numbers of a file.

    Args:
        path: of numpy's format (.npy), of decimal numbers, or of binary ones, the lowest byte first.
        numbers: that are wanted at most, `FEWEST` or more.
        bits: of each number, 32 or 64; an array of .npy has its own.
        text: whether they are decimal, separated by white space.

    Raises:
        AssayError: it cannot be read, or holds something else, or too few.
    """
    _check_enough(numbers)
    try:
        with path.open("rb") as file:
            begins = file.read(len(_NUMPY))
            file.seek(0)
            content = b"" if begins == _NUMPY else file.read(None if text else numbers * bits // 8)
        array = np.load(path, mmap_mode="r", allow_pickle=False) if begins == _NUMPY else None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror}); see that it is a file") from error
    except _BROKEN as error:
        why = one_line(str(error.args[0])) if error.args else type(error).__name__
        raise AssayError(f"{path}: is no array of numpy's ({why}); save it again by numpy.save") from error
    if array is not None:
        return _of_array(array, str(path), numbers)
    if begins.startswith(_ZIP):
        raise AssayError(f"{path}: is an archive, as .npz are; save one array of it by numpy.save (.npy)")
    return _parsed(content, str(path), numbers=numbers, bits=bits, text=text)


def of_program(command: str, *, seed: int, numbers: int, bits: int, text: bool) -> Numbers:
    """Return the first numbers that a program writes to its standard output, and end it.

    Args:
        command: with its arguments; `SEED` stands for the seed.
        seed, numbers, bits, text: as for `of_file`.

    Raises:
        AssayError: it cannot be started, fails, writes too few numbers or something else, or takes too long.
    """
    _check_enough(numbers)
    content = _written(command, seed=seed, numbers=numbers, bits=bits, text=text)
    return _parsed(content, f"--program {command!r}", numbers=numbers, bits=bits, text=text)


def seeds_of_program(command: str, *, seed: int, bits: int, text: bool) -> Counts | None:
    """Return whether the seed of a program has an effect, in the format of `assay-engines`.

    Seeds that the program refuses do not count; it may accept only small ones.

    Returns:
        None if the command takes no seed, or refuses all that are tried.

    Raises:
        AssayError: it cannot be started.
    """
    if SEED not in command:
        return None

    def first(number: int) -> bytes | None:
        with suppress(AssayError):
            return _written(command, seed=number, numbers=_FEW, bits=bits, text=text)
        return None

    for some in ((seed + _SOME) % 2**53, (seed + _SOME) % 2**31, seed):
        if (numbers := first(some)) is not None:
            break
    else:
        return None
    alike = [bit for bit in _SEED_BITS_TRIED if first(some ^ 1 << bit) == numbers]
    if alike == list(_SEED_BITS_TRIED):
        alike = list(range(SEED_BITS))
    zero, one = first(0), first(1)
    return {"alike": alike, "zero_is_one": zero == one is not None, "repeats": first(some) == numbers}


def _written(command: str, *, seed: int, numbers: int, bits: int, text: bool) -> bytes:
    """Return what a program writes, as far as these many numbers; then end it."""
    try:
        words = [word.replace(SEED, str(seed)) for word in shlex.split(command)]
    except ValueError as error:
        raise AssayError(f"--program {command!r}: {str(error).lower()}; close the quotes") from error
    wanted = numbers * (_MOST_DIGITS + 1 if text else bits // 8)
    late = threading.Event()
    allowed = SILENT_S * (1 + numbers / 1e6)
    with TemporaryFile() as errors:  # and no pipe: who fills one that nobody reads waits for ever
        try:
            process = subprocess.Popen(  # noqa: S603
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except (OSError, IndexError) as error:
            why = getattr(error, "strerror", None) or "there is no command"
            raise AssayError(f"--program {command!r}: cannot be started ({why}); see its path") from error

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(allowed, end)
        timer.start()
        assert process.stdout
        try:
            content = process.stdout.read(wanted)
            ended_itself = len(content) < wanted
            if not ended_itself:
                process.kill()
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.stdout.close()
        errors.seek(max(0, errors.seek(0, SEEK_END) - _LAST_WORDS))
        said = errors.read().decode(errors="replace").strip().splitlines()
    if late.is_set():
        raise AssayError(
            f"--program {command!r}: has not written {numbers:,} numbers within {allowed:.0f} s; ask for"
            " fewer (--numbers), and see that it flushes its output"
        )
    if ended_itself and code:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise AssayError(
            f"--program {command!r}: ended with {how}{f' ({said[-1]})' if said else ''}; run it by itself"
        )
    return content


def judge_numbers(
    given: Numbers, title: str, seeds: Counts | None = None, notice: str = ""
) -> EngineExamination:
    """Judge numbers by all tests but those of several streams; nothing is timed.

    Args:
        given: the numbers.
        title: their name.
        seeds: whether their seed has an effect; None if unknown.
        notice: what could not be judged.

    Raises:
        AssayError: the program that counts refuses, fails, or is missing.
    """
    bits = given.dtype.itemsize * 8
    with Temporary("assay-engines-") as temporary:
        file = temporary.folder / "numbers"
        given.tofile(file)
        counts = count_file(file, bits=bits, numbers=len(given))
    if seeds is not None:
        counts = {**counts, "seeds": seeds}
    engine = Engine(title, "numbers that were given", bits, bits, True, True, False)
    return EngineExamination(engine, None, counts=counts, verdict=judge(counts), notice=notice)


def _parsed(content: bytes, place: str, *, numbers: int, bits: int, text: bool) -> Numbers:
    if not text:
        if content and not content[:_LOOKED_AT].translate(None, _DECIMAL):
            raise AssayError(f"{place}: are decimal numbers, and not binary ones; add --text")
        whole = len(content) // (bits // 8) * (bits // 8)
        return _enough(np.frombuffer(content[:whole], dtype=f"<u{bits // 8}"), place)
    words = content.split()[:numbers]
    if content and not content[-1:].isspace() and len(words) > 1:
        words.pop()  # it may be cut off
    parsed = []
    for position, word in enumerate(words, 1):
        digits = word.lstrip(b"0") or b"0"
        # Python makes no number of more than 4,300 digits.
        if not word.isdigit() or len(digits) > _MOST_DIGITS or int(digits) >= 1 << bits:
            shown = word[:20].decode(errors="replace")
            raise AssayError(
                f"{place}: number {position:,} is {shown!r}, not a whole number below 2^{bits}; leave out"
                " --text if they are binary, or name their --bits"
            )
        parsed.append(int(digits))
    return _enough(np.array(parsed, dtype=f"<u{bits // 8}"), place)


def _of_array(array: NDArray[np.generic], place: str, numbers: int) -> Numbers:
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype.itemsize not in {4, 8}:
        raise AssayError(
            f"{place}: is an array of {array.dtype} with {counted(array.shape, 'dimension')}; save one of"
            " uint64 or uint32 with a single one"
        )
    size = array.dtype.itemsize
    return _enough(np.ascontiguousarray(array[:numbers]).astype(f"<i{size}").view(f"<u{size}"), place)


def _check_enough(numbers: int) -> None:
    """Refuse to judge fewer numbers than tests can: it would say that there are no more."""
    if numbers < FEWEST:
        raise AssayError(f"--numbers: {numbers:,} are too few for tests; ask for {FEWEST:,} or more")


def _enough(given: Numbers, place: str) -> Numbers:
    if len(given) < FEWEST:
        raise AssayError(
            f"{place}: has {len(given):,} numbers; {FEWEST:,} are the fewest that tests can judge: write"
            " more of them"
        )
    return given
