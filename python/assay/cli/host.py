"""`assay host`: the settings of this machine, judged, changed and put back."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.completion import complete_settings
from assay.cli.invocation import invocation
from assay.cli.options import JsonOption, print_json
from assay.findings import SEVERITIES
from assay.words import counted, listed, one_line

if TYPE_CHECKING:
    from assay.host.journal import SettingChange
    from assay.host.tune import Decide


def check(
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say of each setting that is not here why.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what on this host disturbs measurements.

    The worst comes first, each with its likely effect. Nothing is changed. The exit code is 1 if a finding is
    an error or a warning.

    Example: `assay host check`
    """
    from assay import programs
    from assay.errors import AssayError
    from assay.host.journal import journal_folder
    from assay.host.settings import SETTINGS
    from assay.host.system import System

    system = System()
    journal = journal_folder() / "host.journal"
    tuned = str(journal) if journal.exists() else None
    order = list(SEVERITIES)
    seen = [(setting, setting.read(system)) for setting in SETTINGS]
    judged = [(setting, values, setting.judge(values)) for setting, values in seen if values]
    findings = sorted(
        ((setting, values, judgement) for setting, values, judgement in judged if judgement),
        key=lambda finding: order.index(finding[2].severity),
    )
    remedies = {
        setting.name: judgement.remedy or f"`{invocation('host', 'tune', setting.name)}`"
        for setting, _, judgement in findings
    }
    try:
        transactions = programs.transactions(programs.find("assay-trial"))
    except AssayError as error:
        transactions = {"name": "none", "because": f"nobody knows, {error}"}
    if as_json:
        print_json(
            {
                "host": system.name,
                "journal": tuned,
                "findings": [
                    {
                        "setting": setting.name,
                        "severity": judgement.severity,
                        "message": judgement.message,
                        "effect": judgement.effect,
                        "remedy": remedies[setting.name],
                    }
                    for setting, _, judgement in findings
                ],
                "settings": {setting.name: values for setting, values in seen if values},
                "transactions": transactions,
                "lacking": {setting.name: setting.lacking for setting, values in seen if not values},
            }
        )
    else:
        counts = [judgement.severity for _, _, judgement in findings]
        worse = len(counts) - counts.count("note")
        answer = "disturbs measurements" if worse else "is fit for measuring"
        seen_words = listed([counted(counts.count(word), word) for word in order if word in counts])
        typer.echo(f"This host ({system.name}) {answer}{': ' * bool(counts)}{seen_words}.")
        if tuned:
            _say(f"tuned: what was there is in {tuned}; put back with: {invocation('host', 'restore')}", "")
        for setting, _, judgement in findings:
            _say(f"{judgement.severity}: {setting.name}: {judgement.message}", "")
            _say(f"{judgement.effect}", "  ")
            if judgement.remedy or not setting.by_default:
                _say(f"do: {remedies[setting.name]}", "  ")
        if any(not judgement.remedy and setting.by_default for setting, _, judgement in findings):
            _say(f"do, where nothing else is said: {invocation('host', 'tune')} (--dry-run shows it)", "")
        fine = [f"{setting.name} {setting.words(values)}" for setting, values, wrong in judged if not wrong]
        _say(f"fine: {'; '.join(fine)}", "")
        elided = transactions["name"]
        if elided == "none":
            elided = f"none, so that elided locks are plain locks: {transactions['because']}"
        _say(f"transactions: {elided}", "")
        lacking = [setting for setting, values in seen if not values]
        if verbose:
            for setting in lacking:
                _say(f"not here: {setting.name}: {setting.lacking}", "")
        elif lacking:
            _say(f"not here: {', '.join(setting.name for setting in lacking)} (--verbose says why)", "")
    if any(judgement.severity != "note" for _, _, judgement in findings):
        raise typer.Exit(1)


