"""What a command prints: tables for people, JSON for programs. stdout is data, stderr is talk."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

MISSING: Final = "-"
_GAP: Final = "  "
_UNITS: Final = (" B", " KiB", " MiB", " GiB", " TiB", " PiB")


def print_json(value: Any) -> None:
    """One JSON document."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table: with colour and within the width on a terminal, else aligned text that cuts nothing off.

    Columns of numbers are aligned to the right; None is shown as a dash.
    """
    cells = [[MISSING if value is None else str(value) for value in row] for row in rows]
    numeric = [_is_numeric([row[index] for row in cells]) for index in range(len(columns))]
    if sys.stdout.isatty():
        _print_rich(columns, cells, numeric)
    else:
        _print_plain(columns, cells, numeric)


def shown_bytes(count: int) -> str:
    """A number of bytes for people: 1.5 MiB."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f}{_UNITS[unit]}" if unit else f"{count} B"


def counted(count: int, thing: str) -> str:
    """1 schema, 2 schemas."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def say(message: str) -> None:
    """A remark for the person at the terminal, after what was printed before it."""
    sys.stdout.flush()
    print(message, file=sys.stderr)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is destroyed. Without a terminal nobody can answer: scripts are not asked, as by Kafka's tools."""
    if yes or not sys.stdin.isatty():
        return
    if not typer.confirm(question, err=True):
        say("Nothing was changed.")
        raise typer.Exit(1)


def _print_plain(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        print(_GAP.join(aligned).rstrip())


def _print_rich(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


def _is_numeric(column: Sequence[str]) -> bool:
    known = [text for text in column if text != MISSING]
    return bool(known) and all(text.lstrip("-").isdecimal() or text.endswith(_UNITS) for text in known)
