"""Decisions that nothing speaks for or against, drawn at random and repeated one by one.

Programs decide much that is arbitrary: which of two equal tasks runs first, which of two costs that differ by
less than is known of them is the lower. A program that decides such things always in the same way makes its
speed depend on accidents, and whoever measures it measures the accident. So every such decision is drawn
(Blackwell 1998, section 3.2), and each has a seed of its own, which follows from the program's seed and the
decision's name (section 7.1):

    program = Decisions(seed)                                    # print the seed with the result
    program.named("victim").choose(3)                            # P2: 0, 1 or 2, each as likely
    program.named("next task").arg_min(costs, 0.05)              # P3: costs count to within 5%
    program.named("queue length").estimated(25, 2)               # P4: 25, give or take 2
    program.named("server").arg_min_estimated(means, errors)     # P4: as likely as it is the least

The same seed decides all of it again. A decision can be repeated alone, while the others vary:

    other = Decisions(another_seed)
    other.fix("victim", program.seed_of("victim"))

and with `Decisions.none()` nothing is drawn: the first of equals is taken, costs and estimates are taken as
they are.

Names are stable if they say what is decided, not when: "inline parse_line" rather than "decision 17". Then a
change elsewhere in the program changes no other decision. `assay/random/decision.h` in C++ decides the same
from the same seeds and names. This module needs the standard library alone.
"""

import math
from collections.abc import Callable, Sequence

