"""What every table of an experiment's TOML file has in common, and the words that its keys share."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from assay.words import nearest, show

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Metric = Annotated[str, Field(pattern=NAME_PATTERN, max_length=64)]
Percent = Annotated[float, Field(ge=0, le=100)]
PositivePercent = Annotated[float, Field(gt=0, le=100)]
PositiveEffect = Annotated[float, Field(gt=0, allow_inf_nan=False)]


TextOrPath = TypeVar("TextOrPath", str, Path)


def _without_nul(text: TextOrPath) -> TextOrPath:
    if "\0" in str(text):
        raise ValueError("holds a NUL, which no program can be started with; remove it")
    return text


WithoutNul = AfterValidator(_without_nul)
Word = Annotated[str, WithoutNul]
NonEmptyWord = Annotated[str, Field(min_length=1), WithoutNul]


class Part(BaseModel):
    """A part of a resolved experiment: it does not change, and its JSON gives the same part again."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )


class Table(Part):
    """A TOML table whose values have exactly the types written here and that knows all of its keys."""

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that it may hold, as the text writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def may_hold(cls, key: str) -> bool:
        """Return whether it may hold a key; of a table that holds others than those known, override this."""
        return key in cls.known_keys()

    def given(self) -> dict[str, Any]:
        """Return what the text says and the defaults of what it leaves out, by the keys of the text."""
        return self.model_dump(exclude_none=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: Any) -> Any:
        if isinstance(table, dict):
            for key in table:
                if not cls.may_hold(key):
                    hint = nearest(key, cls.known_keys())
                    raise PydanticCustomError(
                        "unknown_key", "unknown key; {hint}", {"key": key, "hint": hint}
                    )
        return table


def misplaced(key: str, why: str) -> PydanticCustomError:
    """Return the error for a key of a table that does not belong beside the others."""
    return PydanticCustomError("misplaced_key", "{why}", {"key": key, "why": why})


OneOrMore = BeforeValidator(lambda value: tuple(value) if isinstance(value, list | tuple) else (value,))
Listed = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
"""TOML and JSON have lists; what is kept does not change."""


def explained(why: str) -> WrapValidator:
    """Return a validator that explains every mistake in a value by one sentence, which may hold `{value}`."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(why.format(value=show(value))) from None

    return WrapValidator(validate)


def _kind(value: Any) -> str:
    return "[table]" if isinstance(value, dict | Table) else "[value]"


Value = TypeVar("Value")
TableOf = TypeVar("TableOf")
ValueOrTable = Annotated[
    Annotated[Value, Tag("[value]")] | Annotated[TableOf, Tag("[table]")], Discriminator(_kind)
]
"""Either; a mistake in a table is not explained as if it were a value."""
