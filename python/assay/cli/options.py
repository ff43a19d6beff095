"""What commands share: options, how they print JSON and tables, what `--fail-on` makes of findings.

Arguments are hidden from the list of options, where Typer would add their types: the text of a command
explains them.
"""

import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from itertools import chain, repeat
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.completion import complete_campaigns, complete_experiments
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT
from assay.satellites import added, lacking
from assay.words import json_text, printable

if TYPE_CHECKING:
    from assay.analysis.types import LevelEffect
    from assay.campaign.hosts import Hosts
    from assay.findings import Finding
    from assay.store import StoreName
else:
    StoreName = Any  # Typer knows no unions, and takes what the parser returns


class Level(StrEnum):
    """What `--fail-on` may name; Typer takes no list of a Literal."""

    SLOWER = "slower"
    ERROR = "error"
    WARNING = "warning"


LARGEST_WHOLE = 2**53
"""Every JSON reader holds whole numbers up to it."""

LONGEST_S = 60_000_000
"""About two years."""
_UNITS_S = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def folder_option(*names: str, text: str) -> Any:
    """Return the option for a folder of files; `-`, which is standard output, is refused: it has one."""

    def parse(name: str) -> Path:
        if name == str(STANDARD_OUTPUT):
            raise ValueError("- is standard output, and these are files of a folder; name the folder")
        return Path(name)

    return typer.Option(*names, parser=parse, metavar="FOLDER", help=text)


def real(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a parser of numbers from one to another: Typer's own would show the range as `1<=x<=100000`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{text} is not a {'finite ' if math.isinf(value) else ''}number; write digits")
        if value < least:
            raise ValueError(f"{text} is too small; use {least:,} or more")
        if value > most:
            raise ValueError(f"{text} is too large; use {most:,} or less")
        return value

    return parse


def seconds(text: str) -> float:
    """Return a length of time in seconds: 60s, 500ms, 5m."""
    match = re.fullmatch(r"([\d.]+)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _UNITS_S:
        raise ValueError(f"{text} is not a length of time; write 60s, 500ms, 5m or 1h")
    length_s = real(1e-3)(match[1]) * _UNITS_S[match[2]]
    if length_s > LONGEST_S:
        raise ValueError(f"{text} is too long; use {LONGEST_S // 3600:,}h or less")
    return length_s


def whole(least: int = 1, most: int = LARGEST_WHOLE) -> Callable[[str], int]:
    """Return a parser of whole numbers from one to another, which may be written as 1e9."""
    parse = real(least, most)

    def parse_whole(text: str) -> int:
        value = parse(text)
        if not value.is_integer():
            raise ValueError(f"{text} is not a whole number; write digits only")
        return int(value)

    return parse_whole


def whole_option(
    meaning: str,
    least: int = 1,
    most: int = LARGEST_WHOLE,
    autocompletion: Callable[..., Any] | None = None,
) -> Any:
    """Return an option that takes a whole number."""
    return typer.Option(parser=whole(least, most), metavar="N", help=meaning, autocompletion=autocompletion)


def campaign_option(default: str) -> Any:
    """Return the option `--campaign` of a command that reads this where it is not given."""
    meaning = f"Number of the campaign. Default: {default}."
    return whole_option(meaning, autocompletion=complete_campaigns)


def named_store(name: "str | StoreName") -> "StoreName":
    """Return the name of a store from what a user typed."""
    if str(name) and ":" not in str(name):
        return Path(str(name))
    from assay.store import store_name

    return store_name(name)


ExperimentArgument = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", hidden=True, autocompletion=complete_experiments)
]
StoreOption = Annotated[
    StoreName,
    typer.Option(
        "--store",
        envvar="ASSAY_STORE",
        parser=named_store,
        metavar="FILE",
        help="The store's file, or postgresql://USER@HOST/DATABASE.",
    ),
]
OnOption = Annotated[
    Path | None,
    typer.Option(
        "--on",
        metavar="FILE",
        help="Run it on the hosts of this file, which says how to start them; needs a store on a server.",
    ),
]


def hosts_in(file: Path | None, *, isolated: bool = False) -> "Hosts | None":
    """Return the hosts of a file; None without a file.

    Args:
        file: TOML.
        isolated: each host leaves everything else the last processor meanwhile.

    Raises:
        AssayError: the file is wrong, or the satellite is not installed.
    """
    if file is None:
        return None
    if (reader := added("assay.hosts").get("hosts")) is None:
        raise AssayError(f"--on {file}: {lacking('assay-cluster')}")
    found: Hosts = reader.load()(file, isolated=isolated)
    return found


BlocksOption = Annotated[
    int | None,
    whole_option("Run this many blocks, at most 100,000, whatever the file says of `until`.", 1, 100_000),
]
WithinOption = Annotated[
    float | None,
    typer.Option(
        "--within",
        parser=seconds,
        metavar="TIME",
        help="End with the block in which this time has passed, 90s, 10m or 1h, whatever the file says of"
        " `until`; with --blocks, after that many blocks at the latest.",
    ),
]
"""For experiments as their files have them; other commands give all that they do a time of their own."""
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=LEVEL",
        help="Run only this level of a factor, or these: LEVEL,LEVEL. May be repeated.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give a setting this value, or a factor these levels: VALUE,VALUE; exclude=[] runs what the file"
        " excludes. May be repeated.",
    ),
]
SeedOption = Annotated[int | None, whole_option("Draw the plan from this seed.", 0, LARGEST_WHOLE - 1)]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
CampaignOption = Annotated[int | None, campaign_option("the one begun last")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
FailOnOption = Annotated[
    list[Level] | None,
    typer.Option(
        metavar="LEVEL",
        help="End with exit code 1 where a comparison is `slower`; where a finding is an `error`; where one"
        " is a `warning` or an error. May be repeated.",
    ),
]

VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Print every finding and number, not one screen of them.")
]

