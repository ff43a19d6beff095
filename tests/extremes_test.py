"""Programs whose metrics lie near the limits of a double, from a file to every command that reads them."""

import json
import re
import sys
from pathlib import Path

import pytest

from conftest import Assay, assay_in, has_command, run_assay

VALUES = [
    [1e308, -1.7e308, 1.7e308],
    [5e-324, 1e308, -5e-324],
    [2**53 + 1, 2**53, 2**70],
    [0, 0, 0],
    [10**400, 1, 1],
]
"""Number of threads, from 1 -> what trials report in turn."""
CHARTS = "".join(
    f'[[chart]]\nkind = "{kind}"\n{axes}\n'
    for kind, axes in (
        ("lines", 'x = "threads"\ny = "also"\ncolor = "subject"'),
        ("lines", 'x = "also"\ny = "throughput"\ncolor = "subject"'),
        ("bars", 'x = "subject"\ny = "also"\nfacet = "threads"'),
        ("cumulative", 'x = "also"\nfacet = "threads"'),
        ("box", 'x = "subject"\ny = "also"\nfacet = "threads"'),
    )
)
PROGRAM = f"""#!{sys.executable} -IS
import json, sys
request = json.load(sys.stdin)
value = {VALUES!r}[request["threads"] - 1][request["seed"] % 3]
metrics = {{"throughput": value, "also": value}}
print(json.dumps({{"protocol": 1, "status": "valid", "metrics": metrics}}))
"""
EXPERIMENT = f"""
name = "NAME"
question = "Do numbers near the limits end anything?"
[factors]
subject = ["a", "b"]
threads = THREADS
[trial]
key_range = 100
duration_ms = 1
mix = {{ insert = 10, erase = 10, find = 80 }}
[design]
blocks = BLOCKS
repeat = 0
seed = 3
[comparison]
metric = "throughput"
also = {{ also = "lower" }}
factor = "subject"
baseline = "a"
ACROSS
SMALLEST
[subjects.a]
program = "./program"
[subjects.b]
program = "./program"
{CHARTS}"""
CAMPAIGNS = {
    "limits": ("[1, 2, 3, 4, 5]", 6, "smallest_effect_percent = 5"),
    "zeros": ("[4]", 2, "smallest_effect_percent = 1e-14"),
}


@pytest.fixture(scope="module")
def folder(steady_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose store has a campaign of each of CAMPAIGNS, in their order."""
    folder = tmp_path_factory.mktemp("extremes")
    (folder / "program").write_text(PROGRAM)
    (folder / "program").chmod(0o755)
    for name, (threads, blocks, smallest) in CAMPAIGNS.items():
        code = 1 if name == "limits" else 0
        text = EXPERIMENT.replace("SMALLEST", smallest)
        text = text.replace("NAME", name).replace("THREADS", threads).replace("BLOCKS", str(blocks))
        text = text.replace("ACROSS", 'across = ["threads"]' if "," in threads else "")
        (folder / f"{name}.toml").write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ASSAY_PROGRAMS", str(steady_programs))
            assay_in(folder)("run", f"{name}.toml", "--anyway", expect=code)
    return folder


@pytest.fixture
def assay(folder: Path) -> Assay:
    return assay_in(folder)


def refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize(("campaign", "name"), [*enumerate(CAMPAIGNS, 1)])
def test_every_command_ends_and_what_it_gives_programs_is_json(
    assay: Assay, folder: Path, campaign: int, name: str
) -> None:
    commands: list[tuple[str | Path, ...]] = [
        ("report", "--campaign", str(campaign)),
        ("report", "--audit", "--campaign", str(campaign)),
        ("plan", f"{name}.toml"),
        ("store", "query", "select throughput, also from trials", "--campaign", str(campaign)),
    ]
    if has_command("compare"):
        commands.append(("store", "compare", str(campaign), str(3 - campaign)))
    for words in commands:
        for completed in (run_assay(folder, *words), run_assay(folder, *words, "--json")):
            # An audit of such numbers has errors to show; of nothing but zeros there is no forecast.
            unknown = name != "limits" and words[0] == "plan" and "forecast" in completed.stderr
            assert completed.returncode < 2 or unknown, (words, completed.stderr)
            assert not re.search(r"\b(nan|inf|Infinity|Traceback)\b", completed.stdout + completed.stderr), (
                words
            )
        assert unknown or json.loads(completed.stdout, parse_constant=refuse)
    page = (folder / f"results/assay-report/campaign-{campaign}/index.html").read_text()
    for part in ("specifications", "data"):
        text = re.search(f'id="{part}">(.*?)</script>', page, re.DOTALL)
        assert text
        json.loads(text[1], parse_constant=refuse)


@pytest.mark.skipif(not has_command("export"), reason="no satellite exports")
@pytest.mark.parametrize(("campaign", "name"), [*enumerate(CAMPAIGNS, 1)])
def test_what_a_format_can_hold_is_exported(assay: Assay, campaign: int, name: str) -> None:
    export = ("store", "export", "--campaign", str(campaign), "--output")
    for form in ("csv", "parquet", "svg"):
        assert assay(*export, f"{form}-{campaign}", form).stdout
    for form in ("google-benchmark", "hyperfine"):  # zeros are no times, nor are those of the smallest rates
        refused = assay(*export, form, form, expect=2).stderr
        assert ("no tool reads others" if name == "limits" else "no valid trial") in refused


def test_what_cannot_be_computed_is_said(assay: Assay, folder: Path) -> None:
    printed = " ".join(assay("report", "--campaign", "1", "--verbose").stdout.split())
    assert "a number in it is larger than a double can be" in printed
    comparisons = json.loads(assay("report", "--campaign", "1", "--json").stdout)["analysis"]["comparisons"]
    zeros = next(comparison for comparison in comparisons if comparison["context"] == {"threads": 4})
    assert zeros["ratio"] is None
    assert zeros["reason"]
    page = (folder / "results/assay-report/campaign-1/index.html").read_text()
    assert "Not drawn" in page
