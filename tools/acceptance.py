"""Write docs/acceptance.md: which row of the acceptance list is shown by which test.

    python -m tools.acceptance            write the page
    python -m tools.acceptance --check    exit with 1 if the page is not what the tests say

The tests are the only source: a test marked `@pytest.mark.acceptance("B059", ...)` shows these rows, and the first line
of its docstring says what it shows. One that has no docstring is refused by name.
"""

import argparse
import contextlib
import inspect
import io
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "acceptance.md"

HEAD = """\
# What the tests show

Stoker is held to a list of commands (C), snippets (S) and behaviours (B) that Kafka's users rely on. A row counts only
when a test shows it. `make acceptance` writes this page from the tests' markers, and a test fails when it is out of date.

"""

ROW_ID = re.compile(r"[BCS]\d{3}")


class UnusableMarker(Exception):
    """A marked test that the page cannot show; the message names it and says what is missing."""


@dataclass(frozen=True, order=True, kw_only=True, slots=True)
class Showing:
    """One test that shows one row."""

    row: str
    test: str
    shows: str


class Collector:
    """A pytest plugin that keeps what was collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)


def collect() -> list[pytest.Item]:
    """All tests, the soak tests included, without running any."""
    collector = Collector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main(["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"], plugins=[collector])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise UnusableMarker(f"pytest could not collect the tests:\n{output.getvalue()}")
    return collector.items


def showings(items: Iterable[pytest.Item]) -> list[Showing]:
    """Each marked test once for each of its rows, by row and test; the cases of one test are one."""
    return sorted(
        {
            Showing(row=row, test=item.nodeid.partition("[")[0], shows=_first_docstring_line(item))
            for item in items
            for marker in item.iter_markers("acceptance")
            for row in _rows(item, marker)
        }
    )


def page(found: Sequence[Showing]) -> str:
    lines = ["| row | what the test shows | test |", "|---|---|---|"]
    lines += [f"| {each.row} | {_cell(each.shows)} | `{each.test}` |" for each in found]
    rows = len({each.row for each in found})
    return f"{HEAD}{rows} rows are shown by {len({each.test for each in found})} tests.\n\n" + "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _rows(item: pytest.Item, marker: pytest.Mark) -> tuple[str, ...]:
    rows = marker.args
    if not rows or not all(isinstance(row, str) and ROW_ID.fullmatch(row) for row in rows):
        raise UnusableMarker(f"{item.nodeid}: acceptance takes row ids such as 'B059', not {rows!r}")
    return rows


def _first_docstring_line(item: pytest.Item) -> str:
    docstring = inspect.getdoc(item.obj) if isinstance(item, pytest.Function) else None
    if not docstring:
        raise UnusableMarker(f"{item.nodeid}: a test marked acceptance needs a docstring that says what it shows")
    return docstring.splitlines()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="write docs/acceptance.md from the tests' acceptance markers")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    options = parser.parse_args(arguments)
    try:
        text = page(showings(collect()))
    except UnusableMarker as problem:
        print(problem, file=sys.stderr)
        return 1
    if not options.check:
        PAGE.write_text(text)
        return 0
    if not PAGE.exists() or PAGE.read_text() != text:
        print("docs/acceptance.md is not what the tests say: run `make acceptance`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