def tune(
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SETTING...]", hidden=True, autocompletion=complete_settings),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the changes, and make none.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make settings good for measuring.

    SETTING is a name that `assay host check` shows; without one, all are changed that leave the processors as
    many as they are. What is there now is written to a journal first, and `assay host restore` puts it back.
    The exit code is 1 if something could not be changed, apart from interrupts that the kernel keeps.

    Example: `assay host tune --dry-run`
    """
    from assay.errors import AssayError
    from assay.host.journal import journal_folder, open_journal
    from assay.host.system import System, root_script, without_root
    from assay.host.tune import chosen, planned, problems
    from assay.host.tune import tune as tune_host

    system = System()
    wanted = chosen(settings or [])
    if settings and (judged := [setting.name for setting in wanted if not setting.can_be_set]):
        raise AssayError(
            f"assay host tune: {listed(judged)} cannot be set for the whole host;"
            f" `{invocation('host', 'check')}` says what helps"
        )
    if dry_run:
        changes = planned(system, wanted)
        if as_json:
            print_json({"dry_run": True, "changes": [vars(change) | {"reason": ""} for change in changes]})
            return
        _print_changes(changes)
        typer.echo(f"{counted(changes, 'change')}; nothing was changed" if changes else "Nothing to change.")
        if changes and root_script() is None:
            typer.echo(f"To make them needs root: {without_root()}", err=True)
        return
    with open_journal(journal_folder(), system) as journal:
        applied = tune_host(system, journal, wanted)
    made = [outcome.change for outcome in applied if not outcome.reason]
    if as_json:
        print_json(
            {
                "dry_run": False,
                "changes": [vars(outcome.change) | {"reason": outcome.reason} for outcome in applied],
            }
        )
    else:
        _print_changes(made)
        if made:
            typer.echo(f"{counted(made, 'change')}; put back with: {invocation('host', 'restore')}")
        elif not applied:
            typer.echo("Nothing to change.")
    for line in problems(applied):
        typer.echo(line, err=True)
    if any(outcome.reason and not outcome.of_the_kernel for outcome in applied):
        raise typer.Exit(1)


def restore(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave what something else has changed since as it is.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Put back also what something else has changed since.")
    ] = False,
    readable: Annotated[
        bool, typer.Option("--readable", help="Of a damaged journal, put back what can be read.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put back the values that were there.

    That is before `assay host tune`, or before a tuned run that was killed.

    Where something else has changed a value since, or the machine was started anew and has another one now,
    it asks on a terminal; otherwise the value stays, and --keep or --overwrite decides.
    The exit code is 1 while something is left to be put back.

    Example: `assay host restore`
    """
    from assay.errors import AssayError
    from assay.host.journal import journal_folder, open_journal
    from assay.host.system import System
    from assay.host.tune import outcomes_in_words, remedies
    from assay.host.tune import restore as restore_host

    if keep and overwrite:
        raise AssayError("assay host restore: --keep and --overwrite contradict each other; give one")
    system = System()
    with open_journal(journal_folder(), system, readable=readable) as journal:
        damaged = journal.damaged
        if not journal.pending and not damaged:
            why = "announces no change that was made" if journal.path.exists() else "is not there"
            journal.forget()
            if as_json:
                print_json({"restored": [], "damaged": []})
            else:
                typer.echo(f"Nothing to restore: {journal.path} {why}.")
            return
        outcomes = restore_host(system, journal, _decider(keep, overwrite), give_up_vanished=keep)
    given_up = {"vanished"} if keep else set[str]()
    left = [outcome for outcome in outcomes if not outcome.settled and outcome.fate not in given_up]
    if as_json:
        print_json({"restored": [vars(outcome) for outcome in outcomes], "damaged": damaged})
    else:
        for line in outcomes_in_words(outcomes):
            typer.echo(line)
        if not left:
            end = f"the journal is {journal.kept} now" if damaged else "the journal is gone"
            typer.echo(f"{counted(outcomes, 'place')} settled; {end}")
    for line in remedies(left):
        typer.echo(line, err=True)
    if left:
        typer.echo(f"{counted(left, 'place')} left, and the journal stays", err=True)
    if damaged:
        lines = f"{'line' if len(damaged) == 1 else 'lines'} {', '.join(map(str, damaged))}"
        where = journal.path if left else journal.kept
        typer.echo(f"not restored: what {lines} of {where} said, and nobody can read", err=True)
    if left or damaged:
        raise typer.Exit(1)


def _print_changes(changes: Sequence["SettingChange"]) -> None:
    """Print a line for those of a setting that are alike."""
    from assay.host.tune import LONGEST, alike, and_more

    for same in alike(changes, lambda change: (change.setting, change.was, change.to)):
        change = same[0]
        was, to = one_line(change.was, LONGEST), one_line(change.to, LONGEST)
        typer.echo(f"{change.setting}: {change.place}{and_more(same)}: {was} -> {to}")


def _decider(keep: bool, overwrite: bool) -> "Decide":
    from assay.host.tune import LONGEST

    def decide(place: str, now: str, was: str) -> Literal["keep", "overwrite"] | None:
        if keep or overwrite:
            return "keep" if keep else "overwrite"
        if not sys.stdin.isatty():
            return None
        before = one_line(was, LONGEST)
        changed = f"something else made it {one_line(now, LONGEST)}; it was {before}"
        question = f"{place}: {changed}. Put {before} back?"
        return "overwrite" if typer.confirm(question, err=True) else "keep"

    return decide


def _say(text: str, indent: str) -> None:
    """Print a paragraph as wide as the terminal."""
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    typer.echo(
        textwrap.fill(text, width, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False)
    )
