"""`assay compare` as a user types it."""

from pathlib import Path

import pytest

from conftest import assay_in, small_experiment, verdicts_of_all_groups


@pytest.fixture(scope="module")
def campaigns(steady_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns")
    (folder / "twice.toml").write_text(small_experiment("twice", blocks=6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_PROGRAMS", str(steady_programs))
        for _ in range(2):
            assay_in(folder)("run", "twice.toml", "--no-page")
    return folder


def test_campaigns_conditions_and_stores_can_be_compared(campaigns: Path) -> None:
    assay = assay_in(campaigns)
    said = assay("compare", "1", "2").stdout
    assert "not-interleaved" in said
    assert said.count("campaign 2") >= 2
    printed = assay("compare", "subject=noop", "subject=std_map_mutex", "--json").stdout
    assert verdicts_of_all_groups(printed) == ["slower"]
    assert "not-interleaved" not in printed
    store = campaigns / "results" / "assay.sqlite"
    assert "@2" in assay("compare", f"{store}@1", f"{store}@2").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1"], "two sides or more"),
        (["1", "01"], "campaign 1 and campaign 1 are the same"),
        (["results/assay.sqlite", "./results/assay.sqlite@2"], "are the same"),
        (["subject=noop", "subject=noop"], "are the same"),
        (["1", "7"], "no campaign 7"),
        (["1", "subject=noop"], "sides of one kind"),
        (["nowhere.sqlite", "results/assay.sqlite"], "no store at nowhere.sqlite"),
    ],
)
def test_what_cannot_be_compared_is_explained(campaigns: Path, words: list[str], message: str) -> None:
    assert message in assay_in(campaigns)("compare", *words, expect=2).stderr
