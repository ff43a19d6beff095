"""What `assay store show` prints of a trial: a summary that fits a screen, or all of its record."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from assay.words import condition_name, elapsed, number, printable

WIDTH = 80
HEIGHT = 21
"""Lines, so that a terminal of 24 has two lines of hints and the next command besides."""

_PRINTED = 3  # lines of each stream
_RULED = {"protocol", "seed", "subject"}
_GAP = 2


def summary(record: Mapping[str, Any], compared: Sequence[str]) -> list[str]:
    """Return lines that fit a screen: what the trial was, how it ended, what it printed and measured.

    Args:
        record: of the store.
        compared: metrics that come first.
    """
    seed = [] if record["seed"] is None else [f"seed {record['seed']}"]
    status = str(record["status"]).replace("_", " ")
    request = record["request"]
    settings = [
        f"{name} {printable(_written(value))}"
        for name, value in request.items()
        if name not in _RULED and name not in record["levels"]
    ]
    lines = [
        f"Trial {record['trial']}: {status}, {elapsed(record['wall_s'])}",
        *_folded(
            f"campaign {record['campaign']} of {record['experiment']}, block {record['block']}, "
            f"{record['started_at'][:19].replace('T', ' ')} UTC",
            2,
        ),
        *_folded(printable(condition_name(record["levels"])), 2),
        *_folded("; ".join([*settings, *seed]), 3),
    ]
    if record["reason"]:
        lines += _folded(f"why: {printable(record['reason'])}", 3)
    if record["status"] != "valid" or record["extract"] != "protocol":
        for stream in ("stderr", "stdout"):
            lines += _printed(stream, record.get(stream) or "")
    metrics = ((record.get("result") or {}).get("metrics")) or {}
    first = [name for name in compared if name in metrics]
    lines += _columns(
        [(name, number(metrics[name])) for name in dict.fromkeys([*first, *metrics])], HEIGHT - len(lines)
    )
    return lines


def _written(value: Any) -> str:
    """Return a setting in short."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_written(inner)}' for name, inner in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _folded(text: str, most: int) -> list[str]:
    """Return text in this many lines at most."""
    return textwrap.wrap(text, WIDTH, max_lines=most, placeholder=" ...", subsequent_indent="  ")


def _printed(stream: str, text: str) -> list[str]:
    """Return the last lines of what a trial printed."""
    printed = text.rstrip("\n").split("\n") if text.strip() else []
    if not printed:
        return []
    cut = ", its end" if len(printed) > _PRINTED else ""
    last = [textwrap.shorten(printable(line), WIDTH - 2, placeholder=" ...") for line in printed[-_PRINTED:]]
    return [f"{stream}{cut}:", *(f"  {line}" for line in last)]


def _columns(metrics: Sequence[tuple[str, str]], most: int) -> list[str]:
    """Return names with their values, in two columns where one would be too long, down each of them."""
    if not metrics:
        return []
    shown = metrics[: max(1, 2 * (most - 1))]
    count = 1 if len(shown) < most else 2
    rows = -(-len(shown) // count)
    width = (WIDTH - _GAP * (count - 1)) // count
    values = max(len(value) for _, value in shown)
    names = min(max(len(name) for name, _ in shown), width - values - 1)
    texts = [f"{_cut(name, names):{names}} {value:>{values}}" for name, value in shown]
    columns = [texts[start : start + rows] for start in range(0, len(texts), rows)]
    lines = [(" " * _GAP).join(row).rstrip() for row in zip_longest(*columns, fillvalue="")]
    more = len(metrics) - len(shown)
    return [*lines, *([f"and {more} more metrics"] if more else [])]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def outline(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield lines of `name: value`, with what is inside a value indented below it, but for buckets."""
    indent = "  " * depth
    for name, inner in value.items():
        label = f"{indent}{printable(name)}:"
        if isinstance(inner, Mapping) and inner:
            yield label
            yield from outline(inner, depth + 1)
        elif isinstance(inner, list) and any(isinstance(item, Mapping) for item in inner):
            yield label
            yield from outline({str(number): item for number, item in enumerate(inner)}, depth + 1)
        elif name == "buckets" and isinstance(inner, list) and inner and isinstance(inner[0], list):
            yield f"{label} {len(inner)}, which --json shows"
        elif isinstance(inner, str) and "\n" in inner:
            yield label
            yield from (f"{indent}  {printable(line)}" for line in inner.removesuffix("\n").split("\n"))
        else:
            text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
            yield f"{label} {printable(text)}".rstrip()
