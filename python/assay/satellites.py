"""What satellites add to the core: entry points, whose groups `docs/architecture.md` lists."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points


@cache
def added(group: str) -> dict[str, EntryPoint]:
    """Return name -> what the installed satellites add to a group, by name."""
    return {point.name: point for point in sorted(entry_points(group=group))}


def lacking(satellite: str) -> str:
    """Return what to do where a satellite is not installed."""
    return f"{satellite} is not installed: pip install {satellite}, or `make .venv/.ready` in a checkout"