DEFAULT_STORE = Path("results/assay.sqlite")


def with_options(
    command: Callable[..., None],
    parameter: str,
    make: Callable[..., Any],
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> Callable[..., None]:
    """Return a command with several options in the place of a parameter, which is made of their values.

    Args:
        command: the function.
        parameter: its name.
        make: returns its value; takes the options by name.
        options: name -> type with the option.
        defaults: name -> default.
    """

    @wraps(command)
    def called(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in options}
        command(**{parameter: make(**chosen)}, **given)

    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, kind, default=defaults[name], annotation=of) for name, of in options.items()
    ]
    nested = ([of] if name != parameter else added for name, of in signature.parameters.items())
    parameters = sorted(chain(*nested), key=lambda of: of.kind)
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    hints = {name: of for name, of in command.__annotations__.items() if name != parameter}
    called.__annotations__ = {**hints, **options}
    return called


def print_json(value: Mapping[str, Any]) -> None:
    """Print what `docs/reference/json.md` describes; its version is that of the shape."""
    typer.echo(json_text({"version": 1, **value}, indent=2))


def print_json_list(value: Mapping[str, Any], name: str, entries: "Iterable[Any]") -> None:
    """Print what `print_json` prints of a value whose last member is a long list: entry by entry."""
    typer.echo(json_text({"version": 1, **value, name: []}, indent=2).removesuffix("]\n}"), nl=False)
    before, after = "\n", "]\n}"
    for entry in entries:
        typer.echo(before + indent(json_text(entry, indent=2), "    "), nl=False)
        before, after = ",\n", "\n  ]\n}"
    typer.echo(after)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under their columns' names, numbers to the right."""
    held = [*rows]
    print_long_table(columns, lambda: held)


def print_long_table(columns: Sequence[str], rows: Callable[[], Iterable[Sequence[Any]]]) -> None:
    """Print what `print_table` prints, without keeping the rows in memory: it reads them twice."""
    # Rich would take 10 s for 20,000 rows, and cut cells to the width of a pipe.
    names = [*map(_cell, columns)]
    widths = [*map(len, names)]
    numeric: list[bool] = []
    for row in rows():
        cells = [*map(_cell, row)]
        widths = [*map(max, widths, map(len, cells))]
        numeric = [
            known and _is_number(cell) for known, cell in zip(numeric or repeat(True), cells, strict=False)
        ]
    numeric = numeric or [False] * len(widths)
    for cells in chain((names, ["-" * width for width in widths]), ([*map(_cell, row)] for row in rows())):
        typer.echo(
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(cells, widths, numeric, strict=True)
            ).rstrip()
        )


def _is_number(cell: str) -> bool:
    return cell == "" or cell.lstrip("-")[:1].isdigit()


def _cell(value: Any) -> str:
    """Return a value as text of one line: NULL is empty, numbers have six digits or all before the point."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
    return printable(str(value).replace("\n", " "))


def end(
    fail_on: Collection[str] | None,
    findings: "Iterable[Finding]",
    comparisons: "Iterable[LevelEffect]" = (),
) -> None:
    """End with exit code 1 where `--fail-on` asks for it; a warning is asked for with errors."""
    levels = {*(fail_on or ())}
    if "warning" in levels:
        levels.add("error")
    if levels & {*(finding.severity for finding in findings), *(answer.verdict for answer in comparisons)}:
        raise typer.Exit(1)
