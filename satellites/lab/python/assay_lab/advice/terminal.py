"""Advice in the terminal: the answer first, then each section with what is said about it."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from assay.words import counted, listed
from assay_lab.advice.types import GUIDELINES, CampaignAdvice, ProgramAdvice, Section, says_something

_SECTIONS_SHOWN = 5


def print_judged(judged: ProgramAdvice, console: Console) -> None:
    """Print what became of a program's transactions, as it would be said."""
    broken = sorted({advice.guideline for section in judged.sections for advice in section.advice})
    sections = [section for section in judged.sections if section.advice or section.limits]
    of = counted(len(judged.sections), "section")
    if broken:
        numbers = listed([str(number) for number in broken])
        word = "guideline" if len(broken) == 1 else "guidelines"
        answer = f"Of {of} with transactions, {len(sections)} should be changed: {word} {numbers}."
        console.print(Text(answer, "bold yellow"))
    elif sections:
        console.print(Text(f"Nothing is said against {of}, but not all could be judged.", "bold yellow"))
    else:
        console.print(Text(f"Nothing is said against the transactions of {of}.", "bold green"))
    console.print(
        Text(
            "Seen under the emulator, which alone sees the addresses, in a cache of"
            f" {judged.settings.sets} sets with {judged.settings.ways} ways."
            " No timing of such a run means anything.",
            "dim",
        )
    )
    if judged.trouble:
        console.print(Text(f"{judged.trouble} What follows was seen until then.", "bold red"))
    for section in (sections or list(judged.sections))[:_SECTIONS_SHOWN]:
        _print_section(section, console)
    more = len(sections or judged.sections) - _SECTIONS_SHOWN
    if more > 0:
        console.print(Text(f"\nand {counted(more, 'further section')}, which --json shows"))
    for note in judged.notes:
        console.print(Text(f"\n{note}", "dim"))


def print_campaign(judgement: CampaignAdvice, console: Console) -> None:
    """Print what is said of each setting of a campaign that has transactions."""
    judged = [(each, each.judged) for each in judgement.settings if each.judged]
    said = sum(says_something(of) for _, of in judged)
    of_all = f"{counted(len(judgement.settings), 'setting')} of campaign {judgement.campaign}"
    answer = f"Of {of_all}, {len(judged)} began transactions, and something is said of {said}."
    console.print(Text(answer, "bold yellow" if said else "bold green"))
    for each, of in judged:
        levels = ", ".join(f"{name} {level}" for name, level in each.levels.items())
        console.print()
        console.rule(Text(f"{levels} (trial {each.trial})", "bold"), align="left")
        print_judged(of, console)


def _print_section(section: Section, console: Console) -> None:
    console.print()
    console.print(Text(str(section.place), "bold"))
    for advice in section.advice:
        title = f"guideline {advice.guideline}, {GUIDELINES[advice.guideline]}: "
        console.print(Padding(Text.assemble((title, "yellow"), f"{advice.what}."), (0, 0, 0, 2)))
        console.print(Padding(Text(f"-> {advice.remedy}"), (0, 0, 0, 4)))
    for limit in section.limits:
        console.print(Padding(Text(f"{limit}."), (0, 0, 0, 2)))
    console.print(Padding(Text(_facts(section), "dim"), (0, 0, 0, 2)))


def _facts(section: Section) -> str:
    aborts = [
        f"{name.replace('_', ' ')} {count}" for name, count in section.ended.items() if name != "committed"
    ]
    ends = f" ({', '.join(aborts)} ended otherwise)" if aborts else ""
    committed = section.ended.get("committed", 0)
    late = "" if section.after_write is None else f", {section.after_write:.0f} of them after the first write"
    return (
        f"{counted(section.transactions, 'transaction')}, {committed} committed{ends};"
        f" {section.instructions:.0f} instructions{late}; lines read {section.read_lines:.0f}"
        f" (at most {section.most_read_lines}, {section.fullest_read} in a set), written"
        f" {section.written_lines:.0f} (at most {section.most_written_lines},"
        f" {section.fullest_written} in a set)"
    )
