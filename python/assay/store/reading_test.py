"""JSON that is read from a store."""

import json

from hypothesis import given
from hypothesis import strategies as st

from assay.store.reading import Unfit, from_json


@given(st.integers(0, 700), st.integers(290, 320))
def test_a_number_that_no_double_expresses_is_found_wherever_it_stands(before: int, digits: int) -> None:
    number = int("9" * digits)
    text = json.dumps({"x" * before: "", "number": number})
    assert isinstance(from_json(text), Unfit) == (digits > 308)


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_what_was_written_is_read(text: str, number: float) -> None:
    value = {"text": text, "number": number}
    assert from_json(json.dumps(value)) == value
