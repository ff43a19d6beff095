"""Columns of plain text, for lines that a terminal, a file or a comment shows as they are."""

from collections.abc import Collection, Iterator, Sequence

GAP = "  "


def aligned(
    rows: Sequence[Sequence[str]], right: Collection[int] = (), width: int | None = None
) -> Iterator[str]:
    """Yield each row as a line, its cells below each other.

    Args:
        rows: all with the same number of cells.
        right: the columns that are set to the right.
        width: of the longest line: a first cell that is too long for it has a line of its own.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is not None and widths:
        widths[0] = min(widths[0], width - sum(widths[1:]) - len(GAP) * (len(widths) - 1))
    for row in rows:
        cells = list(row)
        if len(cells[0]) > widths[0]:
            yield cells[0]
            cells[0] = ""
        yield GAP.join(
            cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
            for column, cell in enumerate(cells)
        ).rstrip()
