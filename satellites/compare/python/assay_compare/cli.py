"""`assay store compare`: conditions, campaigns or stores against each other."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completion import complete_campaigns
from assay.cli.options import (
    DEFAULT_STORE,
    CampaignOption,
    FailOnOption,
    JsonOption,
    StoreOption,
    end,
    print_json,
    print_table,
)
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.store import Store, StoreName
    from assay_compare.changes import Changes
    from assay_compare.compare import Compared
    from assay_compare.sides import Side


def _two_or_more(sides: list[str]) -> list[str]:
    if len(sides) < 2:
        raise typer.BadParameter("name two or more; the first is the baseline")
    return sides


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(metavar="SIDE", hidden=True, callback=_two_or_more, autocompletion=complete_campaigns),
    ],
    campaign: CampaignOption = None,
    fail_on: FailOnOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare conditions, campaigns or stores with each other.

    Give two SIDEs or more, the first is the baseline: numbers of campaigns; files of stores, FILE or
    FILE@CAMPAIGN; or conditions, FACTOR=LEVEL,... of one campaign.

    It is for what did not run as one comparison. Conditions of one campaign are compared block by block.
    Campaigns and stores are compared in each condition that they have in common; they did not run side by
    side, and a finding says what that means. It also says which of their own verdicts differ. The exit code
    is 1 where --fail-on asks for it.

    Example: `assay store compare 3 5`, `assay store compare before.sqlite after.sqlite`,
    `assay store compare subject=std_map_mutex,threads=1 subject=std_map_mutex,threads=2`
    """
    from assay_compare.compare import compare as compare_sides

    kinds = {_kind(side) for side in sides}
    if len(kinds) > 1:
        raise AssayError(f"name sides of one kind; these are {' and '.join(sorted(kinds))}")
    with ExitStack() as opened:
        compared = compare_sides(_read(sides, kinds.pop(), campaign, store, opened))
    if as_json:
        print_json(vars(compared))
    else:
        _print(compared)
    end(fail_on, compared.findings, compared.comparisons)


def _kind(side: str) -> str:
    if side.isdecimal():
        return "campaigns"
    return "conditions" if "=" in side and not Path(side).exists() else "stores"


def _read(
    names: list[str], kind: str, campaign: int | None, store: "StoreName", opened: ExitStack
) -> "list[Side]":
    from assay.store import Store
    from assay_compare.sides import campaign_side, condition_side

    def of(path: "StoreName | str") -> "Store":
        return opened.enter_context(Store.open(path, create=False))

    if kind == "conditions":
        whole = campaign_side(of(store), campaign, "")
        return [condition_side(whole, name) for name in names]
    if campaign is not None:
        raise AssayError("--campaign is for conditions; name a campaign of a store as FILE@CAMPAIGN")
    if kind == "campaigns":
        held = of(store)
        return [campaign_side(held, int(name), f"campaign {int(name)}") for name in names]
    sides = []
    for name in names:
        file, _, number = name.rpartition("@")
        if not (file and number.isdecimal()):
            file, number = name, ""
        sides.append(campaign_side(of(file), int(number) if number else None, name))
    return sides


def _print(compared: "Compared") -> None:
    from rich.console import Console

    from assay.report import words
    from assay.report.answers import answer_row
    from assay.report.terminal import print_finding
    from assay.words import counted, percent

    console = Console()
    for finding in compared.findings:
        print_finding(finding, console)
    baseline = compared.comparisons[0].baseline
    for changes in compared.changes:
        _print_changes(changes, compared, baseline)
    typer.echo(
        f"{compared.metric} against {baseline}, {compared.better} is better, "
        f"equivalent within {words.effect(compared)}, "
        f"intervals of {percent(compared.confidence)} {words.together(compared.correction)}\n"
    )
    rows = []
    for comparison in compared.comparisons:
        row = answer_row(comparison, compared, compared.unit)
        dropped = [
            f"{counted(count, 'block')} without a pair: {reason}"
            for reason, count in comparison.dropped.items()
        ]
        note = "; ".join(filter(None, [comparison.reason, row.zeros, *dropped]))
        rows.append([row.context or "the two named", row.level, *row.exact, row.pairs, row.word, note])
    print_table(["condition", "of", "ratio", "interval", "pairs", "verdict", "note"], rows)


def _print_changes(changes: "Changes", compared: "Compared", first: object) -> None:
    """Print which verdicts differ, and where one says faster and the other slower."""
    from assay.analysis.verdicts import verdict_word
    from assay.words import condition_name, counted, ratio

    sides = f"of {first} and {changes.side}"
    if not changes.common:
        typer.echo(f"The verdicts {sides}: no comparison in common.\n")
        return
    turned = sum(change.reversed for change in changes.changed)
    typer.echo(
        f"The verdicts {sides}: {len(changes.changed) or 'none'} of {counted(changes.common, 'verdict')}"
        f" changed{f', {turned} of them to the opposite' * bool(turned)}."
    )
    for change in changes.changed:
        before, after = (
            f"{verdict_word(verdict, compared.metric, compared.unit)} ({ratio(value)})"
            for verdict, value in ((change.before, change.ratio_before), (change.after, change.ratio_after))
        )
        over = f", over {' and '.join(change.across)}" if change.across else ""
        typer.echo(f"  {condition_name(change.condition)}{over}:\n    {before} -> {after}")
    typer.echo("")