MOST_RANDOMNESS = 10.0
"""The greatest amount of noise. Blackwell went up to 5, at which his layouts could be worse than random ones
(section 4.6)."""
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix(x: int) -> int:
    """Return the finaliser of splitmix64 (Steele, Lea and Flood 2014) of a number of 64 bits."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


def seed_of_decision(program: int, name: str) -> int:
    """Return the seed of the decision with this name in the program with this seed, below 2^64.

    It is the stream of that seed whose number is the name's hash, FNV-1a of its bytes in UTF-8 (Fowler, Noll
    and Vo 1991).

    Raises:
        ValueError: the seed is not from 0 to 2^64 - 1.
    """
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & _MASK
    mixed = _mix(_checked_seed(program) + _GOLDEN_GAMMA & _MASK)
    return _mix(mixed + (hashed + 1) * _GOLDEN_GAMMA & _MASK)


class RandomDecision:
    """One decision, or several that belong together: each call draws anew."""

    def __init__(self, seed: int | None) -> None:
        """Draw from this seed, from 0 to 2^64 - 1, or draw nothing where there is none.

        Raises:
            ValueError: it is not such a number.
        """
        self._state = None if seed is None else _checked_seed(seed)

    def choose(self, candidates: int) -> int:
        """Return a number from 0 to below `candidates`, each as likely (P2).

        Raises:
            ValueError: there are none, or more than 2^64 - 1.
        """
        if candidates < 1:
            raise ValueError("there is no candidate to choose")
        if candidates > _MASK:
            raise ValueError(f"there are {candidates} candidates: 2^64 - 1 are the most")
        if self._state is None:
            return 0
        # As many of the 2^64 numbers for each candidate: those left over are drawn again.
        left_over = 2**64 % candidates
        drawn = self._draw()
        while drawn < left_over:
            drawn = self._draw()
        return drawn % candidates

    def arg_min(self, costs: Sequence[float], c: float = 0) -> int:
        """Return which cost is the least when each is multiplied by e^(C Z), Z standard normal (P3).

        For small C they count to within 100 C percent; zeros stay, signs too. Of equals, one at random:
        without noise that is all that is drawn.

        Args:
            costs: one of each candidate.
            c: the amount of noise, from 0 to `MOST_RANDOMNESS`.

        Raises:
            ValueError: there are no costs, one is not a number, or C is out of range.

        Source: Blackwell 1998, section 4.5, equation 1.
        """
        return self._best(costs, c, largest=False)

    def arg_max(self, values: Sequence[float], c: float = 0) -> int:
        """Return which value is the greatest, in the same way as `arg_min`."""
        return self._best(values, c, largest=True)

    def noisy(self, value: float, c: float) -> float:
        """Return the value times e^(C Z).

        Raises:
            ValueError: C is not from 0 to `MOST_RANDOMNESS`.
        """
        _check_randomness(c)
        return value if c == 0 else value * math.exp(c * self.normal())

    def estimated(self, estimate: float, standard_error: float) -> float:
        """Return what the estimated value may be: normal, with this mean and standard deviation (P4).

        Raises:
            ValueError: the estimate is not a number, or its error is not a finite number of at least 0.
        """
        _check_estimate(estimate, standard_error, "")
        return estimate + standard_error * self.normal()

    def arg_min_estimated(self, estimates: Sequence[float], standard_errors: Sequence[float]) -> int:
        """Return which of several estimated values is the least, each drawn as `estimated` does (P4).

        A candidate is chosen as often as it would be right, given the estimates (Thompson 1933).

        Raises:
            ValueError: there are no candidates, not as many errors as estimates, or what `estimated` refuses.
        """
        return self._best_estimated(estimates, standard_errors, largest=False)

    def arg_max_estimated(self, estimates: Sequence[float], standard_errors: Sequence[float]) -> int:
        """Return which is the greatest, in the same way as `arg_min_estimated`."""
        return self._best_estimated(estimates, standard_errors, largest=True)

    def normal(self) -> float:
        """Return a standard normal number (Box and Muller 1958), from two draws."""
        if self._state is None:
            return 0.0
        above_0 = ((self._draw() >> 11) + 1) * 2.0**-53  # at most 1
        below_1 = (self._draw() >> 11) * 2.0**-53
        return math.sqrt(-2 * math.log(above_0)) * math.cos(2 * math.pi * below_1)

    def _draw(self) -> int:
        """Return the next number of splitmix64."""
        assert self._state is not None
        self._state = self._state + _GOLDEN_GAMMA & _MASK
        return _mix(self._state)

    def _best(self, values: Sequence[float], c: float, *, largest: bool) -> int:
        _check_randomness(c)
        for i, value in enumerate(values):
            if math.isnan(value):
                raise ValueError(f"the value{_of_candidate(i, len(values))} is not a number")
        return self._best_of(len(values), lambda i: self.noisy(values[i], c), largest=largest)

    def _best_estimated(
        self, estimates: Sequence[float], standard_errors: Sequence[float], *, largest: bool
    ) -> int:
        if len(estimates) != len(standard_errors):
            raise ValueError(
                f"there are {len(estimates)} estimates and {len(standard_errors)} standard errors"
            )
        for i, (estimate, error) in enumerate(zip(estimates, standard_errors, strict=True)):
            _check_estimate(estimate, error, _of_candidate(i, len(estimates)))
        return self._best_of(
            len(estimates), lambda i: self.estimated(estimates[i], standard_errors[i]), largest=largest
        )

    def _best_of(self, candidates: int, value_of: Callable[[int], float], *, largest: bool) -> int:
        values = [value_of(i) for i in range(candidates)]
        best = (max if largest else min)(values, default=0.0)
        equals = [i for i, value in enumerate(values) if value == best]
        return equals[self.choose(len(equals))]


class Decisions:
    """The decisions of a program."""

    def __init__(self, seed: int) -> None:
        """Draw each decision from this seed, from 0 to 2^64 - 1, and its name.

        Raises:
            ValueError: it is not such a number.
        """
        self._seed: int | None = _checked_seed(seed)
        self._fixed: dict[str, int] = {}

    @classmethod
    def none(cls) -> "Decisions":
        """Return decisions that draw nothing, except those that are fixed."""
        made = cls(0)
        made._seed = None
        return made

    def named(self, name: str) -> RandomDecision:
        """Return the decision with this name, from its beginning."""
        drawn = name in self._fixed or self._seed is not None
        return RandomDecision(self.seed_of(name) if drawn else None)

    def seed_of(self, name: str) -> int:
        """Return what the decision is drawn from, which is what `fix` takes.

        Raises:
            ValueError: it is not drawn.
        """
        if name in self._fixed:
            return self._fixed[name]
        if self._seed is None:
            raise ValueError("nothing is drawn, so no decision has a seed")
        return seed_of_decision(self._seed, name)

    def fix(self, name: str, seed: int) -> None:
        """Draw that decision from this seed, whatever the program's is.

        Raises:
            ValueError: the seed is not from 0 to 2^64 - 1.
        """
        self._fixed[name] = _checked_seed(seed)


def _checked_seed(seed: int) -> int:
    if not 0 <= seed <= _MASK:
        raise ValueError(f"the seed is {seed}: it must be from 0 to 2^64 - 1")
    return seed


def _check_randomness(c: float) -> None:
    if not 0 <= c <= MOST_RANDOMNESS:
        raise ValueError(f"the randomness C is {c}: it must be from 0, none, to {MOST_RANDOMNESS:g}")


def _check_estimate(estimate: float, standard_error: float, whose: str) -> None:
    if math.isnan(estimate):
        raise ValueError(f"the estimate{whose} is not a number")
    if not 0 <= standard_error < math.inf:
        raise ValueError(
            f"the standard error{whose} is {standard_error}: it must be a finite number of at least 0"
        )


def _of_candidate(i: int, candidates: int) -> str:
    """Return how messages name a candidate, counted from 0 as answers are."""
    return f" of candidate {i} of {candidates}"
