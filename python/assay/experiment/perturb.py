"""[perturb]: what is moved at random in every trial, and by how much.

What is arbitrary and stands still misleads: Blackwell, Applications of Randomness in System Performance
Measurement, section 3.1, principle P1.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from assay.experiment.mistakes import MistakeError, validated
from assay.experiment.settings import Parameter, Settings
from assay.experiment.tables import Table, explained, misplaced, read_as
from assay.words import show

AMOUNT = 0.01
"""C of the key range where nothing says: 1% is what no reader of a paper would take for another workload."""
PAGE = 4096
HEAP = 16 * 1024

_AMOUNT = "is C of the factor e^(C Z), Z standard normal: above 0 and at most 1, not {value}"
Amount = Annotated[
    Annotated[float, Field(gt=0, le=1)],
    explained(f"{_AMOUNT}; leave it out to perturb nothing"),
]
Weights = Annotated[
    dict[str, Annotated[float, Field(gt=0, le=1e6)]],
    Field(min_length=2),
    explained("is values with weights above 0, two at least, such as {{ a = 1, b = 2 }}, not {value}"),
]
LARGEST_NUMBER = 1e18
Number = Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]


def _flat(table: dict[str, float | dict[str, float]]) -> dict[str, float]:
    """Return numbers by the names of their settings, `parameters.size` for one inside a table."""
    flat: dict[str, float] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": number for key, number in value.items()}
        else:
            flat[name] = value
    return flat


Numbers = Annotated[
    dict[str, float],
    read_as(dict[str, Number | dict[str, Number]]),
    AfterValidator(_flat),
    explained(
        "is settings with numbers above 0 and at most 1e18, such as {{ batch = 8, parameters.start = 50 }}, "
        "not {value}"
    ),
]
AddressSpace = Literal["system", "random", "fixed", "either"]


def _off(value: Any) -> Any:
    if value is not False:  # 0 is equal to it
        raise ValueError("write false")
    return value


Off = Annotated[Literal[False], BeforeValidator(_off)]
_BYTES = "is a number of bytes{}, or false to leave it alone, not {{value}}"
EnvironmentBytes = Annotated[int, Field(gt=0, le=2**20)] | Off
StackBytes = Annotated[int, Field(gt=0, le=2**16, multiple_of=16)] | Off
HeapBytes = Annotated[int, Field(gt=0, le=2**16)] | Off


class RatePerturbed(Table):
    """[perturb.arrivals]."""

    rate: Amount | None = None
    """C of the rate."""


class LengthPerturbed(Table):
    """[perturb.range]."""

    length: Amount | None = None
    """C of the length, where it is a number."""


class Perturb(Table):
    """[perturb]: what is moved at random in every trial."""

    key_range: Annotated[
        Annotated[float, Field(gt=0, le=1)] | Off,
        explained(f"{_AMOUNT}; write false to leave the key range alone"),
    ] = AMOUNT
    """C of the key range: each trial's is the setting times e^(C Z), Z standard normal."""
    duration_ms: Amount | None = None
    """C of the measured interval's length."""
    warm_up_ms: Amount | None = None
    """C of the warm-up's length."""
    batch: Amount | None = None
    """C of the operations in a batch."""
    mix: Amount | None = None
    """C of each operation's share; shares are brought back to 100 together."""
    arrivals: RatePerturbed | None = None
    range: LengthPerturbed | None = None
    distribution: dict[str, Amount] | None = None
    """Number of the distribution, such as its exponent -> C."""
    parameters: dict[Parameter, Amount | Weights] | None = None
    """Parameter of one's own -> C of a number, or values with weights."""
    uniform: Numbers = Field(default_factory=dict)
    """Setting -> standard deviation of what is added to it, uniformly distributed around 0."""
    multiple_of: Numbers = Field(default_factory=dict)
    """Setting that moves -> the step that its values are rounded to, such as the size of a packet."""
    pinning: Weights | None = None
    """Policies with weights, of which one is drawn for each trial; likewise the next ones."""
    keys: Weights | None = None
    engine: Weights | None = None
    draws: Weights | None = None
    bounding: Weights | None = None
    allocator: Weights | None = None
    memory_policy: Weights | None = None
    environment: Annotated[EnvironmentBytes, explained(_BYTES.format(", at most 1048576"))] = PAGE
    """The environment of each trial is longer by fewer bytes than this."""
    stack: Annotated[StackBytes, explained(_BYTES.format(", a multiple of 16 and at most 65536"))] = PAGE
    """Each trial's threads measure fewer bytes than this, a multiple of 16, deeper on their stacks."""
    heap: Annotated[HeapBytes, explained(_BYTES.format(", at most 65536"))] = HEAP
    """The first allocation of each trial has fewer bytes than this."""
    address_space: AddressSpace = "system"
    """Where the kernel places a process: as the system does, at random, always alike, or either by chance."""
    thread_order: StrictBool = True
    """Whether threads are started in random order."""
    placement: StrictBool = False
    """Whether threads are exchanged among equivalent processors."""
    layout: StrictBool = False
    """Whether each block runs programs linked anew, functions and data in an order drawn for it."""

    @model_validator(mode="before")
    @classmethod
    def _holds_what_can_vary(cls, table: Any) -> Any:
        for key in table if isinstance(table, dict) else ():
            if key in Settings.model_fields and key not in cls.model_fields:
                raise misplaced(key, f"{key} cannot vary within a condition; make it a factor")
        return table

    def _moves(self) -> Iterator[tuple[str, Any]]:
        """Yield each setting that moves with its C or its weights, one in a table as `arrivals.rate`."""
        given = self.given()
        for name in Settings.model_fields:
            value = given.get(name)
            if name in _TABLES:
                yield from ((f"{name}.{key}", inner) for key, inner in (value or {}).items())
            elif value:
                yield name, value

    @cached_property
    def amounts(self) -> dict[str, float]:
        """Return setting -> C of the factor e^(C Z) by which it is moved, Z standard normal."""
        return {name: value for name, value in self._moves() if not isinstance(value, dict)}

    @cached_property
    def choices(self) -> dict[str, dict[str, float]]:
        """Return setting -> value -> weight, of the values of which one is drawn."""
        return {name: value for name, value in self._moves() if isinstance(value, dict)}

    def names(self) -> tuple[str, ...]:
        """Return what is moved, by the names of the file."""
        process = [name for name in _PROCESS if getattr(self, name)]
        moved = ["address_space"] if self.address_space == "either" else []
        return (*self.amounts, *self.uniform, *self.choices, *process, *moved)

    def nothing(self) -> "Perturb":
        """Return what moves nothing, and places processes as this does where it always does so alike."""
        return UNMOVED.altered(
            address_space="system" if self.address_space == "either" else self.address_space
        )

    def alone(self, name: str) -> "Perturb":
        """Return the perturbation of one of `names` alone."""
        values: dict[str, Any] = {**self.amounts, **self.choices}
        if name in self.uniform:
            moved: dict[str, Any] = {"uniform": {name: self.uniform[name]}}
        else:
            moved = _nested({name: values[name] if name in values else getattr(self, name)})
        return self.nothing().altered(multiple_of=self.multiple_of, **moved)

    def scaled(self, factor: float) -> "Perturb":
        """Return what moves numbers alone, every C and what is added this many times as large."""
        amounts, uniform = (
            {name: amount * factor for name, amount in of.items()} for of in (self.amounts, self.uniform)
        )
        return UNMOVED.altered(uniform=uniform, multiple_of=self.multiple_of, **_nested(amounts))


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as the file has them: that of `arrivals.rate` in the table `arrivals`."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        outer, dot, inner = name.partition(".")
        if dot:
            nested.setdefault(outer, {})[inner] = value
        else:
            nested[outer] = value
    return nested


