"""What shells are offered for a word that is not finished.

Nobody waits for it: nothing is imported here that takes long, and what cannot be read offers nothing.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import typer

from assay.errors import AssayError
from assay.words import shortened

_SHOWN = 50  # characters of a description; what does not fit a line, fish takes for two words
_EXPERIMENT_BYTES = 2**16  # of a file in which [factors] is looked for


def complete_experiments(incomplete: str) -> list[str]:
    """Return the experiments in the folder of the word, and one folder below it."""
    folder = incomplete[: incomplete.rfind("/") + 1]
    files = [file for pattern in ("*.toml", "*/*.toml") for file in Path(folder or ".").glob(pattern)]
    names = sorted(folder + str(file.relative_to(folder or ".")) for file in files)
    return [name for name in names if name.startswith(incomplete) and _is_experiment(Path(name))]


def _is_experiment(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return b"factors" in opened.read(_EXPERIMENT_BYTES)
    except OSError:
        return False


def complete_campaigns(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the numbers of the campaigns in the store, the latest first, each with its experiment."""
    return [
        (str(number), f"{started[:16]} {shortened(experiment, _SHOWN - 20)}")
        for number, experiment, started in campaigns_of(ctx)
        if str(number).startswith(incomplete)
    ]


def campaigns_of(ctx: typer.Context) -> list[tuple[int, str, str]]:
    """Return number, experiment and beginning of the campaigns in the store, the latest first."""
    select = (
        "select campaign.id, name, started_at from campaign"
        " join experiment on experiment.id = experiment_id order by campaign.id desc"
    )
    with suppress(sqlite3.Error):
        file = quote(str(Path(str(ctx.params["store"])).absolute()))
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=0.2)) as store:
            return [(number, name, str(started)) for number, name, started in store.execute(select)]
    return []


def complete_subjects(incomplete: str) -> list[tuple[str, str]]:
    """Return the subjects of `assay-trial`."""
    return offered("listing", incomplete)


def complete_settings(incomplete: str) -> list[str]:
    """Return the settings of a host that can be changed."""
    from assay.host.settings import SETTINGS

    return [
        setting.name for setting in SETTINGS if setting.can_be_set and setting.name.startswith(incomplete)
    ]


def offered(question: str, incomplete: str) -> list[tuple[str, str]]:
    """Return what `assay-trial` lists in answer to a question of `programs`, with descriptions."""
    from assay import programs

    with suppress(AssayError):
        entries = getattr(programs, question)(programs.find("assay-trial"))
        return [
            (entry["name"], shortened(entry["description"], _SHOWN))
            for entry in entries
            if entry["name"].startswith(incomplete)
        ]
    return []
