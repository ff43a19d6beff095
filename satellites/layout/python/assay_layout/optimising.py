"""Compares orders of a program's procedures, and finds the best one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.runner.temporary import Temporary
from assay_layout.linking import LLD_ORDERS, Places, Recorded
from assay_layout.program import read_image
from assay_layout.simulator import Cache, Simulation, simulate

OPTIMISERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Pettis-Hansen": ("pettis_hansen", {}),
    "Pettis-Hansen, history 0.5": ("pettis_hansen", {"history": 0.5}),
    "Pettis-Hansen, history 0.7": ("pettis_hansen", {"history": 0.7}),
    "conflicts, history 0.7": ("conflicts", {"history": 0.7}),
    "lines": ("lines", {}),
}
"""What is compared: a scheme of `assay-layouts` and its parameters."""

LLD_DRAWN = 11
"""How many orders lld finds by each of its optimisers, from weights with noise: each takes a link."""


@dataclass(frozen=True)
class Search:
    """The settings of a search.

    Attributes:
        program: the program.
        trace: what it executed: what is optimised for.
        judged_by: the trace in which misses are counted.
        cache: the first one.
        layouts: how many each optimiser draws.
        noise: C of e^(C Z), by which weights are multiplied.
        seed: from which all is drawn.
    """

    program: Path
    trace: Path
    judged_by: Path
    cache: Cache
    layouts: int
    noise: float
    seed: int

    @cached_property
    def optimisers(self) -> list[str]:
        """Return the names of the optimisers that suit the program.

        Basic blocks of one function are in sections of one name, which a linker script cannot tell apart.
        """
        blocks = any(".__part." in each.name for each in read_image(self.program).procedures)
        return [name for name in OPTIMISERS if not (blocks and has_gaps(name))]

    @cached_property
    def linked(self) -> Simulation:
        """Return the cost of the program as it was linked."""
        return self.judged("linked")

    def judged(self, scheme: str, layouts: int = 1, **more: Any) -> Simulation:
        """Return the cost of layouts in the trace by which they are judged, and in that of the profile."""
        if self.judged_by != self.trace:
            more["profiled"] = str(self.trace.absolute())
        return simulate(self.judged_by, scheme, self.cache, seed=self.seed, layouts=layouts, **more)

    def drawn(self, name: str, layouts: int = 1, **more: Any) -> Simulation:
        """Return the cost of layouts of an optimiser."""
        scheme, parameters = OPTIMISERS[name]
        return self.judged(scheme, layouts, **parameters, noise=self.noise, **more)

    def places(self, name: str, number: int = 0) -> Places:
        """Return where an optimiser puts procedures in one of its layouts."""
        found: Places = self.drawn(name, first=number, addresses=1).details["addresses"]
        return found

    def by_lld(self, recorded: Recorded, word: str, layouts: int, linked: Path) -> list[Places]:
        """Return where procedures are in orders that lld finds.

        Args:
            recorded: the link of the program.
            word: the optimiser, as lld's option names it.
            layouts: how many.
            linked: the file to which each is linked.

        Raises:
            CannotStartError: a link failed.
        """
        found = []
        for number in range(layouts):
            answer = simulate(
                self.trace, "linked", self.cache, seed=self.seed, calls=1, first=number, noise=self.noise
            )
            recorded.by_lld(word, answer.details["calls"], linked)
            found.append(places_of(linked))
        return found


@dataclass(frozen=True)
class Found:
    """The result of a search. All misses are in 1,000 instructions.

    Attributes:
        answers: by name, those of random layouts first.
        best: the optimiser that drew the best layout.
        number: of the draw.
        drawn: how many there were.
        places: the procedures and their addresses in it.
        gaps: whether there are gaps between them.
        made_for: its misses in the trace for which it was made.
        judged: its misses in the trace by which it is judged.
        really: these misses where it was really linked; None if the link of the program was not recorded.
    """

    answers: Mapping[str, Simulation]
    best: str
    number: int
    drawn: int
    places: Places
    gaps: bool
    made_for: float
    judged: float
    really: float | None


def search(by: Search, output: Path) -> Found:
    """Compare all optimisers, and link the best layout to `output` if the link of the program was recorded.

    Raises:
        AssayError: a trace cannot be read, or the recorded link is of another build of the program.
        CannotStartError: a link failed.
    """
    with Temporary("assay-layout-") as temporary:
        recorded = Recorded.beside(by.program, temporary.folder)
        answers = {"random": by.judged("random", by.layouts)}
        answers |= {name: by.drawn(name, by.layouts) for name in by.optimisers}
        theirs = {}
        if recorded:
            for name, word in LLD_ORDERS.items():
                linked, number = temporary.folder / "linked", min(by.layouts, LLD_DRAWN)
                theirs[name] = by.by_lld(recorded, word, number, linked)
                answers[name] = by.judged("placed", places=theirs[name])
        # Chosen by the trace that it was made for. If misses are counted in another one, that confirms it.
        best = min([*by.optimisers, *theirs], key=lambda name: float(answers[name].made_for.cycles.min()))
        number = int(np.argmin(answers[best].made_for.cycles))
        gaps = has_gaps(best)
        places = theirs[best][number] if best in theirs else by.places(best, number)
        really = None
        if recorded:
            recorded.at_places(places, read_image(by.program), output, gaps=gaps)
            really = float(by.judged("placed", places=[places_of(output)]).miss_rates[0])
    return Found(
        answers=answers,
        best=best,
        number=number,
        drawn=len(answers[best].misses),
        places=places,
        gaps=gaps,
        made_for=float(answers[best].made_for.miss_rates[number]),
        judged=float(answers[best].miss_rates[number]),
        really=really,
    )


def has_gaps(name: str) -> bool:
    """Return whether the layouts of an optimiser have gaps, so that they need a linker script."""
    return name in OPTIMISERS and OPTIMISERS[name][0] != "pettis_hansen"


def places_of(program: Path) -> Places:
    """Return the procedures of a program and where they were linked."""
    return [(each.name, each.address) for each in read_image(program).procedures]
