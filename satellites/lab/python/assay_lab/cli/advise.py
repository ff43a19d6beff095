"""`assay lab advise`: which guidelines for transactional memory a program breaks."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.completion import complete_campaigns
from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, print_json, seconds, whole_option
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.runner.process import StopSignals
    from assay.store import StoreName
    from assay_lab.advice import CampaignAdvice, EmulationSettings, ProgramAdvice
    from assay_lab.advice.types import Observed

_MOST = 65536


def advise(
    command: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM [ARGS]...", hidden=True)] = None,
    *,
    sets: Annotated[int, whole_option("Of the cache: sets.", 1, _MOST)] = 64,
    ways: Annotated[int, whole_option("Lines written that a set keeps.", 1, _MOST)] = 8,
    read_ways: Annotated[int, whole_option("Lines read that a set keeps.", 1, _MOST)] = 128,
    within: Annotated[
        Any,
        typer.Option(
            parser=seconds, metavar="TIME", help="End the program, or each trial, after this time: 20s, 5m."
        ),
    ] = "5m",
    trial: Annotated[
        int | None, whole_option("Instead of a program: this trial of the store, again with its draws.")
    ] = None,
    campaign: Annotated[
        int | None,
        whole_option(
            "Instead of a program: a trial of each setting of this campaign.",
            autocompletion=complete_campaigns,
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say which guidelines a program's transactions break.

    Each critical section that runs as a transaction is named with function, source line and the addresses
    that matter: lines that threads write and share, falsely or not; the system call, allocation or
    instruction that ends it; how much it touches, how early it writes, and how small it is. Build the program
    with -g. Its options come after its name. It takes long, and no timing of it means anything.

    The exit code is 1 where there is something to say.

    Example: `assay lab advise ./my_test --threads 2`, `assay lab advise --campaign 3`
    """
    from assay.runner.process import Interrupted, StopSignals
    from assay_lab.advice import EmulationSettings, judge, observe

    if sum(given is not None for given in (trial, campaign, command or None)) != 1:
        raise AssayError("name a program, or a trial with --trial, or a campaign with --campaign")
    settings = EmulationSettings(sets=sets, ways=ways, read_ways=read_ways, timeout_s=within)
    with StopSignals() as stop:
        try:
            found: ProgramAdvice | CampaignAdvice
            if campaign is not None:
                found = _of_campaign(campaign, store, settings, stop)
            elif trial is not None:
                found = judge(_of_trial(trial, store, settings, stop), settings)
            else:
                found = judge(observe(command or (), settings, stop), settings)
        except Interrupted as interrupted:
            typer.echo("stopped", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    if _print(found, as_json):
        raise typer.Exit(1)


def _print(found: "ProgramAdvice | CampaignAdvice", as_json: bool) -> bool:
    """Print what was found, and return whether there is something to say."""
    from rich.console import Console

    from assay_lab.advice import ProgramAdvice, print_campaign, print_judged, says_something

    if isinstance(found, ProgramAdvice):
        if as_json:
            print_json(_as_json(found))
        else:
            print_judged(found, Console())
        return says_something(found)
    if as_json:
        settings = [
            {"trial": each.trial, "levels": each.levels, "judged": each.judged and _as_json(each.judged)}
            for each in found.settings
        ]
        print_json({"campaign": found.campaign, "settings": settings})
    else:
        print_campaign(found, Console())
    return any(each.judged and says_something(each.judged) for each in found.settings)


def _of_campaign(
    number: int, place: "StoreName", settings: "EmulationSettings", stop: "StopSignals"
) -> "CampaignAdvice":
    from assay.store import Store
    from assay_lab.advice import CampaignAdvice, SettingAdvice, judge

    with Store.open(place, create=False) as opened:
        firsts: dict[tuple[tuple[str, Any], ...], int] = {}
        for each in opened.trials(opened.campaign(number).id):
            if each.status == "valid":
                firsts.setdefault(tuple(sorted(each.levels.items())), each.id)
    if not firsts:
        raise AssayError(f"campaign {number} has no valid trial that could be run again")
    found: list[SettingAdvice] = []
    for done, (levels, trial) in enumerate(firsts.items()):
        typer.echo(f"setting {done + 1} of {len(firsts)}: trial {trial}", err=True)
        observed = _of_trial(trial, place, settings, stop)
        judged = judge(observed, settings) if observed.record else None
        found.append(SettingAdvice(trial, dict(levels), judged))
    return CampaignAdvice(number, tuple(found))


def _of_trial(
    trial: int, place: "StoreName", settings: "EmulationSettings", stop: "StopSignals"
) -> "Observed":
    from dataclasses import replace

    from assay.campaign.replay import replay
    from assay.store import Store
    from assay_lab.advice import recording

    with Store.open(place, create=False) as opened, recording(settings) as (started_from, read):
        outcome = replay(
            opened,
            trial,
            stop,
            lambda line: typer.echo(line, err=True),
            started_from,
            timeout_s=settings.timeout_s,
        ).outcome
        observed = read(f"trial {trial}")
    if outcome.status == "valid":
        return observed
    return replace(
        observed, trouble=f"It was {outcome.status.replace('_', ' ')}: {printable(outcome.reason)}."
    )


def _as_json(judged: "ProgramAdvice") -> dict[str, Any]:
    sections = [asdict(section) | {"transactions": section.transactions} for section in judged.sections]
    return asdict(judged) | {"emulated": True, "sections": sections}
