"""The settings that say what the threads of a trial do: mixes, keys, engines, arrivals and roles.

A setting may be written shortly as a word. What a table gives is always the long form, which is that of the
trial protocol.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from assay.experiment.mistakes import MistakeError
from assay.experiment.tables import (
    NAME_PATTERN,
    Name,
    NonEmptyWord,
    Percent,
    PositivePercent,
    Table,
    ValueOrTable,
    explained,
)
from assay.words import listed, nearest, show

OPERATIONS = ("insert", "erase", "find", "range", "size", "snapshot", "iterate")
"""Those that Assay's concept of a map has; subjects may offer others, by their own names."""
LARGEST_KEY_RANGE = 2**40
_LARGEST_UINT32_KEY_RANGE = 2**31 - 1  # zero is not a key, and the 32nd bit is for structures that need one
MOST_THREADS = 4096
_MOST_ROLES = 32
_MOST_DEVIATIONS_OUTSIDE = 30  # beyond, no key has a weight that a double can hold

ThreadCount = Annotated[int, Field(ge=1, le=MOST_THREADS)]


def _describe_further_operations(schema: dict[str, Any]) -> None:
    shares = {"maximum": 100, "minimum": 0, "type": "number"}
    schema.update(additionalProperties=shares, propertyNames={"pattern": NAME_PATTERN})


class MixTable(Table):
    """Percent of each operation; every one that is not named has none. Subjects may offer others by name."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_describe_further_operations)
    __pydantic_extra__: dict[str, Percent]

    insert: Percent = 0
    erase: Percent = 0
    find: Percent = 0
    range: Percent | None = None
    size: Percent | None = None
    snapshot: Percent | None = None
    iterate: Percent | None = None

    @classmethod
    def may_hold(cls, key: str) -> bool:
        """Return whether it is the name of an operation; what subjects offer is known of a machine alone."""
        return re.fullmatch(NAME_PATTERN, key) is not None

    @model_validator(mode="after")
    def _adds_to_100(self) -> "MixTable":
        total = sum(self.given().values())
        if abs(total - 100) > 1e-9:
            names = [name for name, share in self.given().items() if share]
            if not names:
                raise ValueError("no operation has a share; give percentages that add to 100")
            raise ValueError(f"{listed(names)} add to {total:g}; they are percentages and add to 100")
        return self


class _Scattered(Table):
    # Percentages of distributions are of the key range unless they say otherwise.
    order: Literal["ordered", "scrambled"] | None = None
    """Whether what is drawn often lies together at the low keys, or is spread over all by a bijection."""


class _Plain(Table):
    kind: Literal["uniform", "sequential"]


class _Latest(Table):
    kind: Literal["latest"]
    exponent: Annotated[float, Field(ge=0)]


class _Zipf(_Scattered):
    kind: Literal["zipf"]
    exponent: Annotated[float, Field(ge=0)]


class _HotSet(_Scattered):
    kind: Literal["hot_set"]
    operations_percent: PositivePercent
    """Percent of the operations."""
    keys_percent: PositivePercent


class _Binomial(_Scattered):
    kind: Literal["binomial"]
    p: Annotated[float, Field(ge=0, le=1)]


class _Exponential(_Scattered):
    kind: Literal["exponential"]
    mean_percent: Annotated[float, Field(gt=0)]


class _Normal(_Scattered):
    kind: Literal["normal"]
    mean_percent: float
    deviation_percent: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _is_near_the_keys(self) -> "_Normal":
        outside = max(0.0, -self.mean_percent, self.mean_percent - 100)
        if outside > _MOST_DEVIATIONS_OUTSIDE * self.deviation_percent:
            raise ValueError(
                "mean_percent of a normal distribution is 0 to 100, or at most "
                f"{_MOST_DEVIATIONS_OUTSIDE} times the deviation_percent outside, not {self.mean_percent:g}"
            )
        return self


class _Empirical(_Scattered):
    kind: Literal["empirical"]
    file: NonEmptyWord
    """A text of weights, one number a line; blank lines and lines that begin with # are skipped."""


