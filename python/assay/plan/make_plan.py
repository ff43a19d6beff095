"""Turns an experiment and a seed into trials in the order in which they run. Pure: no clock, no host.

Compared conditions run back to back, so that slow changes of the host affect all of them equally. Arbitrary
parameters are perturbed for every trial: Blackwell, Applications of Randomness in System Performance
Measurement, section 3.1, principle P1.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from assay.experiment.flaws import PROGRAM, flaws_of
from assay.experiment.perturb import value_at
from assay.experiment.placeholders import LINKED, fill, names, values_of
from assay.experiment.sensitivity import CONFIGURATION, NOTHING, PERTURBED
from assay.experiment.settings import OF_FIXTURES, RUNNER_ONLY_SETTINGS
from assay.experiment.types import REVISION, CommandRun, Experiment, Level, Revisions
from assay.experiment.workload import files_of, longest
from assay.plan.perturb import change, perturbed
from assay.plan.types import LAYOUT, Plan, PlannedTrial

COMMAND_TIMEOUT_S = 600.0  # nobody knows how long a command takes
_SEEDS = 2**53  # every JSON reader holds whole numbers below it exactly
_LAYOUTS = 2**31  # seeds of a layout are from 1 on and below it: lld takes 0 for a draw of its own
_REQUESTED_IF_ANY = {"warm_up_ms", "flaws", "parameters"}
_OF_THE_PROCESS = ("stack_bytes", "heap_bytes", "thread_order", "placement")
"""Perturbations that a trial's process applies itself."""


def make_plan(
    experiment: Experiment,
    seed: int,
    program_of: Callable[[str], str],
    memory_limit_mb: int,
    *,
    hosts: int = 1,
) -> Plan:
    """Return the trials of an experiment; the same arguments give the same plan.

    Args:
        experiment: the experiment to run.
        seed: the source of all random choices: order, trial seeds, perturbations.
        program_of: subject -> the absolute path of the program that runs it.
        memory_limit_mb: memory limit of trials whose settings have none, MiB.
        hosts: number of hosts; each has a plan of its own, in an order of its own.
    """
    of_hosts = [
        _plan_of_host(experiment, seed, number, program_of, memory_limit_mb) for number in range(hosts)
    ]
    if hosts == 1:
        return Plan(seed, tuple(of_hosts[0]))
    return Plan(seed, tuple(_together(of_hosts)))


def _together(of_hosts: Sequence[Sequence[PlannedTrial]]) -> Iterator[PlannedTrial]:
    """Yield the plans of hosts as one, block by block, with ordinals and groups that no two share."""
    groups = max(trial.group for trial in of_hosts[0]) + 1
    every = sorted(chain.from_iterable(of_hosts), key=lambda trial: (trial.block, trial.host_number))
    for ordinal, trial in enumerate(every):
        yield replace(trial, ordinal=ordinal, group=trial.host_number * groups + trial.group)


def _plan_of_host(
    experiment: Experiment, seed: int, number: int, program_of: Callable[[str], str], memory_limit_mb: int
) -> list[PlannedTrial]:
    """Return the plan of one host of a campaign; the first one has the plan of a campaign on one host."""
    source = f"{seed} host {number}" if number else seed
    random = Random(source)  # noqa: S311  # repeatable on purpose
    groups = list(experiment.groups().values())
    count = experiment.design.blocks * sum(len(group) for group in groups)
    seeds = iter(random.sample(range(_SEEDS), count))
    trials: list[PlannedTrial] = []
    group_number = 0
    # A generator of its own: with layouts or without, all else is drawn alike.
    layouts = Random(f"{source} layout")  # noqa: S311  # repeatable on purpose
    for block in range(experiment.design.blocks):
        of_block = {LAYOUT: layouts.randrange(1, _LAYOUTS)} if experiment.perturb.layout else {}
        for group in random.sample(groups, len(groups)):
            for levels in random.sample(group, len(group)):
                trial = PlannedTrial(
                    ordinal=len(trials),
                    block=block,
                    group=group_number,
                    levels=levels,
                    program=_program(experiment, levels, program_of),
                    memory_limit_mb=memory_limit_mb,
                    request={},
                    perturbation=of_block or _layout_of_configuration(experiment, levels, seed),
                    timeout_s=0,
                    host_number=number,
                )
                drawn = _perturbed(experiment, levels, seed, random)
                trials.append(_drawn(experiment, trial, next(seeds), experiment.digests, drawn))
            group_number += 1
    return trials


