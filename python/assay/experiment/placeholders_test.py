import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment import placeholders

VALUES = placeholders.values_of(
    {
        "threads": 2,
        "pinning": [0, 1],
        "mix": {"find": 100},
        "parameters": {"level": "best of {threads}", "rate": 0.5},
    },
    seed=7,
)


@pytest.mark.parametrize(
    ("argument", "filled"),
    [
        ("-n", "-n"),
        ("--threads={threads}", "--threads=2"),
        ("{seed}{seed}", "77"),
        ("{pinning}", "0,1"),
        ("{mix}", '{"find": 100}'),
        ("{rate}", "0.5"),
        ("{level}", "best of {threads}"),
        ("{{print $1}", "{print $1}"),
        ("{{{threads}}", "{2}"),
        ("}", "}"),
    ],
)
def test_a_placeholder_gives_way_to_its_value_and_nothing_else_changes(argument: str, filled: str) -> None:
    assert placeholders.fill(argument, VALUES) == filled


@given(st.text())
def test_a_text_with_its_braces_doubled_means_itself(text: str) -> None:
    argument = text.replace("{", "{{")
    assert list(placeholders.names(argument)) == []
    assert placeholders.fill(argument, {}) == text


@pytest.mark.parametrize("argument", ["{", "a{b", "{a}{", "{a{b}"])
def test_a_brace_that_begins_nothing_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=r"brace .*\{\{"):
        list(placeholders.names(argument))
