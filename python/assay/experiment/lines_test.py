from assay.experiment.lines import Lines

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