def _program(experiment: Experiment, levels: Mapping[str, Level], program_of: Callable[[str], str]) -> str:
    """Return the program of a condition; if it has a revision, in the worktree of this revision."""
    settings = experiment.settings(levels)
    program = program_of(str(settings["subject"]))
    if flaws_of(settings):
        return str(Path(program).with_name(PROGRAM))  # which stands beside assay-trial
    if experiment.revisions is None:
        return program
    return str(experiment.revisions.place(Path(program), levels[REVISION]))


def moved(trial: PlannedTrial, before: Revisions, now: Revisions) -> PlannedTrial:
    """Return a trial for the present worktrees; those of its plan are gone."""
    level = str(trial.levels[REVISION])
    was, is_ = (revisions.levels[level].folder for revisions in (before, now))

    def place(text: str) -> str:
        path = Path(text)
        return str(is_ / path.relative_to(was)) if path.is_relative_to(was) else text

    request = deepcopy(dict(trial.request))
    if "input" in request.get("run", {}):
        request["run"]["input"] = place(request["run"]["input"])
    return replace(trial, program=place(trial.program), request=request)


def without_layouts(plan: Plan, subjects: Container[str]) -> Plan:
    """Return a plan in which no layout is drawn for some subjects."""
    trials = (
        replace(trial, perturbation={name: by for name, by in trial.perturbation.items() if name != LAYOUT})
        if trial.request["subject"] in subjects
        else trial
        for trial in plan.trials
    )
    return replace(plan, trials=tuple(trials))


def repeat_group(
    experiment: Experiment,
    group: Sequence[PlannedTrial],
    *,
    campaign_seed: int,
    number: int,
    group_number: int,
    first_ordinal: int,
) -> tuple[PlannedTrial, ...]:
    """Return trials that repeat a whole group: the same conditions with new random numbers.

    Only the layout stays that of their block or configuration. The same arguments give the same repetition.

    Args:
        experiment: the experiment that runs.
        group: the group's planned trials, from the first plan or an earlier repetition.
        campaign_seed: seed of the campaign's plan.
        number: the repetition's number within this group, from 1.
        group_number: the new group's number, above all others.
        first_ordinal: the ordinal of its first trial, above all others.
    """
    repeats = group[0].group if group[0].repeats is None else group[0].repeats
    random = Random(f"{campaign_seed} {repeats} {number}")  # noqa: S311  # repeatable on purpose
    # Digests of the files when the campaign was planned, even if they have changed since.
    planned = (distribution for trial in group for _, distribution in files_of(trial.request))
    digests = {distribution["file"]: distribution["digest"] for distribution in planned}
    by_levels = sorted(group, key=lambda trial: tuple(map(str, trial.levels.values())))
    return tuple(
        _drawn(
            experiment,
            replace(trial, ordinal=ordinal, group=group_number, repeats=repeats),
            random.randrange(_SEEDS),
            digests,
            _perturbed(experiment, trial.levels, campaign_seed, random),
        )
        for ordinal, trial in enumerate(random.sample(by_levels, len(group)), first_ordinal)
    )


def _layout_of_configuration(
    experiment: Experiment, levels: Mapping[str, Level], campaign_seed: int
) -> dict[str, int]:
    """Return the layout of a trial's program in a sensitivity experiment; empty: as it was built.

    A program that exists only as a link, `{linked}`, has one layout in all levels that do not vary it.
    """
    if not (experiment.varied and experiment.moved.layout):
        return {}
    if experiment.varied[str(levels[PERTURBED])].moved.layout:
        drawn_for = f"{levels[PERTURBED]} {levels[CONFIGURATION]}"
    else:
        own = experiment.programs.get(experiment.settings(levels)["subject"])
        if not own or not any(LINKED in names(argument) for argument in own.arguments):
            return {}
        drawn_for = NOTHING
    random = Random(f"{campaign_seed} layout {drawn_for}")  # noqa: S311  # repeatable on purpose
    return {LAYOUT: random.randrange(1, _LAYOUTS)}


