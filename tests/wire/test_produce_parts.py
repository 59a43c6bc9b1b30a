"""The parts of a Produce request are, one behind the other, what its schema says."""

from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.produce_parts import LAST_WITH_TOPIC_NAMES, produce_parts

names = st.text(max_size=200)
partitions = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.lists(st.binary(max_size=300), max_size=3)), max_size=5)


@given(
    st.none() | names,
    st.integers(-1, 1),
    st.integers(0, 2**31 - 1),
    st.dictionaries(names, partitions, max_size=4),
    st.integers(ProduceRequest.MIN_VERSION, LAST_WITH_TOPIC_NAMES),
)
def test_the_parts_are_the_request(
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
    topics: dict[str, list[tuple[int, list[bytes]]]],
    version: int,
) -> None:
    data = [
        TopicProduceData(
            name=name,
            partition_data=[PartitionProduceData(index=index, records=b"".join(records)) for index, records in each],
        )
        for name, each in topics.items()
    ]
    request = ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=data)
    parts = produce_parts(transactional_id, acks, timeout_ms, topics, version)
    assert b"".join(parts) == request.encode(version)


def test_batches_are_parts_as_they_are() -> None:
    batch = bytearray(100)
    assert any(part is batch for part in produce_parts(None, -1, 1000, {"orders": [(0, [batch])]}, 12))
