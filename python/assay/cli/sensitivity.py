"""`assay sensitivity`: how far what is arbitrary moves the results of an experiment."""

import math
from typing import Annotated

import typer

from assay.cli.options import (
    DEFAULT_STORE,
    ExperimentArgument,
    JsonOption,
    NoPageOption,
    OnlyOption,
    QuietOption,
    SeedOption,
    SetOption,
    StoreOption,
    VerboseOption,
    whole_option,
)
from assay.errors import AssayError

CONFIGURATIONS = 12
REPLICATES = 4


def sensitivity(
    experiment: ExperimentArgument,
    *,
    configurations: Annotated[
        int, whole_option(f"Draw N configurations. Default: {CONFIGURATIONS}.", 2, 10_000)
    ] = CONFIGURATIONS,
    replicates: Annotated[
        int, whole_option(f"Run each configuration M times. Default: {REPLICATES}.", 1, 10_000)
    ] = REPLICATES,
    randomness: Annotated[
        str | None,
        typer.Option(
            "--randomness",
            metavar="TIMES,...",
            help="Multiples of C to add anew in every trial; none leaves it out. Default: 0.5,1,2.",
        ),
    ] = None,
    seed: SeedOption = None,
    only: OnlyOption = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    no_page: NoPageOption = False,
    verbose: VerboseOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Measure what arbitrary decisions do to results.

    EXPERIMENT is its file, whose [perturb] says what is arbitrary. Near each of its conditions N
    configurations are drawn: with nothing perturbed, with each thing alone, and with everything; each is run
    M times. It says how far the configurations' medians lie apart, how wrong a comparison of two single
    systems would be, how much randomness in every trial is enough, and which level of a factor is less
    sensitive than its first. The exit code is that of `assay run`.

    Example: `assay sensitivity experiments/map-sensitivity.toml --configurations 20`
    """
    from assay.cli.run import run_and_report
    from assay.experiment import load, overridden
    from assay.experiment.sensitivity import sensitive

    loaded = overridden(load(experiment), seed=seed, only=only or (), settings=settings or ())
    loaded.check_honest("assay sensitivity")
    expanded = sensitive(
        loaded, configurations, replicates, None if randomness is None else _amounts(randomness)
    )
    run_and_report(expanded, store, as_json, quiet=quiet, page=not no_page, verbose=verbose)


def _amounts(text: str) -> list[float]:
    """Return the multiples of C that a user names."""
    if text == "none":
        return []
    amounts: list[float] = []
    for word in text.split(","):
        try:
            amounts.append(float(word))
        except ValueError:
            amounts.append(math.nan)
        if not 0 < amounts[-1] <= 1000:
            raise AssayError(f"--randomness {text}: {word} is not a number above 0 and at most 1000")
    if len({f"{amount:g}" for amount in amounts}) < len(amounts):  # as the levels are called
        raise AssayError(f"--randomness {text}: an amount is named twice; remove it")
    return sorted(amounts)
