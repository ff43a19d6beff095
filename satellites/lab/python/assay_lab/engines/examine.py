"""Examines engines one after the other: draws, counts, judges and times."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from assay.errors import AssayError
from assay.words import nearest
from assay_lab.engines.judge import judge, speed_of
from assay_lab.engines.program import Part, count, known
from assay_lab.engines.types import Counts, Engine, EngineExamination

RESEEDED_EVERY = 1_000_000
"""Numbers, where a picture shows reseeding that was not asked for; a tenth of all where they are fewer."""


def chosen(names: Sequence[str]) -> list[Engine]:
    """Return engines by their names, each once; all of them without names.

    Raises:
        AssayError: there is no such engine.
    """
    engines = {engine.name: engine for engine in known()}
    for name in names:
        if name not in engines:
            raise AssayError(f"there is no engine {name!r}; {nearest(name, list(engines))}")
    return [engines[name] for name in dict.fromkeys(names or engines)]


def examine(
    engines: Sequence[Engine], *, numbers: int, seed: int, reseed_every: int | None
) -> list[EngineExamination]:
    """Examine engines, several at a time; then time them, one at a time.

    Args:
        engines: which.
        numbers: to draw from each.
        seed: of all streams.
        reseed_every: numbers between two draws of new entropy, if there are to be any.

    Raises:
        AssayError: the program that draws refuses, fails, or is missing.
    """
    other = min(RESEEDED_EVERY, numbers // 10) if reseed_every is None else None

    def draw(engine: Engine, reseed_every: int | None, *parts: Part) -> Counts:
        return count(engine.name, numbers=numbers, seed=seed, reseed_every=reseed_every, parts=parts)

    def examined(engine: Engine) -> EngineExamination:
        if why := _refusal(engine, reseed_every):
            return EngineExamination(engine, reseed_every, unavailable=why)
        has_seeds = engine.replayable and not engine.shared and reseed_every is None
        seeds: tuple[Part, ...] = ("seeds",) if has_seeds else ()
        counts = draw(engine, reseed_every, "bits", "keys", "streams", *seeds)
        others = None if _refusal(engine, other) else draw(engine, other, "bits")
        return EngineExamination(
            engine,
            reseed_every,
            counts=counts,
            other_reseed_every=other,
            other=others,
            verdict=judge(counts),
        )

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        judged = list(pool.map(examined, engines))
    return [
        replace(engine, speed=speed_of(draw(engine.engine, reseed_every, "speed")))
        if engine.counts
        else engine
        for engine in judged
    ]


def _refusal(engine: Engine, reseed_every: int | None) -> str:
    """Return why an engine cannot be drawn from in this way; empty where it can."""
    if not engine.available:
        return f"this processor does not have what it needs ({engine.description})"
    if reseed_every is not None and engine.state_bits == 0:
        return "it has no state that could be given new entropy"
    if reseed_every is not None and engine.shared:
        return "its state belongs to all threads, and cannot be reseeded for one"
    return ""
