"""The short cut writes what the codec of single records would."""

from itertools import cycle, islice
from typing import TypeVar
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.group_records import GroupRecord, encode_key, encode_value
from stoker.wire.record_batch import Record, build_batch, build_batch_at
from stoker.wire.topic_commits import TopicCommits

T = TypeVar("T")
_INT64 = st.integers(-(2**63), 2**63 - 1)
_INT32 = st.integers(-(2**31), 2**31 - 1)

_TEXT = st.characters(codec="utf-8")


@st.composite
def commits(draw: st.DrawFn) -> TopicCommits:
    count = draw(st.integers(1, 100) | st.integers(240, 260) | st.integers(500, 510))
    first = draw(st.integers(-(2**31), 2**31 - 1 - count))
    return TopicCommits(
        group=draw(st.text(_TEXT, max_size=50) | st.just("g" * 300)),
        topic=draw(st.text(_TEXT, max_size=50)),
        topic_id=draw(st.uuids() | st.just(UUID(int=0))),
        commit_timestamp=draw(_INT64),
        expire_timestamp=draw(st.just(-1) | _INT64),
        partitions=tuple(range(first, first + count)),
        offsets=_column(draw, _INT64, count),
        leader_epochs=_column(draw, _INT32, count),
        metadata=draw(st.none() | st.just(_column(draw, st.text(_TEXT, max_size=150), count))),
    )


def _column(draw: st.DrawFn, values: st.SearchStrategy[T], count: int) -> tuple[T, ...]:
    """A few values, over and over: drawing hundreds takes long."""
    few = draw(st.lists(values, min_size=1, max_size=7))
    return tuple(islice(cycle(few), count))


@given(st.lists(commits(), min_size=1, max_size=3))
def test_the_bytes_are_those_of_single_records(written: list[TopicCommits]) -> None:
    body = bytearray()
    singles: list[GroupRecord] = []
    for each in written:
        each.append_to(body, len(singles))
        singles += each.records()
    expected = build_batch(
        [
            Record(timestamp=5, key=encode_key(key), value=None if value is None else encode_value(value))
            for key, value in singles
        ]
    )
    assert bytes(build_batch_at(5, body, len(singles))) == expected
