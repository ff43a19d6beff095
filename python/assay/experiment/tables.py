"""What every table of an experiment's TOML file has in common, and the words that its keys share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetPydanticSchema,
    ModelWrapValidatorHandler,
    Tag,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from assay.words import listed, nearest, show

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


FOLLOWS: Any = None
"""The default of a key whose value follows from the rest of the file, once that is read."""
Resolved = SkipJsonSchema()  # type: ignore[type-arg]
"""Marks a field that no file has, and the resolved experiment does."""


def read_as(form: Any) -> GetPydanticSchema:
    """Return what has a value read in a form that a file may write it in, until the file is resolved."""
    return GetPydanticSchema(lambda _, handler: handler(form))


def in_file(form: Any) -> WrapValidator:
    """Return what has a value read in a form, and left so, while a file is read."""
    adapter = TypeAdapter[Any](form)

    def validate(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        return adapter.validate_python(value, strict=True) if info.context else handler(value)

    return WrapValidator(validate, json_schema_input_type=form)


class Table(BaseModel):
    """A table of an experiment's file, whose values have exactly the types written here, or a part of one.

    It does not change, and its JSON gives the same part again.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def altered(self, **values: Any) -> Self:
        """Return the same part with other values, which are validated; a dict changes a part within it."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        for name, value in values.items():
            part = getattr(self, name)
            given[name] = (
                part.altered(**value) if isinstance(part, Table) and isinstance(value, dict) else value
            )
        return self.model_validate(
            {type(self).model_fields[name].alias or name: given[name] for name in given}
        )

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that it may hold, as the text writes them."""
        return [
            field.alias or name for name, field in cls.model_fields.items() if Resolved not in field.metadata
        ]

    @classmethod
    def may_hold(cls, key: str) -> bool:
        """Return whether it may hold a key; of a table that holds others than those known, override this."""
        return key in cls.known_keys()

    def given(self) -> dict[str, Any]:
        """Return what the text says and the defaults of what it leaves out, by the keys of the text."""
        return self.model_dump(exclude_none=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: Any, info: ValidationInfo) -> Any:
        if isinstance(table, dict) and info.context:  # of a file
            for key in table:
                if not cls.may_hold(key):
                    hint = nearest(key, cls.known_keys())
                    raise PydanticCustomError(
                        "unknown_key", "unknown key; {hint}", {"key": key, "hint": hint}
                    )
        return table

    @model_validator(mode="wrap")
    @classmethod
    def _explain_tables_in_place_of_values(cls, table: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(table)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                key, *rest = details["loc"] or ("",)
                wrong_kind = details["type"].endswith(("_type", "literal_error"))
                if wrong_kind and not rest and key in cls.model_fields and isinstance(details["input"], dict):
                    raise _not_a_table(str(key), details["input"], cls) from None
            raise


def _not_a_table(key: str, given: Mapping[str, Any], model: type[Table]) -> PydanticCustomError:
    """Return the error for a table in place of a single value: it says where the keys of the table belong."""
    known = [name for name in given if name != key and model.may_hold(name)]
    unknown = [name for name in given if name not in known]
    meaning = " ".join((model.model_fields[key].description or "").split()).rstrip(".")
    advice = (
        [f"write {listed([f'{name} = {show(given[name])}' for name in known])} beside it"] if known else []
    )
    if unknown:
        advice.append(f"remove {listed([*map(show, unknown)])}")
    why = "; ".join([f"takes a single value{f' ({meaning})' if meaning else ''}, not a table", *advice])
    return misplaced(key, why)


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
