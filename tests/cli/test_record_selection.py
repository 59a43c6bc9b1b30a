"""Which records are written."""

import re
from collections.abc import Sequence

import pytest

from stoker.cli.record_selection import Selection
from tests.cli.test_record_format import FakeRecord

RECORDS = [
    FakeRecord(at_offset=0, with_key=b"a", with_value=b"red apple"),
    FakeRecord(at_offset=1, with_key=b"b", with_value=b"green apple"),
    FakeRecord(at_offset=2, with_key=None, with_value=b"red plum"),
    FakeRecord(at_offset=3, with_key=b"a", with_value=None),
    FakeRecord(at_offset=4, with_key=b"a", with_value=b"\xff red \xc3\xbc"),
]


def offsets(records: Sequence[FakeRecord]) -> list[int]:
    return [record.offset() for record in records]


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection(), [0, 1, 2, 3, 4]),
        (Selection(value="red"), [0, 2, 4]),
        (Selection(value="^red"), [0, 2]),
        (Selection(value="(?i)RED [Ü]"), [4]),
        (Selection(key="[ab]"), [0, 1, 3, 4]),
        (Selection(value="red", key="a"), [0, 4]),
        (Selection(value=""), [0, 1, 2, 4]),
    ],
)
def test_chooses(selection: Selection, chosen: list[int]) -> None:
    found, looked_at = selection.choose(RECORDS)
    assert offsets(found) == chosen
    assert looked_at == selection.seen == 5
    assert selection.chosen == len(chosen)
    assert not selection.is_full


@pytest.mark.parametrize(("pattern", "chosen", "looked_at"), [(None, [0, 1], 2), ("red", [0, 2], 3)])
def test_the_limit_ends_the_search(pattern: str | None, chosen: list[int], looked_at: int) -> None:
    """What lies behind the last chosen record was not looked at: a group must not commit it."""
    selection = Selection(value=pattern, limit=2)
    found, count = selection.choose(RECORDS)
    assert (offsets(found), count) == (chosen, looked_at)
    assert selection.is_full
    assert selection.seen == looked_at


def test_the_limit_holds_over_batches() -> None:
    selection = Selection(limit=7)
    assert len(selection.choose(RECORDS)[0]) == 5
    assert not selection.is_full
    found, looked_at = selection.choose(RECORDS)
    assert (offsets(found), looked_at) == ([0, 1], 2)
    assert selection.is_full


def test_a_malformed_pattern() -> None:
    with pytest.raises(re.error):
        Selection(value="(")
