"""How much one Fetch brings (KIP-74): the limits are kept, but for a first batch that is larger than they are."""

import pytest

from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.raw_connection import RawConnection, batch_of

SMALL = batch_of(b"x" * 100)
LARGE = batch_of(b"x" * 100_000)
SIZES = {"small": len(SMALL), "large": len(LARGE)}

LIMITS: dict[str, tuple[int, int, list[list[str]], list[list[str]]]] = {
    # max_bytes, partition_max_bytes, batches of each partition, batches that come
    "everything": (10**6, 10**6, [["small"] * 3, ["small"]], [["small"] * 3, ["small"]]),
    "so much of a partition": (10**6, 2 * len(SMALL), [["small"] * 3, ["small"]], [["small"] * 2, ["small"]]),
    "so much in all": (2 * len(SMALL), 10**6, [["small"] * 3, ["small"]], [["small"] * 2, []]),
    "a first batch larger than its partition's limit": (10**6, 10, [["large", "small"], ["small"]], [["large"], []]),
    "a first batch larger than all": (10, 10**6, [["large", "small"], ["small"]], [["large"], []]),
    "no room at all": (0, 0, [["small", "small"], ["small"]], [["small"], []]),
    "negative room": (-5, -5, [["small", "small"], ["small"]], [["small"], []]),
    "large, by sendfile": (10**6, 10**6, [["large"] * 3, ["large"]], [["large"] * 3, ["large"]]),
    "a second partition too large for the rest": (10_000, 10**6, [["small"], ["large"]], [["small"], []]),
}


@pytest.mark.parametrize("version", [4, 11, 12])
@pytest.mark.parametrize(("max_bytes", "partition_max_bytes", "written", "read"), LIMITS.values(), ids=list(LIMITS))
def test_limits(
    connection: RawConnection,
    request: pytest.FixtureRequest,
    max_bytes: int,
    partition_max_bytes: int,
    written: list[list[str]],
    read: list[list[str]],
    version: int,
) -> None:
    topic = f"limits-{abs(hash(request.node.name))}"
    connection.create_topic(topic, partitions=len(written))
    for index, batches in enumerate(written):
        for name in batches:
            connection.produce(topic, SMALL if name == "small" else LARGE, partition=index)
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=partition_max_bytes)
        for index in range(len(written))
    ]
    fetch = FetchRequest(session_epoch=-1, max_bytes=max_bytes, topics=[FetchTopic(topic=topic, partitions=wanted)])
    partitions = connection.call(fetch, version).responses[0].partitions
    assert [len(partition.records or b"") for partition in partitions] == [
        sum(SIZES[name] for name in batches) for batches in read
    ]
