"""Compares orders of a program's procedures, and finds the best one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.runner.temporary import Temporary
from assay_layout.linking import LLD_ORDERS, Recorded
from assay_layout.program import read_image, symbol
from assay_layout.simulator import Cache, Simulation, simulate

OPTIMISERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Pettis-Hansen": ("pettis_hansen", {}),
    "Pettis-Hansen, history 0.5": ("pettis_hansen", {"history": 0.5}),
    "Pettis-Hansen, history 0.7": ("pettis_hansen", {"history": 0.7}),
    "conflicts, history 0.7": ("conflicts", {"history": 0.7}),
}
"""What is compared: a scheme of `assay-layouts` and its parameters."""
_BY_ORDER = [name for name, (scheme, _) in OPTIMISERS.items() if scheme == "pettis_hansen"]
"""Those whose layouts have no gaps, so that a linker makes them from an order alone."""

Places = list[tuple[str, int]]
"""Procedures and their addresses, in the order of addresses."""


@dataclass(frozen=True)
class Search:
    """What layouts are drawn by, and what they are judged by.

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

    def judged(self, scheme: str, layouts: int, **more: Any) -> Simulation:
        """Return the cost of layouts in the trace by which they are judged."""
        return simulate(self.judged_by, scheme, self.cache, seed=self.seed, layouts=layouts, **more)

    def drawn(self, name: str, layouts: int, **more: Any) -> Simulation:
        """Return the cost of layouts of an optimiser in the trace for which it makes them."""
        scheme, parameters = OPTIMISERS[name]
        noise = {"noise": self.noise}
        return simulate(
            self.trace, scheme, self.cache, seed=self.seed, layouts=layouts, **parameters, **noise, **more
        )

    def placed(self, trace: Path, places: Places) -> float:
        """Return the misses in 1,000 instructions of a trace where procedures have these places."""
        answer = simulate(trace, "placed", self.cache, seed=self.seed, places=places)
        return float(answer.miss_rates[0])


@dataclass(frozen=True)
class Found:
    """What came of a search. All misses are in 1,000 instructions.

    Attributes:
        linked: the misses as the program was linked.
        answers: by name, those of random layouts first.
        best: the optimiser that drew the best order.
        places: the procedures and their addresses in it.
        made_for: its misses in the trace for which it was made.
        judged: its misses in the trace by which it is judged.
        really: these misses where it was really linked; None if the link of the program was not recorded.
    """

    linked: float
    answers: Mapping[str, Simulation]
    best: str
    places: Places
    made_for: float
    judged: float
    really: float | None

    @property
    def order(self) -> list[str]:
        """Return the symbols of procedures in the best order."""
        return [symbol(name) for name, _ in self.places]


def search(by: Search, output: Path) -> Found:
    """Compare all optimisers, and link the best order to `output` if the link of the program was recorded.

    Raises:
        AssayError: a trace cannot be read, or the recorded link is of another build of the program.
        CannotStartError: a link failed.
    """
    answers = {"random": by.judged("random", by.layouts)}
    profiled = {} if by.judged_by == by.trace else {"profiled": str(by.trace.absolute())}
    for name, (scheme, parameters) in OPTIMISERS.items():
        answers[name] = by.judged(scheme, by.layouts, **parameters, **profiled, noise=by.noise)
    # Chosen by the trace that it was made for. If misses are counted in another one, that confirms it.
    drawn = {
        name: (answers[name] if by.judged_by == by.trace else by.drawn(name, by.layouts)).misses[:, 0]
        for name in _BY_ORDER
    }
    best = min(_BY_ORDER, key=lambda name: float(drawn[name].min()))
    number = int(np.argmin(drawn[best]))
    places = [(name, at) for name, at in by.drawn(best, 1, first=number, addresses=1).details["addresses"]]
    really = None
    with Temporary("assay-layout-") as temporary:
        recorded = Recorded.beside(by.program, temporary.folder)
        if recorded:
            calls = simulate(by.trace, "linked", by.cache, seed=by.seed, calls=1).details["calls"]
            for name, word in LLD_ORDERS.items():
                recorded.by_lld(word, calls, temporary.folder / "linked")
                answers[name] = by.judged("placed", 1, places=places_of(temporary.folder / "linked"))
            recorded.in_order(places, output)
            really = by.placed(by.judged_by, places_of(output))
    return Found(
        linked=float(by.judged("linked", 1).miss_rates[0]),
        answers=answers,
        best=best,
        places=places,
        made_for=by.placed(by.trace, places),
        judged=by.placed(by.judged_by, places),
        really=really,
    )


def places_of(program: Path) -> Places:
    """Return the procedures of a program and where they were linked."""
    return [(each.name, each.address) for each in read_image(program).procedures]
