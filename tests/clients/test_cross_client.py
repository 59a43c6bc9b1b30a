"""What one client writes, every other reads."""

from dataclasses import dataclass

import pytest

from tests.clients.client import Client, Codec, Record, by_partition, fresh_topic
from tests.clients.conftest import Clients
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.matrix import CLIENTS, READERS
from tests.clients.records import KEEP_FOREVER, PARTITIONS, samples_for

CODEC_OF_WRITER: dict[str, Codec] = {
    "confluent-kafka": "zstd",
    "kafka-python": "snappy",
    "aiokafka": "lz4",
    "kafkajs": "lz4",
    "kcat": "snappy",
    "java": "gzip",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    topic: str
    records: list[Record]


@pytest.fixture(scope="module")
def written_by(clients: Clients, confluent: ConfluentKafka) -> dict[type[Client], Written]:
    """What each client has written so far, a topic each."""
    return {}


@pytest.fixture
def written(
    request: pytest.FixtureRequest,
    clients: Clients,
    confluent: ConfluentKafka,
    written_by: dict[type[Client], Written],
) -> Written:
    """The samples, written once by the client that the parameter names, compressed in a codec that differs between writers."""
    driver: type[Client] = request.param
    if driver not in written_by:
        written = Written(topic=fresh_topic(f"by-{driver.name}"), records=samples_for(driver.abilities))
        confluent.create_ready_topic(written.topic, partitions=PARTITIONS, configs=KEEP_FOREVER)
        clients.of(driver).produce(written.topic, written.records, codec=CODEC_OF_WRITER[driver.name])
        written_by[driver] = written
    return written_by[driver]


@pytest.mark.acceptance("B032")
@pytest.mark.parametrize("reader", READERS, indirect=True)
@pytest.mark.parametrize("written", CLIENTS, indirect=True)
def test_every_client_reads_what_every_client_writes(written: Written, reader: Client) -> None:
    """Keys, values, headers and timestamps are the same bytes to the reader as to the writer, whichever two clients meet."""
    for partition, expected in by_partition(written.records).items():
        found = reader.read(written.topic, partition, count=len(expected))
        assert [each.value for each in found] == [record.value for record in expected]
        assert [each.key for each in found] == [record.key for record in expected]
        assert [each.headers for each in found] == [record.headers for record in expected]
        assert [each.offset for each in found] == list(range(len(expected)))
        for each, record in zip(found, expected, strict=True):
            assert record.timestamp in (None, each.timestamp)
