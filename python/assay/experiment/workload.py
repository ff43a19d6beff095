"""The settings that say what the threads of a trial do: mixes, keys, engines, arrivals and roles.

A setting may be written shortly as a word. What a table gives is always the long form, which is that of the
trial protocol.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from assay.experiment.tables import NAME_PATTERN, ByKind, Name, NonEmptyWord, Percent, Table
from assay.words import nearest, show

OPERATIONS = ("insert", "erase", "find", "range", "size", "snapshot", "iterate")
LARGEST_KEY_RANGE = 2**40
_LARGEST_UINT32_KEY_RANGE = 2**31 - 1  # zero is no key, and the 32nd bit is for structures that need one
MOST_THREADS = 4096
_MOST_ROLES = 32
_MOST_DEVIATIONS_OUTSIDE = 30  # beyond, no key has a weight that a double can hold

_Share = Annotated[float, Field(gt=0, le=100)]
_Order = Literal["ordered", "scrambled"]
_Kind = Literal[
    "uniform",
    "zipf",
    "hot_set",
    "binomial",
    "exponential",
    "normal",
    "sequential",
    "latest",
    "empirical",
]
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "uniform": (),
    "zipf": ("exponent",),
    "hot_set": ("operations_percent", "keys_percent"),
    "binomial": ("p",),
    "exponential": ("mean_percent",),
    "normal": ("mean_percent", "deviation_percent"),
    "sequential": (),
    "latest": ("exponent",),
    "empirical": ("file",),
}
_IN_ORDER_ONLY = ("uniform", "sequential", "latest")

ThreadCount = Annotated[int, Field(ge=1, le=MOST_THREADS)]


class MixTable(Table):
    """Percent of each operation."""

    insert: Percent
    erase: Percent
    find: Percent
    range: Percent = 0
    size: Percent = 0
    snapshot: Percent = 0
    iterate: Percent = 0

    @model_validator(mode="after")
    def _adds_to_100(self) -> "MixTable":
        given = {
            name: percent for name in OPERATIONS if (percent := getattr(self, name)) or name in OPERATIONS[:3]
        }
        total = sum(given.values())
        if abs(total - 100) > 1e-9:
            *names, last = given
            raise ValueError(
                f"{', '.join(names)} and {last} add to {total:g}; they are percentages and add to 100"
            )
        return self


class DistributionTable(Table):
    """Which keys are drawn how often."""

    kind: _Kind
    exponent: Annotated[float, Field(ge=0)] | None = None
    operations_percent: _Share | None = None
    keys_percent: _Share | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    mean_percent: float | None = None
    deviation_percent: Annotated[float, Field(gt=0)] | None = None
    file: NonEmptyWord | None = None
    order: _Order | None = None

    @model_validator(mode="after")
    def _has_what_its_kind_has(self) -> "DistributionTable":
        parameters = _PARAMETERS[self.kind]
        given = self.model_fields_set - {"kind"}
        lacking = [name for name in parameters if name not in given]
        if lacking:
            raise ValueError(f"a {self.kind} distribution needs {lacking[0]}; add it")
        for name in sorted(given.difference(parameters)):
            if name == "order" and self.kind not in _IN_ORDER_ONLY:
                continue
            raise ValueError(f"a {self.kind} distribution has no {name}; remove it")
        if self.kind == "exponential" and self.mean_percent is not None and self.mean_percent <= 0:
            raise ValueError(
                f"mean_percent of an exponential distribution is above 0, not {self.mean_percent:g}"
            )
        if self.kind == "normal" and self.mean_percent is not None and self.deviation_percent is not None:
            outside = max(0.0, -self.mean_percent, self.mean_percent - 100)
            if outside > _MOST_DEVIATIONS_OUTSIDE * self.deviation_percent:
                raise ValueError(
                    "mean_percent of a normal distribution is 0 to 100, or at most "
                    f"{_MOST_DEVIATIONS_OUTSIDE} times the deviation_percent outside, not "
                    f"{self.mean_percent:g}"
                )
        return self


def _named_distribution(value: Any) -> DistributionTable:
    kinds = get_args(_Kind)
    if value not in kinds:
        hint = nearest(value, kinds) if isinstance(value, str) else f"there are {', '.join(kinds)}"
        raise ValueError(f"{show(value)} is no distribution; {hint}")
    parameters = _PARAMETERS[value]
    if parameters:
        rest = ", ".join(f"{name} = ..." for name in parameters)
        raise ValueError(f'needs {parameters[0]}; write it as a table: {{ kind = "{value}", {rest} }}')
    return DistributionTable(kind=value)


class EngineTable(Table):
    """What draws random numbers."""

    name: Name
    array: Annotated[int, Field(ge=1, le=10**9)] | None = None
    reseed_every: Annotated[int, Field(ge=1, lt=2**53)] | None = None


def _named_engine(value: Any) -> EngineTable:
    if not (isinstance(value, str) and re.fullmatch(NAME_PATTERN, value)):
        raise ValueError(f'{show(value)} is no engine; write its name, such as "xoshiro256pp", or a table')
    return EngineTable(name=value)


class _Span(Table):
    """Whole numbers from one to another, each as likely."""

    @model_validator(mode="after")
    def _in_order(self) -> "_Span":
        span = self.given()
        if span["from"] > span["to"]:
            raise ValueError(f"from is {span['from']} and to {span['to']}; give the smaller one first")
        return self


class _Lengths(_Span):
    from_: Annotated[int, Field(alias="from", ge=1, le=LARGEST_KEY_RANGE)]
    to: Annotated[int, Field(ge=1, le=LARGEST_KEY_RANGE)]


class _KeyBytes(_Span):
    from_: Annotated[int, Field(alias="from", ge=8, le=4096)]
    to: Annotated[int, Field(ge=8, le=4096)]


class _ValueBytes(_Span):
    from_: Annotated[int, Field(alias="from", ge=0, le=4096)]
    to: Annotated[int, Field(ge=0, le=4096)]


class KeyTypeTable(Table):
    """Keys that are byte strings."""

    bytes: Annotated[
        Annotated[int, Field(ge=8, le=4096), Tag("[value]")] | Annotated[_KeyBytes, Tag("[table]")], ByKind
    ]


class ValueTypeTable(Table):
    """Values that are byte strings."""

    bytes: Annotated[
        Annotated[int, Field(ge=0, le=4096), Tag("[value]")] | Annotated[_ValueBytes, Tag("[table]")], ByKind
    ]


def _length(value: Any) -> Any:
    if value == "all" or (type(value) is int and 1 <= value <= LARGEST_KEY_RANGE):
        return value
    raise ValueError(
        f'{show(value)} is no length; write a number of keys, "all", or a table {{ from = 1, to = 100 }}'
    )


_LENGTH = {"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1, "maximum": LARGEST_KEY_RANGE}]}


def _with_default(key: str, value: Any) -> BeforeValidator:
    """Give a table a key that it leaves out, so that the request says what holds."""
    return BeforeValidator(lambda table: {key: value} | table if isinstance(table, dict) else table)


class RangeTable(Table):
    """What a range query spans, and what is done with the elements that it meets."""

    model_config = ConfigDict(json_schema_extra={"required": []})

    length: Annotated[
        Annotated[Any, PlainValidator(_length), WithJsonSchema(_LENGTH), Tag("[value]")]
        | Annotated[_Lengths, Tag("[table]")],
        ByKind,
    ]
    fold: Literal["count", "sum"] | None = None


class ArrivalsTable(Table):
    """When operations begin, whether or not earlier ones have ended."""

    model_config = ConfigDict(json_schema_extra={"required": ["rate"]})

    rate: Annotated[float, Field(gt=0, le=1e12)]
    spacing: Literal["poisson", "even"]


def _latency(value: Any) -> Any:
    if value in ("none", "all") or (type(value) is int and 2 <= value <= 10**9):
        return value
    raise ValueError(f'{show(value)} is no sampling; write "none", "all", or 64 for one operation in 64')


_WORDS = {"enum": [kind for kind, parameters in _PARAMETERS.items() if not parameters]}
_ENGINE = {"type": "string", "pattern": NAME_PATTERN}
_LATENCY = {"anyOf": [{"enum": ["none", "all"]}, {"type": "integer", "minimum": 2, "maximum": 10**9}]}
_NumberType = Literal["uint64", "uint32"]
Mix = MixTable
Range = Annotated[RangeTable, _with_default("length", 100)]
Arrivals = Annotated[ArrivalsTable, _with_default("spacing", "poisson")]
Engine = Annotated[
    Annotated[Any, PlainValidator(_named_engine), WithJsonSchema(_ENGINE), Tag("[value]")]
    | Annotated[EngineTable, Tag("[table]")],
    ByKind,
]
Distribution = Annotated[
    Annotated[Any, PlainValidator(_named_distribution), WithJsonSchema(_WORDS), Tag("[value]")]
    | Annotated[DistributionTable, Tag("[table]")],
    ByKind,
]
KeyType = Annotated[Annotated[_NumberType, Tag("[value]")] | Annotated[KeyTypeTable, Tag("[table]")], ByKind]
ValueType = Annotated[
    Annotated[_NumberType, Tag("[value]")] | Annotated[ValueTypeTable, Tag("[table]")], ByKind
]
Latency = Annotated[Any, PlainValidator(_latency), WithJsonSchema(_LATENCY)]


class RoleTable(Table):
    """[[role]]: threads that do work of their own."""

    name: Annotated[Name, Field(max_length=32)]
    threads: ThreadCount | None = None
    mix: MixTable | None = None
    distribution: Distribution | None = None
    range: Range | None = None
    arrivals: Arrivals | None = None


def files_of(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the distributions in settings that name a file, each with the keys that lead to it."""
    roles = enumerate(settings.get("roles", ()))
    for at, table in (((), settings), *((("roles", number), role) for number, role in roles)):
        distribution = table.get("distribution", {})
        if "file" in distribution:
            yield (*at, "distribution"), distribution


def largest_key_range(settings: Mapping[str, Any]) -> int:
    """Return how many keys there are of the type that settings give them."""
    return _LARGEST_UINT32_KEY_RANGE if settings.get("key_type") == "uint32" else LARGEST_KEY_RANGE


def longest(type_of_data: Any) -> int:
    """Return how many bytes a key or value of a type has at most; 0 for numbers, which need no copying."""
    if not isinstance(type_of_data, dict):
        return 0
    size = type_of_data["bytes"]
    return int(size["to"] if isinstance(size, dict) else size)


def _apart(roles: Sequence[RoleTable]) -> Sequence[RoleTable]:
    names = [role.name for role in roles]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two roles are called {twice[0]}; give each a name of its own")
    rest = [role.name for role in roles if role.threads is None]
    if len(rest) > 1:
        raise ValueError(
            f"{rest[0]} and {rest[1]} both leave threads out; only one role can have what the others leave"
        )
    return roles


Roles = Annotated[list[RoleTable], Field(min_length=1, max_length=_MOST_ROLES), AfterValidator(_apart)]
