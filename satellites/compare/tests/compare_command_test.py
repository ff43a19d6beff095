"""`assay store compare` as a user types it."""

from pathlib import Path

import pytest

from conftest import assay_in, small_experiment, verdicts_of_all_groups


@pytest.fixture(scope="module")
def campaigns(constant_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns")
    (folder / "twice.toml").write_text(small_experiment("twice", blocks=6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_PROGRAMS", str(constant_programs))
        for _ in range(2):
            assay_in(folder)("run", "twice.toml", "--no-page")
    return folder


def test_campaigns_conditions_and_stores_can_be_compared(campaigns: Path) -> None:
    assay = assay_in(campaigns)
    printed = assay("store", "compare", "1", "2").stdout
    assert "not-interleaved" in printed
    assert printed.count("campaign 2") >= 2
    printed = assay("store", "compare", "subject=noop", "subject=std_map_mutex", "--json").stdout
    assert verdicts_of_all_groups(printed) == ["slower"], printed
    assert "not-interleaved" not in printed
    store = campaigns / "results" / "assay.sqlite"
    assert "@2" in assay("store", "compare", f"{store}@1", f"{store}@2").stdout


def test_campaigns_are_completed(campaigns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ASSAY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "assay store compare 1 2")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert assay_in(campaigns)().stdout.split() == ["2"]


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (["1"], "two or more"),
        (["1", "01"], "the same"),
        (["results/assay.sqlite", "./results/assay.sqlite@2"], "the same"),
        (["sqlite:///results/assay.sqlite", "results/assay.sqlite@2"], "the same"),
        (["subject=noop", "subject=noop"], "the same"),
        (["1", "7"], "campaign 7"),
        (["1", "subject=noop"], "one kind"),
        (["nowhere.sqlite", "results/assay.sqlite"], "nowhere.sqlite"),
    ],
)
def test_what_cannot_be_compared_is_explained(campaigns: Path, sides: list[str], words: str) -> None:
    message = assay_in(campaigns)("store", "compare", *sides, expect=2).stderr
    assert message.startswith("error: ")
    assert words in message
