"""`assay aa`: whether the laboratory stays silent about identical code."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption
from assay.errors import AssayError


def aa(
    experiment: Annotated[Path, typer.Argument(help="The experiment's TOML file.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare identical code under two names: every condition of an experiment with a copy of itself.

    It runs a campaign as `assay run` does, and then says in how many comparisons identical code was called
    different. The exit code is 0 where that is compatible with the 5% that is promised.

    Example: `assay aa experiments/quickstart.toml`
    """
    from assay.analysis.aa import false_alarms
    from assay.cli.run import carry_out
    from assay.experiment import load

    alarms = false_alarms(carry_out(load(experiment, identical=True), store, as_json).analysis)
    if not alarms.compatible:
        raise AssayError(alarms.summary)