def _perturbed(
    experiment: Experiment, levels: Mapping[str, Level], campaign_seed: int, random: Random
) -> tuple[dict[str, Any], dict[str, int | float | str]]:
    """Return the perturbed settings of a trial, and what was drawn.

    In a sensitivity experiment, all trials of a configuration have the same perturbation; at a level that
    adds randomness, each trial is perturbed again by itself.
    """
    settings = experiment.settings(levels)
    if not experiment.varied:
        return perturbed(settings, experiment.perturb, random)
    varied = experiment.varied[str(levels[PERTURBED])]
    # By name, so that each level has configurations of its own, as `analysis.sensitivity.enough` assumes.
    of_configuration = Random(f"{campaign_seed} {levels[PERTURBED]} {levels[CONFIGURATION]}")  # noqa: S311
    moved, drawn = perturbed(settings, varied.moved, of_configuration)
    moved, redrawn = perturbed(moved, varied.redrawn, random)
    both = drawn.keys() & redrawn.keys()
    redrawn |= {name: change(value_at(settings, name), value_at(moved, name)) for name in both}
    return moved, drawn | redrawn


def _drawn(
    experiment: Experiment,
    trial: PlannedTrial,
    seed: int,
    digests: Mapping[str, str],
    moved: tuple[dict[str, Any], dict[str, int | float | str]],
) -> PlannedTrial:
    """Return a trial with perturbed settings, and with the request for its process."""
    settings, drawn = moved
    # The layout is that of the block or configuration, in a repetition too.
    shared = {name: value for name, value in trial.perturbation.items() if name == LAYOUT}
    subject = settings["subject"]
    own = experiment.program_in_worktree(trial.levels, subject)
    is_command = experiment.is_command(subject)
    asked = {name: value for name, value in drawn.items() if not is_command or name not in _OF_THE_PROCESS}
    perturbation = shared | asked
    timeout_s = COMMAND_TIMEOUT_S if is_command else default_timeout_s(settings)
    values = values_of(settings, seed)
    request = deepcopy(
        {
            name: value
            for name, value in settings.items()
            if name not in RUNNER_ONLY_SETTINGS
            and (value or name not in _REQUESTED_IF_ANY)
            and (name in OF_FIXTURES or not experiment.is_fixture(subject))
        }
    )
    if own and own.is_command:
        run = own.model_dump(mode="json", include=set(CommandRun.model_fields), exclude_defaults=True)
        request |= {"run": run} if run else {}
    else:
        process = {name: perturbation[name] for name in _OF_THE_PROCESS if name in perturbation}
        request |= {"perturbation": process} if process else {}
    for _, distribution in files_of(request):
        distribution["digest"] = digests[distribution["file"]]
    return replace(
        trial,
        request={"protocol": 1, "seed": seed} | request,
        perturbation=perturbation,
        timeout_s=settings.get("timeout_s", timeout_s),
        memory_limit_mb=settings.get("memory_limit_mb", trial.memory_limit_mb),
        arguments=tuple(fill(argument, values) for argument in own.arguments) if own else (),
        extract=own.extraction if own else "protocol",
    )


def default_timeout_s(settings: Mapping[str, Any]) -> float:
    """Return the seconds after which a trial with these settings must be stuck.

    They are 10 s to start and stop, three times the warm-up and the measured interval, and 50 us for each key
    of the range: a prefill draws each key about five times, and the slowest map worth measuring takes 10 us
    per operation. In addition, each of these draws takes 2 ns per byte of a key and its value, which are
    written, compared and, in new memory, mapped; and each number of an array, drawn beforehand, takes 1 us.
    An open loop needs no more: it ends with the measured interval, whatever is still due. A fixture has no
    keys, but a minute for its setup.
    """
    running_ms = settings["duration_ms"] + settings.get("warm_up_ms", 0)
    if "key_range" not in settings:
        return float(60 + 3 * running_ms / 1000)
    size = longest(settings.get("key_type")) + longest(settings.get("value_type"))
    per_key = 50e-6 + 5 * 2e-9 * size
    array = settings.get("engine", {}).get("array")
    arrays = 1e-6 * array * settings["threads"] if array else 0
    return float(10 + 3 * running_ms / 1000 + per_key * settings["key_range"] + arrays)
