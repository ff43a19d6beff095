"""What `assay store list subjects` shows: the subjects of `assay-trial`, and which are for comparing."""

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, get_args

import typer

from assay.errors import AssayError
from assay.words import counted, nearest, printable

Structure = Literal["map", "multimap", "queue"]
_OF_OTHERS = {"absl", "boost", "cds", "congee", "libcuckoo", "scc", "std", "tbb"}
"""How the names of subjects begin that are another library's."""

Subject = dict[str, Any]


def listed_subjects(
    entries: Sequence[Mapping[str, Any]],
    *,
    ours: bool = False,
    structure: Structure | None = None,
    operations: Sequence[str] = (),
) -> list[Subject]:
    """Return what programs are told of the subjects that a program lists, those that match.

    A subject is a variant of another one if its description begins with that one's name, and it is measured
    for an experiment about that one alone.

    Args:
        entries: of `programs.listing`.
        ours: whether only maps of Assay's own are wanted.
        structure: that is wanted; variants one where none is given.
        operations: that a subject must have.

    Raises:
        AssayError: no subject has one of these operations.
    """
    names = {entry["name"] for entry in entries}
    known = list(dict.fromkeys(operation for entry in entries for operation in entry["operations"]))
    for operation in operations:
        if operation not in known:
            raise AssayError(
                f"--with {operation}: no subject has this operation; {nearest(operation, known)}"
            )
    subjects: list[Subject] = []
    for entry in entries:
        first, _, _ = entry["description"].partition(" ")
        variant_of = first.rstrip(",:") if first.rstrip(",:") in names - {entry["name"]} else None
        of_ours = entry["name"].partition("_")[0] not in _OF_OTHERS and not entry["holds_nothing"]
        if (
            {*operations} <= {*entry["operations"]}
            and structure in (None, entry["structure"])
            and (of_ours or not ours)
        ):
            subjects.append(
                {
                    "subject": entry["name"],
                    "structure": entry["structure"],
                    "variant_of": variant_of,
                    "ours": of_ours,
                    "holds_nothing": entry["holds_nothing"],
                    "max_threads": entry["max_threads"],
                    "keys": list(dict.fromkeys(key for key, _ in entry["types"])),
                    "values": list(dict.fromkeys(value for _, value in entry["types"])),
                    "operations": entry["operations"],
                    "reclaims": entry["reclaims"],
                    "description": entry["description"],
                }
            )
    return subjects


def print_subjects(subjects: Sequence[Subject], *, variants: bool, verbose: bool) -> None:
    """Print subjects by structure, each on a line that fits a terminal, or with all that it can do."""
    shown = [
        subject for subject in subjects if variants or not (subject["variant_of"] or subject["holds_nothing"])
    ]
    width = shutil.get_terminal_size().columns
    order = get_args(Structure).index
    shown.sort(key=lambda subject: order(subject["structure"]))
    widest = max((len(subject["subject"]) for subject in shown), default=0)
    for structure, members in groupby(shown, key=lambda subject: str(subject["structure"])):
        typer.echo(f"{structure}s")
        for subject in members:
            description = printable(subject["description"])
            start = f"  {subject['subject']:{widest}}  "
            if not verbose:
                room = max(20, width - len(start))
                typer.echo(
                    start + textwrap.shorten(description, room, placeholder=" ...", break_on_hyphens=False)
                )
                continue
            typer.echo(f"  {subject['subject']}")
            for line in (description, *_abilities(subject)):
                typer.echo(textwrap.fill(line, width, initial_indent=" " * 6, subsequent_indent=" " * 8))
    hidden = len(subjects) - len(shown)
    notes = [
        f"--variants lists {hidden} more: variants for one experiment, and those that hold nothing"
    ] * bool(hidden)
    notes += ["--verbose shows what each can hold and do"] * (not verbose)
    if notes:
        text = f"{counted(shown, 'subject')}; {'; '.join(notes)}."
        typer.echo("\n" + textwrap.fill(text, width))


def _abilities(subject: Subject) -> list[str]:
    threads = subject["max_threads"]
    return [
        f"keys {', '.join(subject['keys'])}; values {', '.join(subject['values'])}",
        f"operations {', '.join(subject['operations'])}",
        *([f"reclaims: {subject['reclaims']}"] if subject["reclaims"] else []),
        *([f"at most {counted(threads, 'thread')}"] if threads else []),
    ]
