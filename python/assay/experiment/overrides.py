"""What a command line changes of an experiment: `assay run x.toml --blocks 4 --only threads=1,2`."""

from collections.abc import Sequence

from assay.errors import AssayError
from assay.experiment.read import MOST_TRIALS, filling_the_time
from assay.experiment.types import Blocks, Experiment, Level
from assay.words import nearest


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
    kept = _kept(experiment, only)
    design = experiment.design
    changed: dict[str, object] = {} if seed is None else {"seed": seed}
    if minutes is not None:
        changed["blocks"] = Blocks(most=blocks or 1, minutes=minutes)
    elif blocks is not None:
        changed["blocks"] = Blocks(most=blocks)
    result = experiment.model_copy(
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
            "overrides": tuple(given),
        }
    )
    _check(result, " ".join(f"--only {rule}" for rule in only))
    count = len(result.conditions())
    if count * result.design.blocks.most > MOST_TRIALS:
        raise AssayError(
            f"--blocks {blocks}: {count:,} conditions, times so many blocks, are more than {MOST_TRIALS:,}"
            " trials; give fewer"
        )
    return filling_the_time(result) if minutes is not None and blocks is None else result


def _kept(experiment: Experiment, only: Sequence[str]) -> dict[str, list[Level]]:
    """Return factor -> the levels that are run."""
    named: dict[str, list[Level]] = {}
    for rule in only:
        factor, equals, words = rule.partition("=")
        if not equals:
            raise AssayError(f"--only {rule}: write FACTOR=LEVEL, or FACTOR=LEVEL,LEVEL for several")
        if factor not in experiment.factors:
            raise AssayError(
                f"--only {rule}: {factor} is not a factor; {nearest(factor, list(experiment.factors))}"
            )
        by_name = {str(level): level for level in experiment.factors[factor]}
        # The name of a level may itself hold a comma.
        for word in [words] if words in by_name else words.split(","):
            if word not in by_name:
                raise AssayError(
                    f"--only {rule}: {word or 'nothing'} is not a level of {factor}; "
                    f"{nearest(word, list(by_name))}"
                )
            named.setdefault(factor, []).append(by_name[word])
    return {factor: named.get(factor, list(levels)) for factor, levels in experiment.factors.items()}


def _check(experiment: Experiment, options: str) -> None:
    """Refuse what leaves nothing to run, or nothing to compare."""
    conditions, factor = experiment.conditions(), experiment.comparison.factor
    if not conditions:
        raise AssayError(
            f"{options}: leaves no condition, as the experiment excludes the rest; keep more levels"
        )
    baselines = experiment.baseline_by_context()
    against = experiment.comparison.against()
    if any(experiment.context(condition) not in baselines for condition in conditions):
        raise AssayError(f"{options}: leaves out the baseline; keep {factor}={against} too")
    if all(condition[factor] == baselines[experiment.context(condition)] for condition in conditions):
        raise AssayError(
            f"{options}: leaves nothing to compare with the baseline {against}; keep another {factor}"
        )
