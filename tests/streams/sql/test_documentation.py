"""docs/sql.md: its reference is that of the code."""

from pathlib import Path

from stoker.streams.sql.document import HEADING, reference
from stoker.streams.sql.functions import FUNCTIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "sql.md"


def test_the_reference_is_up_to_date() -> None:
    """python -m stoker.streams.sql.document docs/sql.md writes it."""
    assert PAGE.read_text().partition(HEADING)[1:] == (HEADING, reference().removeprefix(HEADING))


def test_each_function_is_in_it() -> None:
    assert [name for name in FUNCTIONS if f"| `{name}(" not in PAGE.read_text()] == []
