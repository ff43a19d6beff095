"""How pages become files: Jinja templates that escape whatever comes from outside, and whole writing.

Names, reasons and output of programs are escaped in HTML by Jinja's autoescape, and in blocks of JSON by its
`tojson`, which also escapes `<`, `>`, `&` and `'`. No page has a script in its text, and the policy in
its head lets it load nothing from a network.
"""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay import findings, words
from assay.errors import AssayError
from assay.report import words as report_words


def render(template: str, **content: Any) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**content)


def asset(name: str) -> str:
    """Return the text of a file that stands beside the templates."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all.

    What UTF-8 cannot express (half a surrogate pair) becomes a question mark.
    """
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text.encode("utf-8", errors="replace"))
    part.replace(path)


def write_vega(directory: Path) -> None:
    """Write `vega.js`, which draws charts, where this version is missing: it takes 2 s to make."""
    file = directory / "vega.js"
    first = f"// vl-convert {version('vl-convert-python')}\n"
    with suppress(OSError), file.open(encoding="utf-8") as lines:
        if next(lines, "") == first:
            return
    write(file, first + vl_convert.javascript_bundle(None))  # type: ignore[arg-type]


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say which folder could not be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise AssayError(
            f"cannot write the report in {directory}: {error.strerror}; choose another folder with --output"
        ) from error


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "words": {**vars(words), **vars(report_words)},
        "severities": findings.SEVERITIES,
        "condition_name": words.condition_name,
    }
    environment.filters |= {"code": _code}
    return environment


def _code(text: str) -> Markup:
    """Return text as HTML in which what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text)))  # noqa: S704 - escaped right here
