"""The plain types for observed transactions and for advice about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GUIDELINES: Mapping[int, str] = {
    1: "pack what belongs together, and keep apart what different threads use",
    2: "no system calls and page faults in a transaction",
    3: "what is written most should be read least",
    4: "little time from the first write to the commit",
    5: "worry less about the size of sections: few large transactions, not many small ones",
}
"""Number -> guideline (Bonnichsen 2016, section 5.1), in our words."""


@dataclass(frozen=True)
class EmulationSettings:
    """The cache that limits transactions, and how long the program may run."""

    sets: int = 64
    ways: int = 8
    read_ways: int = 128
    timeout_s: float = 300.0


@dataclass(frozen=True)
class Observed:
    """A program that was run.

    Attributes:
        record: what `assay-rtm --record` wrote (docs/reference/json.md); None without a transaction.
        command: the command, for people.
        trouble: how it failed, or "".
    """

    record: Mapping[str, Any] | None
    command: str
    trouble: str = ""


@dataclass(frozen=True)
class CodeLocation:
    """The source of an instruction: a function, with file and line if they are known."""

    function: str
    file: str
    line: int
    address: int

    def __str__(self) -> str:
        """Return it as people read it."""
        at = f" ({self.file.rsplit('/', 1)[-1]}:{self.line})" if self.line else ""
        return f"{self.function}{at}"


@dataclass(frozen=True)
class Range:
    """Addresses of data, from the first to the last, and the variable there, if it has a name."""

    first: int
    last: int
    variable: str

    def __str__(self) -> str:
        """Return it as people read it."""
        addresses = f"0x{self.first:x} to 0x{self.last:x}"
        return f"{self.variable} ({addresses})" if self.variable else f"the bytes {addresses}"


@dataclass(frozen=True)
class Advice:
    """A guideline that a section breaks.

    Attributes:
        guideline: its number.
        what: what was seen, in a sentence.
        remedy: what to do, in a sentence.
        places: the code that does it.
        range: the addresses that it is about, if any.
    """

    guideline: int
    what: str
    remedy: str
    places: tuple[CodeLocation, ...]
    range: Range | None = None


@dataclass(frozen=True)
class Section:
    """The transactions of one critical section.

    Attributes:
        place: where it is.
        begins: where its XBEGIN is.
        ended: how they ended -> their number; "committed" is one way.
        instructions: mean number of instructions of committed transactions.
        after_write: mean number of their instructions after the first write that others can see; None
            without such a write.
        read_lines: mean number of 64-byte lines that committed transactions read.
        written_lines: the same for written lines.
        most_read_lines: the most lines that any transaction read, committed or not.
        most_written_lines: the same for written lines.
        fullest_read: lines in the fullest set of the cache.
        fullest_written: the same for written lines.
        advice: the advice about it.
        limits: why it could not be judged completely, in sentences.
    """

    place: CodeLocation
    begins: CodeLocation
    ended: Mapping[str, int]
    instructions: float
    after_write: float | None
    read_lines: float
    written_lines: float
    most_read_lines: int
    most_written_lines: int
    fullest_read: int
    fullest_written: int
    advice: tuple[Advice, ...]
    limits: tuple[str, ...]

    @property
    def transactions(self) -> int:
        """Return how many were begun."""
        return sum(self.ended.values())


@dataclass(frozen=True)
class ProgramAdvice:
    """All sections of a program, those with most advice first."""

    command: str
    trouble: str
    settings: EmulationSettings
    sections: tuple[Section, ...]
    notes: tuple[str, ...]


def says_something(judged: ProgramAdvice) -> bool:
    """Return whether there is advice, or something went wrong."""
    return bool(judged.trouble) or any(section.advice or section.limits for section in judged.sections)


@dataclass(frozen=True)
class SettingAdvice:
    """The advice about one setting of a campaign.

    Attributes:
        trial: the number of the trial that was run again.
        levels: the setting: factor -> level.
        judged: the advice about its sections; None if it began no transaction.
    """

    trial: int
    levels: Mapping[str, Any]
    judged: ProgramAdvice | None


@dataclass(frozen=True)
class CampaignAdvice:
    """The advice about each setting of a campaign."""

    campaign: int
    settings: tuple[SettingAdvice, ...]
