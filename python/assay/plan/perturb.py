"""Draws the random perturbations of one trial: Blackwell 1998, section 3.1, principle P1."""

import math
from collections.abc import Mapping
from random import Random
from typing import Any

from assay.experiment.mistakes import MistakeError
from assay.experiment.perturb import Perturb, chosen, in_full, is_number, replaced, value_at
from assay.experiment.workload import LARGEST_KEY_RANGE, largest_key_range

_TRIES = 100
"""The most draws until a value is legal. The setting itself is legal, so half of all draws are."""
_SEEDS = 2**53  # every JSON reader holds whole numbers below it exactly


def perturbed(
    settings: Mapping[str, Any], perturb: Perturb, random: Random
) -> tuple[dict[str, Any], dict[str, int | float | str]]:
    """Return the perturbed settings of a trial, and what was drawn: `PlannedTrial.perturbation`.

    For commands, too, everything is drawn that the experiment names; the runner omits what does not apply to
    a command.
    """
    moved = dict(settings)
    drawn: dict[str, int | float | str] = {}
    for name, weights in perturb.choices.items():
        if value_at(moved, name) is None and name.startswith("parameters."):
            continue
        value = random.choices(list(weights), list(weights.values()))[0]
        moved = chosen(moved, name, value)
        drawn[name] = value
    for name, amount in (perturb.amounts | perturb.uniform).items():
        value = value_at(moved, name)
        if name == "mix" and value is not None:
            moved["mix"], percents = _moved_mix(value, amount, random)
            drawn |= percents
        elif value is not None and is_number(value):
            number = _moved(moved, name, perturb, random)
            moved = replaced(moved, name, number)
            drawn[name] = change(value, number)
    _keep_ranges_within(moved)
    length = "range.length"
    if length in drawn:  # it may have become shorter once more
        drawn[length] = change(value_at(settings, length), value_at(moved, length))
    if perturb.environment:
        drawn["environment_bytes"] = random.randrange(perturb.environment)
    if perturb.stack:
        drawn["stack_bytes"] = random.randrange(0, perturb.stack, 16)
    if perturb.heap:
        drawn["heap_bytes"] = random.randrange(perturb.heap)
    if perturb.address_space != "system":
        either = perturb.address_space == "either"
        drawn["address_space"] = random.choice(["random", "fixed"]) if either else perturb.address_space
    if perturb.thread_order:
        drawn["thread_order"] = random.randrange(_SEEDS)
    if perturb.placement and moved.get("pinning") != "none":
        drawn["placement"] = random.randrange(_SEEDS)
    return moved, drawn


def _factor(amount: float, random: Random) -> float:
    return math.exp(amount * random.gauss())


def change(before: float, after: float) -> float:
    """Return by how many percent a number changed; from 0, its absolute change."""
    return 100 * (after / before - 1) if before else float(after)


def _moved(settings: Mapping[str, Any], name: str, perturb: Perturb, random: Random) -> Any:
    """Draw a number near a setting's value, of the same type, until it is legal; its sign stays the same."""
    value = value_at(settings, name)
    step = perturb.multiple_of.get(name)
    for _ in range(_TRIES):
        if name in perturb.uniform:
            reach = math.sqrt(3) * perturb.uniform[name]
            number = value + random.uniform(-reach, reach)
        else:
            number = value * _factor(perturb.amounts[name], random)
        number = step * round(number / step) if step and math.isfinite(number / step) else number
        number = round(number) if isinstance(value, int) else number
        beyond = number <= 0 < value or number >= 0 > value or number < 0 == value
        if not beyond and _is_legal(settings, name, number):
            return number
    return value


def _is_legal(settings: Mapping[str, Any], name: str, number: float) -> bool:
    if name == "key_range" and number > largest_key_range(settings):
        return False
    setting = name.partition(".")[0]
    try:
        in_full(setting, replaced(settings, name, number)[setting])
    except MistakeError:
        return False
    return True


def _moved_mix(
    mix: Mapping[str, float], amount: float, random: Random
) -> tuple[dict[str, float], dict[str, float]]:
    """Return a mix with perturbed shares, and the change of each share in percent of itself."""
    shares = {name: share * _factor(amount, random) if share else share for name, share in mix.items()}
    scale = 100 / sum(shares.values())
    moved = {name: share * scale for name, share in shares.items()}
    return moved, {f"mix.{name}": 100 * (moved[name] / share - 1) for name, share in mix.items() if share}


def _keep_ranges_within(settings: dict[str, Any]) -> None:
    """Shorten range queries, prefills and phases that would exceed the new number of keys."""
    most = settings.get("key_range", LARGEST_KEY_RANGE)
    for name in ("prefill", "phase"):
        if settings.get(name, {}).get("size", 0) > most:
            settings[name] = {**settings[name], "size": most}
    tables = [settings, *settings.get("roles", ())]
    for number, table in enumerate(tables):
        length = table.get("range", {}).get("length", 0)
        if isinstance(length, int) and length > most:
            shorter = {**table, "range": {**table["range"], "length": most}}
        elif isinstance(length, dict) and length["to"] > most:
            bounds = {**length, "from": min(length["from"], most), "to": most}
            shorter = {**table, "range": {**table["range"], "length": bounds}}
        else:
            continue
        if number == 0:
            settings |= shorter
        else:
            settings["roles"] = [*settings["roles"][: number - 1], shorter, *settings["roles"][number:]]
