import pytest
import typer

from assay.analysis.types import LevelEffect
from assay.cli.options import end
from assay.findings import Finding, Severity


def finding(severity: Severity) -> Finding:
    return Finding(message="?", where=(), evidence={}, remedy="?", severity=severity)


def answer(verdict: str) -> LevelEffect:
    return LevelEffect(
        **dict.fromkeys(LevelEffect.__dataclass_fields__, None) | {"verdict": verdict}  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("named", "severity", "verdict", "fails"),
    [
        ([], "error", "slower", False),
        (None, "error", "slower", False),
        (["slower"], "error", "faster", False),
        (["slower"], "note", "slower", True),
        (["error"], "warning", "slower", False),
        (["error"], "error", "faster", True),
        (["warning"], "note", "slower", False),
        (["warning"], "warning", "faster", True),
        (["warning"], "error", "faster", True),
        (["slower", "error"], "note", "slower", True),
    ],
)
def test_fail_on_ends_with_1_where_what_it_names_is_there(
    named: list[str] | None, severity: Severity, verdict: str, fails: bool
) -> None:
    if fails:
        with pytest.raises(typer.Exit) as ended:
            end(named, [finding(severity)], [answer(verdict)])
        assert ended.value.exit_code == 1
    else:
        end(named, [finding(severity)], [answer(verdict)])
