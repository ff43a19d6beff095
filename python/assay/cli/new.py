"""`assay new`: a starting point for your own work."""

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from assay import files
from assay.cli.completion import complete_subjects
from assay.cli.invocation import invocation
from assay.cli.options import folder_option
from assay.errors import AssayError

_TEMPLATES = Path(__file__).parent / "templates"
_EXPERIMENT = _TEMPLATES / "experiment" / "experiment.toml"
_LONGEST = 64  # as of the experiment that is named after it

NameArgument = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
ProjectOption = Annotated[
    Path | None,
    folder_option("--directory", text="Folder to write; it must not exist yet. Default: the name."),
]


PROJECTS = {
    "subject": "makes a map of your own a subject",
    "fixture": "times code of your own",
    "function": "inspects a function of your own",
}
"""Kind -> what a project of this kind does."""
NAMES = {"subject": "my_map", "fixture": "my_fixture", "function": "my_function"}
"""Kind -> the name in its template."""


def project(kind: str) -> Callable[..., None]:
    """Return the command that writes a project of one kind."""

    def command(name: NameArgument, directory: ProjectOption = None) -> None:
        where = _write_project(kind, name, directory)
        option = ["--directory", str(directory)] if directory else []
        run = invocation("run", where / "experiment.toml")
        used = {
            "subject": [invocation("check", name, *option), run],
            "fixture": [shlex.quote(str(where / "build" / "fixtures")), run],
            "function": [invocation("inspect", name, *option)],
        }[kind]
        for line in used:
            typer.echo(f"  {line}")
        from assay import programs

        if programs.install_prefix() is None:
            typer.echo(f"This needs Assay's C++ libraries, which are not here: {programs.REMEDY}")

    command.__doc__ = f"""Write a CMake project that {PROJECTS[kind]}.

    NAME is the {kind}'s: lower-case letters, digits and underscores.

    Example: `assay new {kind} {NAMES[kind]}`
    """
    return command


def _write_project(kind: str, name: str, directory: Path | None) -> Path:
    """Write a working project whose name is replaced, and say how it is built; return its folder.

    The test suite builds each template as it stands.
    """
    from assay import programs

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > _LONGEST:
        raise AssayError(
            f"{name!r} is not a name for a {kind}: use lower-case letters, digits and underscores, "
            f"a letter first, at most {_LONGEST}"
        )
    if name in {entry["name"] for entry in programs.listing(programs.find("assay-trial"))}:
        raise AssayError(f"assay-trial has a subject {name} already; choose another name")
    target = directory or Path(name)
    if os.path.lexists(target):
        raise AssayError(f"{target} exists already; name another folder with --directory")
    name_in_template = NAMES[kind]
    for source in sorted((_TEMPLATES / kind).iterdir()):
        text = source.read_text(encoding="utf-8").replace(name_in_template, name)
        files.write(target / source.name.replace(name_in_template, name), text, option="--directory")
    prefix = programs.install_prefix()
    where = shlex.quote(str(target))
    prefix_option = f" -DCMAKE_PREFIX_PATH={shlex.quote(str(prefix))}" if prefix else ""
    does = {"subject": "Build, check and measure", "fixture": "Build and measure", "function": "Inspect"}[
        kind
    ]
    typer.echo(f"Wrote {target}/. {does} it with:")
    if kind != "function":  # which is built by what inspects it
        typer.echo(f"  cmake -S {where} -B {where}/build{prefix_option}")
        typer.echo(f"  cmake --build {where}/build")
    return target


def experiment(
    name: NameArgument,
    subjects: Annotated[
        list[str] | None, typer.Argument(metavar="SUBJECT", hidden=True, autocompletion=complete_subjects)
    ] = None,
    directory: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder in which it is written. Default: this one.")
    ] = Path(),
) -> None:
    """Write an experiment that runs as it is.

    NAME is the experiment's, and its file is NAME.toml. SUBJECTs are what it compares, the
    first is the baseline; without them it compares std_map_mutex and std_map_shared_mutex.

    Example: `assay new experiment my-question bt_map tbb_hash_map`
    """
    from assay.experiment import check, parse
    from assay.experiment.types import EXPERIMENT_NAME_PATTERN
    from assay.runner.machine import present_machine
    from assay.words import listed

    name = name.removesuffix(".toml")
    if not re.fullmatch(EXPERIMENT_NAME_PATTERN, name) or len(name) > _LONGEST:
        raise AssayError(
            f"{name!r} is not a name for an experiment: use lower-case letters, digits, - and _, "
            f"a letter first, at most {_LONGEST}"
        )
    target = directory / f"{name}.toml"
    if os.path.lexists(target):
        raise AssayError(f"{target} exists already; choose another name")
    text = _EXPERIMENT.read_text(encoding="utf-8").replace("my-question", name)
    if subjects:
        if len(subjects) < 2:
            raise AssayError("one subject has nothing to be compared with; name two or more")
        question = f"Which is faster: {listed(subjects, 'or')}?"
        text = re.sub(r"(?m)^question = .*", lambda _: f"question = {json.dumps(question)}", text)
        names = ", ".join(map(json.dumps, subjects))
        text = re.sub(r"(?m)^subject = \[.*?\]", lambda _: f"subject = [{names}]", text)
        try:
            check(parse(text, target), present_machine())
        except AssayError as error:
            place, _, why = str(error).partition(": factors.subject: ")
            raise AssayError(why or place) from None
    files.write(target, text, option="--directory")
    typer.echo(f"Wrote {target}. Edit it as you like, and run it with:")
    typer.echo(f"  {invocation('run', target)}")