UNMOVED = Perturb(key_range=False, environment=False, stack=False, heap=False, thread_order=False)
"""What moves nothing."""
_PROCESS = ("environment", "stack", "heap", "thread_order", "placement", "layout")
_OF_THE_PROTOCOL = ("key_range", "stack", "heap", "thread_order", "placement")
"""What moves only where a program speaks the protocol: a command makes its own threads and allocations."""


def resolved(perturb: Perturb, *, commands_alone: bool) -> Perturb:
    """Return what is moved of what a file says; `commands_alone` where no subject speaks the trial protocol.

    Raises:
        MistakeError: it perturbs what commands do not have.
    """
    if commands_alone:
        for name in _OF_THE_PROTOCOL:
            if name in perturb.model_fields_set and getattr(perturb, name):
                why = (
                    "commands do not take it, and there is nothing else; leave it out, or perturb a parameter"
                )
                raise MistakeError(("perturb", name), why)
        return perturb.altered(**dict.fromkeys(_OF_THE_PROTOCOL, False))
    added = "key_range" in perturb.uniform and "key_range" not in perturb.model_fields_set
    return perturb.altered(key_range=False) if added else perturb


_NUMBERS = frozenset(
    {"key_range", "duration_ms", "warm_up_ms", "batch", "arrivals", "range", "distribution", "parameters"}
)
_TABLES = frozenset({"arrivals", "range", "distribution", "parameters"})


