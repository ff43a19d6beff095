"""`assay inspect`: compares a function with its reference version."""

import math
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    QuietOption,
    StoreOption,
    folder_option,
    print_json,
    seconds,
    whole_option,
)
from assay.errors import AssayError
from assay.words import elapsed, nearest, one_line, printable

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import StoreName
    from assay_rig.page import Inspection
    from assay_rig.profile import Profile

WITHIN_S = 5
OUTPUT = Path("results/inspections")
REFERENCE = "_reference"
"""What the name of a reference version ends in."""
_WIDTH = 80
_SHOWN_LINES = 3
_MOST_OF_IT = 0.5
"""Where less is in the lines of the user's sources, the functions of others are shown too."""
_FAILED = {
    "differs": "DIFFERENT ANSWERS",
    "crash": "CRASHES",
    "hang": "DOES NOT RETURN",
    "memory": "TAKES TOO MUCH MEMORY",
    "leak": "LEAKS MEMORY",
}


def _whole_seconds(text: str) -> int:
    """Return a length of time as libFuzzer takes it."""
    return math.ceil(seconds(text))


def inspect(
    name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)],
    *,
    within: Annotated[
        Any,
        typer.Option(
            parser=_whole_seconds,
            metavar="TIME",
            help="How long to look for inputs with different answers: 60s, 10m.",
        ),
    ] = f"{WITHIN_S}s",
    seed: Annotated[
        int | None,
        whole_option("Of the inputs and of the plan. Default: a new one.", 1, 2**32 - 1),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of the project. Default: the folder NAME, or else the present one."
        ),
    ] = None,
    output: Annotated[Path, folder_option("--output", text="Folder for the pages.")] = OUTPUT,
    store: StoreOption = DEFAULT_STORE,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare a function with its reference version.

    NAME is a function of a project as `assay new function NAME` writes it. What changed is built first. Then
    clang's fuzzer looks for inputs with different answers, with sanitizers. If there are none, both versions
    run by turns in fresh processes, as experiment.toml says, and their instructions and writes are counted;
    a profiler says which lines the time goes to. One page has all of it.

    The exit code is 1 if the answers differ, or if a call crashes, hangs or leaks.

    Example: `assay inspect my_function --within 60s`
    """
    from assay.experiment import load, overridden
    from assay.files import check_writable
    from assay.runner.process import Interrupted, StopSignals
    from assay_rig.costs import costs
    from assay_rig.fuzz import search
    from assay_rig.page import Inspection, write_inspection
    from assay_rig.profile import profiled
    from assay_rig.project import build_functions, find_project

    def say(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    drawn = secrets.randbelow(2**32 - 1) + 1 if seed is None else seed
    project, known = find_project(name, directory)
    if project is None:
        raise AssayError(_no_such_function(name, directory, known))
    check_writable(output / name / "index.html", "--output")
    with StopSignals() as stop:
        try:
            program, fuzzer = build_functions(project, say, lambda line: typer.echo(line, err=True), stop)
            experiment = _only(name, overridden(load(project.folder / "experiment.toml"), seed=drawn))
            say(f"looking for inputs with different answers for {within} s")
            where = fuzzer.parent
            fuzzed = search(fuzzer, name, seconds=within, seed=drawn, folder=where, stop=stop)
        except Interrupted as interrupted:
            typer.echo("stopped; nothing has been measured", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    found, trials = Inspection(name, fuzzed), None
    if fuzzed.result == "same":
        report, trials = _timed(experiment, store, quiet=quiet)
        profiles: dict[str, Profile] = {}
        with StopSignals() as stop:
            try:
                for each in (name, name + REFERENCE):
                    say(f"profiling {each}")
                    profiles[each] = profiled(program, each, folder=project.folder, stop=stop)
            except Interrupted as interrupted:
                typer.echo("stopped while profiling; the trials are kept", err=True)
                raise typer.Exit(128 + interrupted.signum) from None
        found = Inspection(name, fuzzed, report, costs(report, name, name + REFERENCE), profiles)
    page = write_inspection(found, trials, output / name)
    again = invocation(
        "inspect",
        name,
        *(["--directory", str(directory)] if directory else []),
        *(["--within", f"{within}s"] if within != WITHIN_S else []),
        *("--seed", str(drawn)),
        *([] if store == DEFAULT_STORE else ["--store", str(store)]),
    )
    if as_json:
        print_json({"seed": drawn, **_as_json(found), "page": str(page), "again": again})
    else:
        for line in _lines(found):
            typer.echo(line)
        typer.echo(f"page: {page}")
        typer.echo(f"again: {again}")
    if fuzzed.result != "same":
        raise typer.Exit(1)


def _no_such_function(name: str, directory: Path | None, known: "dict[str, Path]") -> str:
    functions = [each for each in known if f"{each}{REFERENCE}" in known]
    if name in known:
        command = invocation("inspect", name, "--directory", known[name])
        return f"{name} is described in {known[name] / 'experiment.toml'}: {command}"
    where = f"in {directory}" if directory else f"in {name}/ or here"
    hint = (
        nearest(name, functions) if functions else f"write a project: {invocation('new', 'function', name)}"
    )
    return f"there is no function {name}: no experiment.toml {where} describes it; {hint}"


def _only(name: str, experiment: "Experiment") -> "Experiment":
    """Return the experiment with a function and its reference version, of all that it compares."""
    from assay.experiment import overridden

    wanted = [name + REFERENCE, name]
    levels = [str(level) for level in experiment.factors.get("subject", ())]
    for each in wanted:
        if each not in levels:
            raise AssayError(
                f"{experiment.path}: factors.subject has no {each}; name {wanted[0]} and {name}, in this"
                " order, and both in names of [subjects]"
            )
    return overridden(experiment, only=[f"subject={','.join(wanted)}"]) if len(levels) > 2 else experiment


def _timed(experiment: "Experiment", path: "StoreName", *, quiet: bool) -> "tuple[Report, Path]":
    """Run the trials of both versions; return their report and their page."""
    from assay.cli.running import running_campaign
    from assay.report.site import check_folder, write_page
    from assay.store import store_name

    check_folder(store_name(path))
    with running_campaign(path, experiment, quiet=quiet) as (report, store):
        return report, write_page(report, store)


def _lines(inspection: "Inspection") -> Iterator[str]:
    """Yield the lines of the answer."""
    from assay.report.headline import headline
    from assay.report.trust import trust

    name, fuzzed = inspection.name, inspection.fuzzed
    tried = f"{fuzzed.inputs:,} inputs in {elapsed(fuzzed.seconds)}"
    if fuzzed.result != "same":
        yield f"{name}: {_FAILED[fuzzed.result]}, found after {tried}"
        for label, text in (
            ("input", fuzzed.input),
            (name, fuzzed.answer),
            ("reference", fuzzed.reference),
            ("", fuzzed.said),
        ):
            if text:
                yield f"  {label:{max(len(name), 9)}}  {one_line(printable(text), 200)}".rstrip()
        yield "not timed: the speed of wrong answers is worth nothing"
        yield f"repeat it: {fuzzed.again}"
        return
    yield f"Answers: the same for {tried}, which reached {fuzzed.covered} places of the code"
    if inspection.report:
        yield f"Time: {headline(inspection.report)}"
        yield f"Trust: {trust(inspection.report).summary}"
    yield ""
    width = max((len(cost.name) for cost in inspection.costs), default=0)
    yield f"{'of a call':{width}}  {name[:20]:>20} {'reference':>20}"
    for cost in inspection.costs:
        yield f"{cost.name:{width}}  {cost.shown(cost.ours):>20} {cost.shown(cost.reference):>20}"
    for each, profile in inspection.profiles.items():
        if profile.functions:
            yield f"\nwhere the {profile.of} of {each} goes, by {profile.by}:"
        for line in profile.lines[:_SHOWN_LINES]:
            yield f"  {line.share:>4.0%}  {line.file}:{line.number}: {printable(line.text)}"[:_WIDTH]
        if sum(line.share for line in profile.lines) < _MOST_OF_IT:
            for function, share in list(profile.functions.items())[:_SHOWN_LINES]:
                yield f"  {share:>4.0%}  in {printable(function)}"[:_WIDTH]
    for why in inspection.missing:
        yield f"missing: {printable(why)}"
    yield ""


def _as_json(inspection: "Inspection") -> dict[str, Any]:
    comparison = inspection.report.analysis.comparisons[0] if inspection.report else None
    return {
        "function": inspection.name,
        "answers": {
            **asdict(inspection.fuzzed),
            "file": str(inspection.fuzzed.file) if inspection.fuzzed.file else None,
        },
        "campaign": inspection.report.campaign.id if inspection.report else None,
        **{key: getattr(comparison, key, None) for key in ("verdict", "ratio", "interval")},
        "costs": [asdict(cost) for cost in inspection.costs],
        "profiles": {name: asdict(profile) for name, profile in inspection.profiles.items()},
    }