_ByKind = Annotated[
    _Plain | _Zipf | _HotSet | _Binomial | _Exponential | _Normal | _Latest | _Empirical,
    Field(discriminator="kind"),
]
_DISTRIBUTIONS: dict[str, type[Table]] = {
    kind: model
    for model in get_args(get_args(_ByKind)[0])
    for kind in get_args(model.model_fields["kind"].annotation)
}


def _distribution(value: Any) -> Any:
    if isinstance(value, dict | Table):
        return value
    if not (isinstance(value, str) and value in _DISTRIBUTIONS):
        raise ValueError(f"{show(value)} is not a distribution; {nearest(value, list(_DISTRIBUTIONS))}")
    parameters = [name for name, field in _DISTRIBUTIONS[value].model_fields.items() if field.is_required()]
    if parameters != ["kind"]:
        rest = ", ".join(f"{name} = ..." for name in parameters if name != "kind")
        raise ValueError(f'needs more than a name; write it as a table: {{ kind = "{value}", {rest} }}')
    return {"kind": value}


Distribution = Annotated[
    _ByKind,
    BeforeValidator(_distribution, json_schema_input_type=Literal["uniform", "sequential"] | _ByKind),
]


class EngineSetting(Table):
    """What draws the random numbers of operations; xoshiro256pp where nothing says."""

    name: Name
    array: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Each thread draws this many numbers beforehand and uses them over and over."""
    reseed_every: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    """Numbers after which the engine gets a new seed from hardware or the operating system."""
    reseed_from: Name | None = None
    """Where new seeds come from: "rdseed", "rdrand", "kernel", or an engine of which each thread has one."""

    @model_validator(mode="after")
    def _reseeded(self) -> "EngineSetting":
        if self.reseed_from is not None and self.reseed_every is None:
            raise ValueError("reseed_from says where new seeds come from; add reseed_every, or leave it out")
        return self


def _engine(value: Any) -> Any:
    if isinstance(value, dict | Table):
        return value
    if not (isinstance(value, str) and re.fullmatch(NAME_PATTERN, value)):
        raise ValueError(
            f'{show(value)} is not an engine; write its name, such as "xoshiro256pp", or a table'
        )
    return {"name": value}


class _Span(Table):
    """Whole numbers from one to another, each as likely."""

    @model_validator(mode="after")
    def _in_order(self) -> "_Span":
        span = self.given()
        if span["from"] > span["to"]:
            raise ValueError(f"from is {span['from']} and to {span['to']}; give the smaller one first")
        return self


_Length = Annotated[int, Field(ge=1, le=LARGEST_KEY_RANGE)]
_KeySize = Annotated[int, Field(ge=8, le=4096)]
_ValueSize = Annotated[int, Field(ge=0, le=4096)]
_Number = Annotated[int, Field(ge=0, lt=LARGEST_KEY_RANGE)]
_Number32 = Annotated[int, Field(ge=0, lt=2**32)]


class _Lengths(_Span):
    from_: Annotated[_Length, Field(alias="from")]
    to: _Length


def _has_nothing_to_do_with_operations(distribution: Table) -> Table:
    kind = distribution.given()["kind"]
    if kind in {"sequential", "latest"}:
        raise ValueError(
            f"{kind} follows the operations of threads, which lengths and values cannot; use another "
            'distribution, such as { kind = "zipf", exponent = 1 }'
        )
    return distribution


class _Drawn(_Span):
    distribution: Annotated[Distribution, AfterValidator(_has_nothing_to_do_with_operations)] | None = None
    """How often each is drawn; each as likely where nothing says."""


class _KeyBytes(_Drawn):
    from_: Annotated[_KeySize, Field(alias="from")]
    to: _KeySize


class _ValueBytes(_Drawn):
    from_: Annotated[_ValueSize, Field(alias="from")]
    to: _ValueSize


class _Values(_Drawn):
    from_: Annotated[_Number, Field(alias="from")]
    to: _Number


class _Values32(_Drawn):
    from_: Annotated[_Number32, Field(alias="from")]
    to: _Number32


class KeyTypeTable(Table):
    """Keys that are byte strings."""

    bytes: ValueOrTable[_KeySize, _KeyBytes]
    prefix: Annotated[int, Field(ge=0, le=4088)] | None = None
    """How many of their first bytes are the same in all keys; the shortest has 8 more at least."""

    @model_validator(mode="after")
    def _leaves_what_differs(self) -> "KeyTypeTable":
        given = self.given()
        shortest = given["bytes"]["from"] if isinstance(given["bytes"], dict) else given["bytes"]
        if given.get("prefix", 0) > shortest - 8:
            raise ValueError(
                f"prefix is {given['prefix']}, and the shortest keys have {shortest} bytes: 8 or more must "
                f"follow the prefix. Use {shortest - 8} or less, or longer keys"
            )
        return self


class ValueTypeTable(Table):
    """Values that are byte strings, or numbers that are drawn."""

    bytes: ValueOrTable[_ValueSize, _ValueBytes] | None = None
    """How long they are: a number of bytes, or one drawn for each."""
    uint64: _Values | None = None
    """Which they are, from one to another."""
    uint32: _Values32 | None = None

    @model_validator(mode="after")
    def _is_of_one_type(self) -> "ValueTypeTable":
        if len(self.given()) != 1:
            raise ValueError("give one of bytes, uint64 and uint32")
        return self


_LengthOrAll = Annotated[
    Literal["all"] | _Length,
    explained('{value} is not a length; write a number of keys, "all", or a table {{ from = 1, to = 100 }}'),
]


class RangeTable(Table):
    """What a range query spans, and what is done with the elements that it meets."""

    length: ValueOrTable[_LengthOrAll, _Lengths] = 100
    """Neighbouring keys of the key space: a number, one drawn uniformly, or all."""
    fold: Literal["count", "sum"] | None = None
    """count where nothing says."""


class ArrivalsTable(Table):
    """When operations begin, whether or not earlier ones have ended."""

    rate: Annotated[float, Field(gt=0, le=1e12)]
    """Operations a second of all threads of the role together."""
    spacing: Literal["poisson", "even"] = "poisson"
    """poisson: each independent of the others. even: at equal distances, by turns of the threads."""


_SizeOrZero = Annotated[int, Field(ge=0, le=LARGEST_KEY_RANGE)]
_PrefillMethod = Literal["updates", "inserts", "sorted", "none"]
_PhaseKind = Literal["load", "grow", "drain"]


class PrefillTable(Table):
    """What the subject holds when measuring begins, and how it comes to that."""

    method: _PrefillMethod | None = None
    """updates where nothing says: random inserts and erases, to a steady state."""
    size: _SizeOrZero | None = None
    """Keys, or entries; those that the mix leaves where nothing says."""
    percent: Percent | None = None
    """The same as a share of the key range."""
    threads: ThreadCount | None = None
    """How many of them fill it, the first ones; all where nothing says."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "PrefillTable":
        _check_one_size(self.size, self.percent)
        if self.method == "none" and len(self.given()) > 1:
            raise ValueError('fills nothing with the method "none"; leave out what else it says')
        return self