_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def chosen(settings: Mapping[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return settings with a value that was drawn for one of `choices`, of the type that it has there."""
    if not name.startswith("parameters."):
        return replaced(settings, name, in_full(name, value))
    if not is_number(value_at(settings, name)):
        return replaced(settings, name, value)
    return replaced(settings, name, float(value) if "." in value else int(value))


def value_at(settings: Mapping[str, Any], name: str) -> Any:
    """Return the value of a setting, or of a key inside one such as `arrivals.rate`; None without one."""
    value: Any = settings
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def replaced(settings: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return settings with another value of a setting, or of a key inside one."""
    outer, dot, inner = name.partition(".")
    return {**settings, outer: {**settings[outer], inner: value} if dot else value}


def in_full(setting: str, value: Any) -> Any:
    """Return the value of a setting in its long form.

    Raises:
        MistakeError: it is not possible.
    """
    return validated(Settings, {setting: value}, skip=1).given()[setting]


def movable(settings: Mapping[str, Any], *, command: bool, linked: bool) -> Iterator[str]:
    """Yield what `Perturb` can move in a condition, by the names of the file, less what is chosen by weights.

    Args:
        settings: of the condition.
        command: its program does not speak the trial protocol.
        linked: its program can be linked anew.
    """
    for name in Settings.model_fields:
        value = settings.get(name)
        inside = value.items() if name in _TABLES and isinstance(value, Mapping) else ((None, value),)
        for key, inner in inside:
            if (name == "mix" and inner is not None) or (name in _NUMBERS and is_number(inner)):
                yield f"{name}.{key}" if key else name
    yield "environment"
    if not command:
        yield from ("stack", "heap")
    if not command and settings["threads"] > 1:
        yield "thread_order"
        if isinstance(settings["pinning"], str) and settings["pinning"] != "none":
            yield "placement"
    if linked:
        yield "layout"


def is_number(value: Any) -> bool:
    """Return whether a value can be moved by a factor."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_perturb(
    perturb: Perturb, conditions: Sequence[Mapping[str, Any]], factor_of: Mapping[str, str]
) -> None:
    """Check that every setting that is to move is there and can, and that every value is possible.

    Args:
        perturb: what is moved.
        conditions: the settings of each condition.
        factor_of: setting, or `parameters.NAME` -> the factor whose levels change it.

    Raises:
        MistakeError: what is named cannot vary, or a value is not possible.
    """

    def values(name: str, key: tuple[str, ...], *, numbers: bool = True) -> list[Any]:
        """Return the values of a setting in the conditions that have it."""
        there = [value for settings in conditions if (value := value_at(settings, name)) is not None]
        if not there:
            why = "no condition has it for all roles; set it in [trial] or [factors], or leave it out"
            raise MistakeError(key, why)
        if numbers and not any(map(is_number, there)):
            raise MistakeError(key, f"{name} is {show(there[0])}, which is not a number; leave it out")
        return there

    for name in perturb.amounts:
        if name != "key_range":  # which by default moves where there is one
            values(name, _key(name), numbers=name != "mix")
    for name in perturb.uniform:
        key = _key("uniform", name)
        if name in perturb.amounts:
            raise MistakeError(key, f"{name} is moved by a C as well; leave one of the two out")
        if name.partition(".")[0] not in _NUMBERS:
            raise MistakeError(key, f"{name} cannot be moved by a number; leave it out")
        values(name, key)
    for name, step in perturb.multiple_of.items():
        key = _key("multiple_of", name)
        if name not in {*perturb.amounts, *perturb.uniform}:
            raise MistakeError(key, f"{name} is not moved; give it a C, or leave it out")
        if small := [value for value in values(name, key) if is_number(value) and 0 < abs(value) < step]:
            raise MistakeError(key, f"{show(step)} is more than {name}, {show(small[0])}; use a smaller step")
    for name, weights in perturb.choices.items():
        if name in factor_of:
            why = f"the factor {factor_of[name]} sets it; leave one of the two out"
            raise MistakeError(_key(name), why)
        of_one = name.startswith("parameters.")
        _check_choices(name, weights, values(name, _key(name), numbers=False) if of_one else None)
    if perturb.placement and "pinning" not in perturb.choices:
        _check_placement([settings["pinning"] for settings in conditions])


def _key(name: str, *inside: str) -> tuple[str, ...]:
    return ("perturb", *name.split("."), *inside)


def _check_choices(name: str, weights: Iterable[str], parameters: Sequence[Any] | None) -> None:
    """Check values that may be drawn for a setting, or for a parameter that has these values."""
    numeric = parameters is not None and any(map(is_number, parameters))
    for value in weights:
        if numeric and not _NUMBER.fullmatch(value):
            why = f"{show(value)} is not a number, as the setting is; write numbers: {{ 1 = 1, 2 = 1 }}"
            raise MistakeError(_key(name, value), why)
        if parameters is None:
            try:
                in_full(name, value)
            except MistakeError as mistake:
                raise MistakeError(_key(name, value), mistake.why) from None


def _check_placement(pinnings: Sequence[Any]) -> None:
    if any(isinstance(pinning, list) for pinning in pinnings):
        why = "a condition lists its processors, which then stand still; give it a policy such as compact"
        raise MistakeError(_key("placement"), why)
    if all(pinning == "none" for pinning in pinnings):
        why = "no condition binds its threads to processors; leave it out, or give a pinning"
        raise MistakeError(_key("placement"), why)
