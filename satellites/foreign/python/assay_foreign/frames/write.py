"""The tables of a campaign as files that R, pandas and spreadsheets read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pandas as pd

from assay import files
from assay_foreign.frames.data import Data

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
    written = []
    for name, table in tables.items():
        frame = table()
        for column in frame.columns:
            if frame[column].map(lambda value: isinstance(value, dict | list | tuple)).any():
                frame[column] = frame[column].map(json.dumps)
            elif frame[column].map(type).nunique() > 1 and frame[column].dtype == object:
                # The levels of one factor may be words and numbers, which no Parquet column can be.
                frame[column] = frame[column].map(str, na_action="ignore")
        content = frame.to_csv(index=False) if form == "csv" else frame.to_parquet(index=False)
        written.append(files.write(directory / f"{name}.{form}", content))
    return written