class PhaseTable(Table):
    """A fixed amount of work that is measured in place of a mix and a time."""

    kind: _PhaseKind
    """load: insert keys into an empty map; grow: insert keys that it does not hold; drain: erase all."""
    size: Annotated[int, Field(ge=1, le=LARGEST_KEY_RANGE)] | None = None
    """Keys that are inserted; all that there are where nothing says."""
    percent: PositivePercent | None = None
    """The same as a share of the key range."""
    order: Literal["random", "sorted"] | None = None
    """In which keys are inserted; random where nothing says."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "PhaseTable":
        _check_one_size(self.size, self.percent)
        if self.kind == "drain" and (self.size is not None or self.percent is not None):
            raise ValueError("drains all that is held; leave out size and percent")
        return self


def _check_one_size(size: int | None, percent: float | None) -> None:
    if size is not None and percent is not None:
        raise ValueError("has both size and percent; give one of them")


def _prefill(value: Any) -> Any:
    if isinstance(value, dict | Table):
        return value
    if type(value) is int:
        return {"size": value}
    if value in get_args(_PrefillMethod):
        return {"method": value}
    raise ValueError(
        f"{show(value)} is not a prefill; write a number of keys, one of {listed(get_args(_PrefillMethod))},"
        ' or a table { percent = 50, method = "inserts" }'
    )


def _phase(value: Any) -> Any:
    if isinstance(value, dict | Table):
        return value
    if value in get_args(_PhaseKind):
        return {"kind": value}
    raise ValueError(
        f"{show(value)} is not a phase; write one of {listed(get_args(_PhaseKind))},"
        ' or a table { kind = "load", size = 1_000 }'
    )


_NumberType = Literal["uint64", "uint32"]
Prefill = Annotated[
    PrefillTable,
    BeforeValidator(_prefill, json_schema_input_type=_PrefillMethod | _SizeOrZero | PrefillTable),
]
Phase = Annotated[PhaseTable, BeforeValidator(_phase, json_schema_input_type=_PhaseKind | PhaseTable)]
Engine = Annotated[EngineSetting, BeforeValidator(_engine, json_schema_input_type=Name | EngineSetting)]
KeyType = ValueOrTable[_NumberType, KeyTypeTable]
ValueType = ValueOrTable[_NumberType, ValueTypeTable]
Latency = Annotated[
    Literal["none", "all"] | Annotated[int, Field(ge=2, le=10**9)],
    explained('{value} is not a sampling; write "none", "all", or 64 for one operation in 64'),
]


class RoleTable(Table):
    """Threads that do work of their own."""

    name: Annotated[Name, Field(max_length=32)]
    threads: ThreadCount | None = None
    mix: MixTable | None = None
    distribution: Distribution | None = None
    range: RangeTable | None = None
    arrivals: ArrivalsTable | None = None


def files_of(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the distributions in settings that name a file, each with the keys that lead to it."""
    places: list[tuple[tuple[str | int, ...], Any]] = [((), settings)]
    places += [(("roles", number), role) for number, role in enumerate(settings.get("roles", ()))]
    for setting in ("key_type", "value_type"):
        if isinstance(settings.get(setting), dict):
            places += [((setting, kind), drawn) for kind, drawn in settings[setting].items()]
    for at, table in places:
        distribution = table.get("distribution", {}) if isinstance(table, Mapping) else {}
        if "file" in distribution:
            yield (*at, "distribution"), distribution


