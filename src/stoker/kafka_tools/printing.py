"""How Kafka's tools print tables."""

from collections.abc import Sequence


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of equal width, each ended by a tab."""
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]
    for row in (columns, *rows):
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))
