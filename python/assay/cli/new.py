"""`assay new`: a starting point for your own work."""

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from assay import files
from assay.cli.invocation import invocation
from assay.errors import AssayError

# A working project whose name is replaced, so that the test suite can build it as it stands.
_TEMPLATE = Path(__file__).parent / "templates" / "subject"
_TEMPLATE_NAME = "my_map"
_LONGEST = 64  # as of the experiment that is named after it


def subject(
    name: Annotated[
        str, typer.Argument(help="The subject's name: lower-case letters, digits and underscores.")
    ],
    directory: Annotated[
        Path | None, typer.Option(help="Folder to write; it must not exist yet. Default: the name.")
    ] = None,
) -> None:
    """Write a complete CMake project that makes a map of your own a subject.

    Example: `assay new subject my_map`
    """
    from assay import programs

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > _LONGEST:
        raise AssayError(
            f"{name!r} is not a name for a subject: use lower-case letters, digits and underscores, "
            f"a letter first, at most {_LONGEST}"
        )
    if name in {entry["name"] for entry in programs.listing(programs.find("assay-trial"))}:
        raise AssayError(f"assay-trial has a subject {name} already; choose another name")
    target = directory or Path(name)
    if os.path.lexists(target):
        raise AssayError(f"{target} exists already; name another folder with --directory")
    for source in sorted(_TEMPLATE.iterdir()):
        text = source.read_text(encoding="utf-8").replace(_TEMPLATE_NAME, name)
        files.write(target / source.name.replace(_TEMPLATE_NAME, name), text, option="--directory")

    prefix = programs.install_prefix()
    where = shlex.quote(str(target))
    prefix_option = f" -DCMAKE_PREFIX_PATH={shlex.quote(str(prefix))}" if prefix else ""
    typer.echo(f"Wrote {target}/. Build and measure it with:")
    typer.echo(f"  cmake -S {where} -B {where}/build{prefix_option}")
    typer.echo(f"  cmake --build {where}/build")
    typer.echo(f"  {invocation('run', target / 'experiment.toml')}")
