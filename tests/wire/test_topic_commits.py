"""The short cut writes what the codec of single records would."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.group_records import GroupRecord, encode_key, encode_value
from stoker.wire.messages.offset_commit import OffsetCommitRequestPartition
from stoker.wire.record_batch import Record, build_batch, build_batch_at
from stoker.wire.topic_commits import TopicCommits

_INT64 = st.integers(-(2**63), 2**63 - 1)
_INT32 = st.integers(-(2**31), 2**31 - 1)

partitions = st.builds(
    OffsetCommitRequestPartition,
    partition_index=_INT32,
    committed_offset=_INT64,
    committed_leader_epoch=_INT32,
    committed_metadata=st.none() | st.text(st.characters(codec="utf-8"), max_size=150),
)
commits = st.builds(
    TopicCommits,
    group=st.text(st.characters(codec="utf-8"), max_size=50),
    topic=st.text(st.characters(codec="utf-8"), max_size=50),
    topic_id=st.uuids() | st.just(UUID(int=0)),
    commit_timestamp=_INT64,
    expire_timestamp=st.just(-1) | _INT64,
    partitions=st.lists(partitions, min_size=1, max_size=100),
)


@given(st.lists(commits, min_size=1, max_size=3))
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
