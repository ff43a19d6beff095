"""The shape of an experiment's TOML file: which keys there are, and what each may hold.

What spans several keys, such as a baseline that is no level, is checked in `load`.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
Policy = Literal["none", "compact", "scatter", "cores_first"]
Percent = Annotated[float, Field(ge=0, le=100)]


def nearest(word: object, known: Sequence[object]) -> str:
    """Return a hint that names the known word most like the given one, or else all of them."""
    words = [str(each) for each in known]
    close = get_close_matches(str(word), words, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(words)}" if words else "there are none"


def _pinning(value: Any) -> Any:
    policies = get_args(Policy)
    cpus = isinstance(value, list) and value and all(type(cpu) is int and 0 <= cpu < 2**16 for cpu in value)
    if cpus or value in policies:
        return value
    raise ValueError(f"use one of {', '.join(policies)}, or a list of processor numbers such as [0, 1]")


def _adds_to_100(mix: "Mix") -> "Mix":
    total = mix.insert + mix.erase + mix.find
    if abs(total - 100) > 1e-9:
        raise ValueError(f"insert, erase and find add to {total:g}; they are percentages and add to 100")
    return mix


class Table(BaseModel):
    """A TOML table whose values have exactly the types written here and that knows all of its keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: Any) -> Any:
        if isinstance(table, dict):
            for key in table:
                if key not in cls.model_fields:
                    hint = nearest(key, list(cls.model_fields))
                    raise PydanticCustomError(
                        "unknown_key", "unknown key; {hint}", {"key": key, "hint": hint}
                    )
        return table


class Mix(Table):
    """Percent of each operation."""

    insert: Percent
    erase: Percent
    find: Percent


class Settings(Table):
    """Trial settings: any of them, fixed in [trial] or changed by the level of a factor."""

    subject: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    pinning: Annotated[Any, PlainValidator(_pinning)] = None
    key_range: Annotated[int, Field(ge=2, le=2**40)] | None = None
    keys: Literal["dense", "sparse"] | None = None
    mix: Annotated[Mix, AfterValidator(_adds_to_100)] | None = None
    duration_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = None
    interval_ms: Annotated[int, Field(ge=1, le=60_000)] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    memory_limit_mb: Annotated[int, Field(ge=1, le=2**32)] | None = None

    def given(self) -> dict[str, Any]:
        """Return the settings that the table names."""
        return self.model_dump(exclude_unset=True)


class DesignTable(Table):
    """[design]."""

    blocks: Annotated[int, Field(ge=1, le=100_000)]
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    exclude: list[dict[str, Any]] = []


class PerturbTable(Table):
    """[perturb]."""

    key_range: Annotated[float, Field(ge=0, le=50)] = 2


class ComparisonTable(Table):
    """[comparison]."""

    metric: Annotated[str, Field(pattern=NAME_PATTERN, max_length=64)]
    factor: str
    baseline: Any
    smallest_effect_percent: Annotated[float, Field(gt=0, le=100)]
    better: Literal["higher", "lower"] | None = None


class SubjectTable(Table):
    """[subjects.NAME]."""

    program: Annotated[str, Field(min_length=1)]


class Document(Table):
    """The whole file."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=64)]
    question: Annotated[str, Field(min_length=1)]
    factors: dict[str, Any]
    trial: Settings = Settings()
    design: DesignTable
    perturb: PerturbTable = PerturbTable()
    comparison: ComparisonTable
    subjects: dict[Annotated[str, Field(pattern=NAME_PATTERN)], SubjectTable] = {}
