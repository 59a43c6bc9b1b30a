"""The prompt of `stoker sql`: lines up to a semicolon, with history and completion."""

import os
import re
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.cli.output import say
from stoker.cli.sql_results import show
from stoker.errors import StokerError

if TYPE_CHECKING:
    from stoker.streams.sql.engine import SqlEngine

_FIRST: Final = "sql> "
_MORE: Final = "...> "
_HISTORY_LINES: Final = 5000
_KEYWORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "PARTITION BY", "EMIT CHANGES", "EMIT FINAL", "LIMIT", "JOIN", "LEFT JOIN", "WITHIN",
    "GRACE PERIOD", "ON", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "CREATE STREAM",
    "CREATE TABLE", "CREATE TYPE", "CREATE OR REPLACE", "IF NOT EXISTS", "WITH", "KAFKA_TOPIC", "VALUE_FORMAT", "KEY_FORMAT", "PARTITIONS",
    "TIMESTAMP", "PRIMARY KEY", "KEY", "INSERT INTO", "VALUES", "DROP STREAM", "DROP TABLE", "DELETE TOPIC", "SHOW STREAMS", "SHOW TABLES",
    "SHOW TOPICS", "SHOW QUERIES", "SHOW FUNCTIONS", "SHOW PROPERTIES", "SHOW TYPES", "SHOW VARIABLES", "DESCRIBE", "EXTENDED", "PRINT",
    "FROM BEGINNING", "TERMINATE", "PAUSE", "RESUME", "ALL", "EXPLAIN", "SET", "UNSET", "DEFINE", "UNDEFINE", "RUN SCRIPT", "SPARK", "WINDOW TUMBLING",
    "WINDOW HOPPING", "WINDOW SESSION", "SIZE", "ADVANCE BY", "VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "BOOLEAN", "DECIMAL", "ARRAY", "MAP",
    "STRUCT", "exit", "help",
)  # fmt: skip
_HELP: Final = """Statements end with a semicolon; `exit` or Ctrl-D leaves, and queries stop until the next time.
SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TOPICS;   what there is
DESCRIBE orders EXTENDED;                               columns, topic, queries
PRINT orders FROM BEGINNING LIMIT 3;                    records of a topic
SELECT * FROM orders EMIT CHANGES;                      rows as they come, until Ctrl-C
SELECT * FROM totals WHERE customer_id = 'c1';          what a table is now
SPARK SELECT count(*) FROM stoker.orders;               plain Spark SQL on topics"""


def history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "stoker" / "sql_history"


def is_complete(text: str) -> bool:
    """Whether the last statement has its semicolon; a text that is no SQL is complete, for it will be refused."""
    from stoker.streams.sql.errors import SqlSyntaxError
    from stoker.streams.sql.script import statements_of

    marked = f"{text}\nX"
    try:
        start, end = list(statements_of(marked))[-1]
    except SqlSyntaxError as error:
        return "without its closing" not in error.message
    return marked[start:end] == "X"


class Completion:
    """For `readline`: keywords, names of streams, tables and columns, functions; in the case that was begun with."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self._found: list[str] = []

    def __call__(self, text: str, number: int) -> str | None:
        if number == 0:
            self._found = self.choices(text)
        return self._found[number] if number < len(self._found) else None

    def choices(self, text: str) -> list[str]:
        known = dict.fromkeys([*self._names(), *_KEYWORDS])
        lower = text.islower()
        return [each.lower() if lower else each for each in known if text and each.upper().startswith(text.upper())]


def names_of(engine: "SqlEngine") -> list[str]:
    from stoker.streams.sql.functions import FUNCTIONS

    sources = list(engine.state.catalogue)
    columns = [column.name for source in sources for column in source.columns]
    return [*(each.name for each in sources), *columns, *engine.state.queries, *(f"{name}(" for name in FUNCTIONS)]


def prompt(engine: "SqlEngine", *, as_json: bool, read: Callable[[str], str] = input) -> None:
    """Until the end of input, or `exit`. An error is shown, and the next statement asked for."""
    _prepare_readline(Completion(lambda: names_of(engine)))
    before = signal.getsignal(signal.SIGINT)
    try:
        _ask(engine, as_json=as_json, read=read)
    finally:
        signal.signal(signal.SIGINT, before)
        _save_history()


def _ask(engine: "SqlEngine", *, as_json: bool, read: Callable[[str], str]) -> None:
    text = ""
    while True:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's would end the queries that run
        try:
            line = read(_MORE if text else _FIRST)
        except KeyboardInterrupt:
            text = ""
            print()
            continue
        except EOFError:
            print()
            break
        if not text and re.fullmatch(r"\s*(exit|quit)\s*;?\s*", line, re.IGNORECASE):
            break
        if not text and re.fullmatch(r"\s*help\s*;?\s*", line, re.IGNORECASE):
            print(_HELP)
            continue
        text = f"{text}\n{line}" if text else line
        if text.strip() and is_complete(text):
            _run(engine, text, as_json=as_json)
            text = ""
        elif not text.strip():
            text = ""


def _run(engine: "SqlEngine", text: str, *, as_json: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for result in engine.iterate(text):
            show(result, as_json=as_json)
    except StokerError as error:
        say(str(error))


def _prepare_readline(completion: Completion) -> None:
    try:
        import readline
    except ImportError:  # a Python without it: no history, no completion
        return
    readline.set_completer(completion)
    readline.set_completer_delims(" \t\n,()=<>+-*/;'\"")
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    try:
        readline.read_history_file(history_file())
    except OSError:
        pass  # there is none yet


def _save_history() -> None:
    try:
        import readline

        file = history_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        readline.write_history_file(file)
    except (ImportError, OSError):
        pass  # the next time begins without it
