"""What a command line changes of an experiment: `assay run x.toml --blocks 4 --only threads=1,2`."""

from collections.abc import Sequence

from assay.errors import AssayError
from assay.experiment.factors import level_of
from assay.experiment.mistakes import MistakeError, check_known
from assay.experiment.read import check_conditions, filling_the_time
from assay.experiment.types import Blocks, Experiment, Level


def overridden(
    experiment: Experiment,
    *,
    blocks: int | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    only: Sequence[str] = (),
) -> Experiment:
    """Return an experiment with what the options of a command line change; `overrides` of it lists them.

    Args:
        experiment: as its file has it.
        blocks: as `blocks = N` in the file, alone or with `minutes`.
        minutes: as `minutes = M` in the file.
        seed: as in the file.
        only: FACTOR=LEVEL or FACTOR=LEVEL,LEVEL of each factor of which only these levels are run.

    Raises:
        AssayError: a factor or a level is not known, or nothing is left to compare.
    """
    options = {"--blocks": blocks, "--minutes": minutes, "--seed": seed}
    given = [f"{option} {value}" for option, value in options.items() if value is not None]
    given += [f"--only {rule}" for rule in only]
    if not given:
        return experiment
    try:
        result = _changed(experiment, blocks, minutes, seed, only)
        check_conditions(result)
    except MistakeError as mistake:
        raise AssayError(f"{' '.join(given)}: {mistake.why}") from None
    result = result.model_copy(update={"overrides": tuple(given)})
    return filling_the_time(result) if minutes is not None and blocks is None else result


def _changed(
    experiment: Experiment,
    blocks: int | None,
    minutes: float | None,
    seed: int | None,
    only: Sequence[str],
) -> Experiment:
    kept = _kept(experiment, only)
    design = experiment.design
    changed: dict[str, object] = {} if seed is None else {"seed": seed}
    if minutes is not None:
        changed["blocks"] = Blocks(most=blocks or 1, minutes=minutes)
    elif blocks is not None:
        changed["blocks"] = Blocks(most=blocks)
    return experiment.model_copy(
        update={
            "design": design.model_copy(update=changed),
            "changes": {
                factor: {level: change for level, change in levels.items() if level in kept[factor]}
                for factor, levels in experiment.changes.items()
            },
            "charts": tuple(
                chart
                for chart in experiment.charts
                if all(set(levels) & set(kept[factor]) for factor, levels in chart.filter.items())
            ),
        }
    )


def _kept(experiment: Experiment, only: Sequence[str]) -> dict[str, list[Level]]:
    """Return factor -> the levels that are run."""
    named: dict[str, list[Level]] = {}
    for rule in only:
        factor, equals, words = rule.partition("=")
        if not equals:
            raise MistakeError((), "write FACTOR=LEVEL, or FACTOR=LEVEL,LEVEL for several")
        check_known((), factor, experiment.factors, "factor")
        # The name of a level may itself hold a comma.
        is_name = words in map(str, experiment.factors[factor])
        for word in [words] if is_name else words.split(","):
            named.setdefault(factor, []).append(level_of((), factor, word, experiment.factors))
    return {factor: named.get(factor, list(levels)) for factor, levels in experiment.factors.items()}
