"""How pages are made: Jinja templates that escape whatever comes from outside, and the scripts next to them.

Names, reasons and output of programs are escaped in HTML by Jinja's autoescape, and in blocks of JSON by its
`tojson`, which also escapes `<`, `>`, `&` and `'`. No page has a script in its text, and the policy in
its head lets it load nothing from a network.
"""

import html
import os
import re
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from assay import extras, files, findings, words
from assay.errors import AssayError
from assay.report import words as report_words

_TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, templates: Path = _TEMPLATES, **content: Any) -> str:
    """Return a page from a template of a folder; it may build on the templates of this package."""
    return _environment(templates).get_template(template).render(**content)


def write_scripts(directory: Path, *names: str) -> None:
    """Write files from the folder of the templates, and `vega.js` where this version of it is missing.

    Without vl-convert, which carries it, one that is there stays. Otherwise it is empty, and the page's own
    script names the remedy in the place of each chart.
    """
    for name in names:
        files.write(directory / name, (_TEMPLATES / name).read_text(encoding="utf-8"))
    file = directory / "vega.js"
    if not extras.available("vl_convert"):
        if not file.exists():
            files.write(file, f"// Empty: {extras.remedy('vl_convert')}\n")
        return
    with suppress(OSError), file.open(encoding="utf-8") as lines:
        if next(lines, "") == _first_line():
            return
    files.write(file, vega())


def _first_line() -> str:
    return f"// vl-convert {version('vl-convert-python')}\n"


def vega() -> str:
    """Return what draws charts; its first line names its version.

    To bundle it takes some seconds, which nobody should wait for twice: it is kept in the user's cache.
    """
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "vega.js"
    first = _first_line()
    with suppress(OSError, UnicodeDecodeError):
        text = kept.read_text(encoding="utf-8")
        if text.startswith(first):
            return text
    import vl_convert  # noqa: PLC0415 - an extra

    text = first + vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    with suppress(AssayError):
        files.write(kept, text)
    return text


@cache
def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([templates, _TEMPLATES]),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies |= {"json.dumps_function": words.json_text, "json.dumps_kwargs": {}}
    environment.globals |= {
        "words": {**vars(words), **vars(report_words)},
        "severities": findings.SEVERITIES,
        "condition_name": words.condition_name,
    }
    environment.filters |= {"code": _code}
    return environment


def _shown(value: Any) -> Any:
    """Return text of others' making without what turns or hides other text of a page."""
    return (
        words.printable(value, "\n\t") if isinstance(value, str) and not hasattr(value, "__html__") else value
    )


def _code(text: str) -> Markup:
    """Return text as HTML, in which text between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(_shown(text))))  # noqa: S704 - escaped right here
