"""Where reading starts: an offset, a time, the beginning, the end."""

import pytest

from tests.clients.client import BrokerRefused, Client, Code, Record, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.matrix import CLIENTS, READERS, RECORD_DELETERS
from tests.clients.records import KEEP_FOREVER, NOON

COUNT = 100
SECOND = 1000


@pytest.fixture(scope="module")
def a_record_each_second(confluent: ConfluentKafka) -> str:
    """A topic of one partition with a hundred records, one each second from noon on, compressed in batches of ten."""
    topic = fresh_topic("seconds")
    confluent.create_ready_topic(topic, configs=KEEP_FOREVER)
    for first in range(0, COUNT, 10):
        batch = [Record(value=str(each).encode(), timestamp=NOON + each * SECOND) for each in range(first, first + 10)]
        confluent.produce(topic, batch, codec="lz4")
    return topic


@pytest.mark.parametrize("start", [0, 1, 10, 55, 99])
@pytest.mark.parametrize("client", READERS, indirect=True)
def test_reading_starts_at_an_offset(client: Client, a_record_each_second: str, start: int) -> None:
    """An offset in the middle of a compressed batch is found as one at its start is."""
    found = client.read(a_record_each_second, 0, start=start, count=COUNT - start)
    assert [each.offset for each in found] == list(range(start, COUNT))
    assert [each.value for each in found] == [str(offset).encode() for offset in range(start, COUNT)]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [
        pytest.param(0, 0, id="before the first"),
        pytest.param(NOON, 0, id="the first"),
        pytest.param(NOON + 1, 1, id="just after the first"),
        pytest.param(NOON + 45 * SECOND, 45, id="in the middle of a batch"),
        pytest.param(NOON + 49 * SECOND + 500, 50, id="between two batches"),
        pytest.param(NOON + 99 * SECOND, 99, id="the last"),
        pytest.param(NOON + 99 * SECOND + 1, None, id="after the last"),
    ],
)
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_time_leads_to_the_first_record_at_or_after_it(
    client: Client, a_record_each_second: str, timestamp: int, offset: int | None
) -> None:
    assert client.offset_for_time(a_record_each_second, 0, timestamp) == offset


@pytest.mark.parametrize("client", READERS, indirect=True)
def test_reading_starts_at_a_time(client: Client, a_record_each_second: str) -> None:
    offset = client.offset_for_time(a_record_each_second, 0, NOON + 30 * SECOND)
    assert offset is not None
    [found] = client.read(a_record_each_second, 0, start=offset, count=1)
    assert (found.timestamp, found.value) == (NOON + 30 * SECOND, b"30")


@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_the_range_of_offsets_is_told(client: Client, a_record_each_second: str, topic: str) -> None:
    assert client.offset_range(a_record_each_second, 0) == (0, COUNT)
    assert client.offset_range(topic, 0) == (0, 0)


@pytest.mark.parametrize("client", READERS, indirect=True)
def test_a_reader_at_the_end_gets_what_is_written_next(client: Client, topic: str, confluent: ConfluentKafka) -> None:
    """Latest means the end as it is now: the reader sees the next record, and not those before."""
    confluent.produce(topic, [Record(value=b"old")] * 3)
    _, end = client.offset_range(topic, 0)
    confluent.produce(topic, [Record(value=b"new")])
    [found] = client.read(topic, 0, start=end, count=1)
    assert (found.offset, found.value) == (3, b"new")


@pytest.mark.parametrize("client", READERS, indirect=True)
def test_an_offset_beyond_the_end_is_out_of_range(client: Client, topic: str) -> None:
    """Without a reset policy the client passes on OFFSET_OUT_OF_RANGE."""
    with pytest.raises(BrokerRefused) as refused:
        client.read(topic, 0, start=7, count=1)
    assert refused.value.code == Code.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("client", RECORD_DELETERS, indirect=True)
def test_deleted_records_are_gone(client: Client, topic: str, confluent: ConfluentKafka) -> None:
    """DeleteRecords moves the earliest offset; what is before it can no longer be read."""
    confluent.produce(topic, [Record(value=str(each).encode()) for each in range(10)])
    client.delete_records(topic, 0, 4)
    assert client.offset_range(topic, 0) == (4, 10)
    assert [each.offset for each in confluent.read(topic, 0, count=6)] == list(range(4, 10))
    with pytest.raises(BrokerRefused) as refused:
        confluent.read(topic, 0, start=3, count=1)
    assert refused.value.code == Code.OFFSET_OUT_OF_RANGE
