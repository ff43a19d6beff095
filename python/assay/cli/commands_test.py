import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from assay.cli.commands import app, groups, satellites
from assay.cli.usage import HEADINGS


def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words that lead to a command and to each one below it."""
    below: dict[str, Any] = getattr(command, "commands", {})
    return [path, *(longer for name, inner in below.items() for longer in paths(inner, (*path, name)))]


PATHS = paths(typer.main.get_command(app))


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_help_of_every_command_is_plain_and_shows_an_example(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output
    assert " ".join(("assay", *path)) in shown.split("Example: ")[1]
    assert "{" not in shown.replace("{seed}", "")
    assert not re.search("<=|range>|list\\[|<bool>|<int>|<path>", shown)
    assert not re.search(r"^  \w+ .*\.\.\.$", shown, re.MULTILINE)  # summaries that are cut


def test_no_command_is_missing() -> None:
    others = {(place, found.name) if place in groups else (found.name,) for place, found in satellites()}
    assert len([path for path in PATHS if not {path[:1], path[:2]} & others]) == 25


def test_the_first_list_is_one_screen_of_headed_commands() -> None:
    shown = CliRunner().invoke(app, [], env={"COLUMNS": "80"}).output
    assert len(shown.splitlines()) <= 43
    headings = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
    assert headings[: len(HEADINGS) + 1] == ["Options", *HEADINGS]
    assert len(re.findall(r"^  [a-z]+ +[A-Z]", shown, re.MULTILINE)) <= 19


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--identical", "--sensitivity"], "give one of them"),
        (["--replicates", "3"], "--replicates: belongs to --sensitivity"),
        (["--sensitivity", "--blocks", "3"], "--blocks: --sensitivity takes"),
        (["--sensitivity", "--within", "3s"], "--within: --sensitivity takes"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], said: str) -> None:
    assert said in str(CliRunner().invoke(app, ["run", "x.toml", *words]).exception)
