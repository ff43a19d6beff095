"""The tables of a campaign as files that R, pandas and spreadsheets read."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pandas as pd

from assay.errors import AssayError
from assay.frames.data import Data

Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")


def write_tables(data: Data, campaign: int | None, form: Format, directory: Path) -> list[Path]:
    """Write trials, series, verdicts and findings of a campaign into a folder, and return the files.

    Each file is there as a whole or not at all. Lists and tables inside a cell are JSON text.

    Raises:
        AssayError: the folder cannot be written.
    """
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "trials": lambda: data.trials(campaign).reset_index(),
        "series": lambda: data.series(campaign),
        "verdicts": lambda: data.verdicts(campaign),
        "findings": lambda: data.findings(campaign),
    }
    files = []
    for name, table in tables.items():
        frame = table()
        for column in frame.columns:
            if frame[column].map(lambda value: isinstance(value, dict | list | tuple)).any():
                frame[column] = frame[column].map(json.dumps)
            elif frame[column].map(type).nunique() > 1 and frame[column].dtype == object:
                # The levels of one factor may be words and numbers, which no Parquet column can be.
                frame[column] = frame[column].map(str, na_action="ignore")
        file = directory / f"{name}.{form}"
        part = file.with_name(f"{file.name}.part")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if form == "csv":
                frame.to_csv(part, index=False)
            else:
                frame.to_parquet(part, index=False)
            part.replace(file)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise AssayError(
                f"cannot write {file}: {error.strerror}; choose another folder with --output"
            ) from error
        files.append(file)
    return files