def largest_key_range(settings: Mapping[str, Any]) -> int:
    """Return how many keys there are of the type that settings give them."""
    return _LARGEST_UINT32_KEY_RANGE if settings.get("key_type") == "uint32" else LARGEST_KEY_RANGE


def longest(type_of_data: Any) -> int:
    """Return how many bytes a key or value of a type has at most; 0 for numbers, which need no copying."""
    size = type_of_data.get("bytes", 0) if isinstance(type_of_data, dict) else 0
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


def with_threads(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial, with the number of its threads and of each role's threads.

    A role that leaves `threads` out has those that the others leave of the setting `threads`. Where each
    names its own, the setting follows from them. Without roles and the setting there is one thread.

    Raises:
        MistakeError: they do not fit together; its key is the number of a role, or empty if all are at fault.
    """
    if "roles" not in settings:
        return {"threads": 1, **settings}
    total = settings.get("threads")
    roles = [dict(role) for role in settings["roles"]]
    taken = sum(role.get("threads", 0) for role in roles)
    rest = next((number for number, role in enumerate(roles) if "threads" not in role), None)
    if rest is None:
        if total not in (None, taken):
            raise MistakeError(
                (),
                f"the roles have {taken} threads and the setting threads is {total}; remove that setting, or "
                "threads of the role that is to have what the others leave",
            )
        return {**settings, "threads": taken, "roles": roles}
    if total is None:
        raise MistakeError(
            (rest,),
            f"the role {roles[rest]['name']} has no threads; give it threads, or set the trial's to more "
            "than the other roles have",
        )
    if total <= taken:
        raise MistakeError(
            (rest,),
            f"the role {roles[rest]['name']} has no threads: the others have {taken} of {total}; raise "
            "threads, or give the others fewer",
        )
    roles[rest]["threads"] = total - taken
    return {**settings, "roles": roles}


def mixes_of(settings: Mapping[str, Any]) -> list[Mapping[str, float]]:
    """Return the mix of each role, or the one that all threads have; that of a phase is one operation."""
    if "phase" in settings:
        return [{"erase" if settings["phase"]["kind"] == "drain" else "insert": 100}]
    mix = settings.get("mix", {})
    return [role.get("mix", mix) for role in settings.get("roles", ({},))]
