"""What statements of SQL give, on a terminal and for programs."""

import json
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, signal
from typing import TYPE_CHECKING, Any, Final

from stoker.cli.output import MISSING, print_table, say

if TYPE_CHECKING:
    from stoker.streams.sql.results import Live, Message, Result, Rows

_SHOWN_ROWS: Final = 20
"""Of a live table."""


def show(result: "Result", *, as_json: bool) -> None:
    """Live rows until they end, or until Ctrl-C, which ends them and nothing else."""
    from stoker.streams.sql.results import Live, Message, Rows

    match result:
        case Message():
            _show_message(result, as_json=as_json)
        case Rows():
            _show_rows(result, as_json=as_json)
        case Live():
            _show_live(result, as_json=as_json)


def _show_message(message: "Message", *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"message": message.text, "query": message.query_id}, ensure_ascii=False))
    else:
        print(message.text)


def _show_rows(rows: "Rows", *, as_json: bool) -> None:
    if as_json:
        for row in rows.rows:
            print(_as_json(rows.columns, row))
    else:
        print_table(rows.columns, [[_cell(value) for value in row] for row in rows.rows])
    if rows.note and not as_json:
        say(rows.note)


def _show_live(live: "Live", *, as_json: bool) -> None:
    with _ended_by_signals(live):
        if as_json:
            for row in live.rows:
                print(_as_json(live.columns, row), flush=True)
        elif sys.stdout.isatty():
            _show_table(live)
        else:
            print("\t".join(live.columns), flush=True)
            for row in live.rows:
                print("\t".join(str(_cell(value)) for value in row), flush=True)


def _show_table(live: "Live") -> None:
    """The last rows, in place."""
    from rich.console import Console
    from rich.live import Live as Screen
    from rich.table import Table

    kept: deque[Sequence[Any]] = deque(maxlen=_SHOWN_ROWS)
    count = 0

    def table() -> Table:
        made = Table(
            box=None,
            header_style="bold",
            pad_edge=False,
            caption=f"{count} rows; Ctrl-C ends the query",
            caption_justify="left",
        )
        for name in live.columns:
            made.add_column(name, overflow="fold")
        for row in kept:
            made.add_row(*[str(_cell(value)) for value in row])
        return made

    with Screen(table(), console=Console(markup=False, highlight=False), refresh_per_second=8) as screen:
        for row in live.rows:
            kept.append(row)
            count += 1
            screen.update(table())


@contextmanager
def _ended_by_signals(live: "Live") -> Iterator[None]:
    """Spark's own handler of Ctrl-C would end all queries that run."""

    def end(*_: object) -> None:
        live.close()

    before = {number: signal(number, end) for number in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal(number, handler)


def _cell(value: Any) -> Any:
    if value is None:
        return MISSING
    return json.dumps(value, ensure_ascii=False, default=_text) if isinstance(value, dict | list) else _plain(value)


def _plain(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) or hasattr(value, "isoformat") else value


def _as_json(columns: Sequence[str], row: Sequence[Any]) -> str:
    return json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else str(value)
