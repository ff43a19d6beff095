from pathlib import Path

import pytest
from tree_sitter import Node

from assay.errors import AssayError
from assay.experiment import lines as module
from assay.experiment import parse
from assay.experiment.lines import Lines

QUICKSTART = Path(__file__).parents[3] / "experiments" / "quickstart.toml"
TEXT = """\
# comment
top = 1
[a]
x = [1, # one
  2,
  { y = 3 }]
b.c = { "d e" = 4 }

[a."f.g"]
z = 5
[[h]]
i = 6
[[h]]
i = 7
"""


def test_every_key_and_element_has_its_line() -> None:
    lines = Lines(TEXT)
    expected = {
        ("top",): 2,
        ("a",): 3,
        ("a", "x"): 4,
        ("a", "x", 0): 4,
        ("a", "x", 1): 5,
        ("a", "x", 2, "y"): 6,
        ("a", "b", "c", "d e"): 7,
        ("a", "f.g"): 9,
        ("a", "f.g", "z"): 10,
        ("h", 0, "i"): 12,
        ("h", 1): 13,
        ("h", 1, "i"): 14,
    }
    assert {path: lines.of(path) for path in expected} == expected


def test_a_missing_key_has_the_line_of_the_table_around_it() -> None:
    lines = Lines(TEXT)
    assert lines.of(("a", "x", 2, "missing")) == 6
    assert lines.of(("a", "missing", "deeper")) == 3
    assert lines.of(("missing",)) == 1


def test_a_long_array_is_read_once_for_each_of_a_few_mistakes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = 'name = "x"\nquestion = "?"\n[comparison]\nalso = [' + "1, " * 10_000 + "]\n"
    read: list[int] = []

    def parts(node: Node) -> list[Node]:
        children = original(node)
        read.append(len(children))
        return children

    original = module._parts
    monkeypatch.setattr(module, "_parts", parts)
    with pytest.raises(AssayError, match=r"x\.toml:4: comparison\.also: 1 ") as caught:
        parse(text, Path("x.toml"))
    assert len(str(caught.value).splitlines()) == 21
    assert sum(read) <= 21 * 10_000


def test_the_lines_of_a_text_without_mistakes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_parser", None)
    parse(QUICKSTART.read_text(), QUICKSTART)
