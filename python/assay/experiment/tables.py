"""What every table of an experiment's TOML file has in common, and the words that its keys share."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, model_validator
from pydantic_core import PydanticCustomError

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Metric = Annotated[str, Field(pattern=NAME_PATTERN, max_length=64)]
Percent = Annotated[float, Field(ge=0, le=100)]


def nearest(word: object, known: Sequence[object]) -> str:
    """Return a hint that names the known word most like the given one, or else all of them."""
    words = [str(each) for each in known]
    close = get_close_matches(str(word), words, n=1)
    if close:
        meant = known[words.index(close[0])]
        # A number is not the string of its digits, which looks the same without quotes.
        return f"did you mean {meant if isinstance(meant, type(word)) else show(meant)}?"
    return f"there are {', '.join(words)}" if words else "there are none"


def show(value: Any) -> str:
    """Write a value much as TOML does, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str) -> str:
    """Return the start of a text that may be long."""
    return text if len(text) <= 60 else f"{text[:60]}..."


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL, which no program can be started with; remove it")
    return text


Word = Annotated[str, AfterValidator(_no_nul)]
NonEmptyWord = Annotated[str, Field(min_length=1), AfterValidator(_no_nul)]


class Table(BaseModel):
    """A TOML table whose values have exactly the types written here and that knows all of its keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that it may hold, as the text writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def given(self) -> dict[str, Any]:
        """Return what the text says, by the keys that it says it with."""
        return self.model_dump(exclude_unset=True, by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: Any) -> Any:
        if isinstance(table, dict):
            for key in table:
                if key not in cls.known_keys():
                    hint = nearest(key, cls.known_keys())
                    raise PydanticCustomError(
                        "unknown_key", "unknown key; {hint}", {"key": key, "hint": hint}
                    )
        return table


def _kind(value: Any) -> str:
    return "[table]" if isinstance(value, dict | Table) else "[value]"


ByKind = Discriminator(_kind)  # so that a mistake in a table is not explained as if it were a value
