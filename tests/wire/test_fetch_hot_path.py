"""The fast way to write a Fetch response agrees with the schema, whatever the message."""

from dataclasses import dataclass
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.fetch_hot_path import FetchedPartition, encode_fetched
from stoker.wire.messages.fetch import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData

VERSIONS = range(FetchResponse.MIN_VERSION, FetchResponse.MAX_VERSION + 1)
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@dataclass(frozen=True)
class Stretch:
    """Records that stay where they are; here they are bytes after all."""

    content: bytes

    @property
    def length(self) -> int:
        return len(self.content)


Fetched = FetchedPartition[Stretch]

FETCHED = st.builds(
    Fetched,
    index=INT32,
    error_code=INT16,
    high_watermark=INT64,
    last_stable_offset=INT64,
    log_start_offset=INT64,
    aborted_transactions=st.none() | st.lists(st.tuples(INT64, INT64), max_size=3),
    records=st.binary(max_size=200) | st.builds(Stretch, st.binary(max_size=200)),
)


@given(
    st.sampled_from(VERSIONS),
    INT16,
    INT32,
    st.lists(st.tuples(st.text(max_size=200), st.uuids(), st.lists(FETCHED, max_size=3)), max_size=3),
)
def test_a_response_is_written_as_the_schema_writes_it(
    version: int, error_code: int, session_id: int, topics: list[tuple[str, UUID, list[Fetched]]]
) -> None:
    response = FetchResponse(
        error_code=error_code,
        session_id=session_id if version >= 7 else 0,
        responses=[
            FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=[_as_message(each) for each in partitions])
            for name, topic_id, partitions in topics
        ],
    )
    named: list[tuple[str | UUID, list[Fetched]]] = [
        (topic_id if version >= 13 else name, partitions) for name, topic_id, partitions in topics
    ]
    parts, size = encode_fetched(version, error_code=error_code, session_id=session_id, topics=named)
    body = b"".join(part if isinstance(part, bytes) else part.content for part in parts)
    assert body == response.encode(version)
    assert size == len(body)


def _as_message(fetched: Fetched) -> PartitionData:
    aborted = fetched.aborted_transactions
    return PartitionData(
        partition_index=fetched.index,
        error_code=fetched.error_code,
        high_watermark=fetched.high_watermark,
        last_stable_offset=fetched.last_stable_offset,
        log_start_offset=fetched.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [AbortedTransaction(producer_id=producer, first_offset=first) for producer, first in aborted],
        records=fetched.records if isinstance(fetched.records, bytes) else fetched.records.content,
    )
