"""What becomes of a batch on the broker's side of the wire: kept byte for byte, acknowledged, recognised when it comes twice."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.client import CODECS, BrokerRefused, Code, Codec, Record, eventually, fresh_topic
from tests.clients.connection import FROM_ATTRIBUTES_ON, Connection, batch, codec_of
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.records import KEEP_FOREVER

VALUES = [b"the same again and again " * 20] * 5


@pytest.fixture
def connection(broker_address: str, topic: str) -> Iterator[Connection]:
    with Connection(broker_address, topic) as bare:
        yield bare


@pytest.mark.acceptance("B025", "B321")
@pytest.mark.parametrize("codec", CODECS)
def test_the_broker_keeps_a_compressed_batch_as_it_came(connection: Connection, topic: str, codec: Codec) -> None:
    """With compression.type=producer, the default, what is fetched is byte for byte what was produced."""
    sent = batch(VALUES, codec=codec)
    assert connection.produce(topic, sent).error_code == 0
    assert connection.fetch(topic, 0)[FROM_ATTRIBUTES_ON] == sent[FROM_ATTRIBUTES_ON]


@pytest.mark.acceptance("B025")
@pytest.mark.parametrize(
    ("sent_in", "setting", "kept_in"),
    [
        ("none", "gzip", "gzip"),
        ("none", "zstd", "zstd"),
        ("gzip", "lz4", "lz4"),
        ("lz4", "snappy", "snappy"),
        ("zstd", "uncompressed", "none"),
    ],
)
def test_a_topic_of_another_codec_compresses_anew(
    broker_address: str, confluent: ConfluentKafka, sent_in: Codec, setting: str, kept_in: Codec
) -> None:
    """A compression.type other than producer changes the codec of the batch and not the records."""
    topic = fresh_topic("recompressed")
    confluent.create_ready_topic(topic, configs=KEEP_FOREVER | {"compression.type": setting})
    with Connection(broker_address, topic) as connection:
        assert connection.produce(topic, batch(VALUES, codec=sent_in)).error_code == 0
        assert codec_of(connection.fetch(topic, 0)) == kept_in
    assert [each.value for each in confluent.read(topic, 0, count=len(VALUES))] == VALUES


@pytest.mark.acceptance("B049")
def test_a_batch_without_acks_gets_no_answer(connection: Connection, topic: str) -> None:
    """acks=0: no response frame is sent; the next answer on the connection is that of the next request."""
    connection.produce_unacknowledged(topic, batch(VALUES))
    sent, answered = connection.api_versions_correlation()
    assert answered == sent
    assert connection.produce(topic, batch(VALUES)).base_offset == len(VALUES)


def test_batches_without_acks_count_when_the_client_leaves_at_once(
    broker_address: str, topic: str, confluent: ConfluentKafka
) -> None:
    """A producer with acks=0 sends, thinks it done and closes: what has arrived is written all the same."""
    count = 2000
    with Connection(broker_address, topic) as leaving:
        leaving.produce_unacknowledged(topic, *[batch([b"x"])] * count)
    expected = (0, count)
    assert eventually(lambda: confluent.offset_range(topic, 0), lambda found: found == expected) == expected


@pytest.mark.acceptance("B050", "B051")
@pytest.mark.parametrize("acks", [1, -1])
def test_an_acknowledged_batch_can_be_read_at_once(connection: Connection, topic: str, acks: int) -> None:
    """acks=1 and acks=all answer with the offset once the batch is in the log: a fetch after the answer finds it."""
    produced = connection.produce(topic, batch(VALUES), acks=acks)
    assert (produced.error_code, produced.base_offset) == (0, 0)
    assert connection.fetch(topic, 0)[FROM_ATTRIBUTES_ON] == batch(VALUES)[FROM_ATTRIBUTES_ON]


@pytest.mark.acceptance("B059", "S029")
def test_a_batch_sent_again_is_acknowledged_and_not_written(
    connection: Connection, topic: str, confluent: ConfluentKafka
) -> None:
    """Each of the last five batches of an idempotent producer, sent again, gets the old offset; one copy is in the log."""
    producer_id, epoch = connection.new_producer_id()
    batches = [
        batch([str(number).encode()], producer_id=producer_id, epoch=epoch, sequence=number) for number in range(6)
    ]
    assert [connection.produce(topic, each).base_offset for each in batches] == [0, 1, 2, 3, 4, 5]
    for offset in (1, 2, 3, 4, 5):
        again = connection.produce(topic, batches[offset])
        assert (again.error_code, again.base_offset) == (0, offset)
    assert confluent.offset_range(topic, 0) == (0, 6)


@pytest.mark.acceptance("B060", "S029")
def test_a_gap_in_the_sequence_is_refused(connection: Connection, topic: str, confluent: ConfluentKafka) -> None:
    """A batch whose sequence skips one gets OUT_OF_ORDER_SEQUENCE_NUMBER; the producer may go on where it was."""
    producer_id, epoch = connection.new_producer_id()

    def produce(sequence: int) -> int:
        return connection.produce(
            topic, batch([b"x"], producer_id=producer_id, epoch=epoch, sequence=sequence)
        ).error_code

    assert [produce(0), produce(2), produce(1)] == [0, Code.OUT_OF_ORDER_SEQUENCE_NUMBER, 0]
    assert confluent.offset_range(topic, 0) == (0, 2)


@pytest.mark.acceptance("B059")
def test_producer_ids_differ(connection: Connection) -> None:
    """The broker gives each producer an id of its own, with epoch 0."""
    given = [connection.new_producer_id() for _ in range(20)]
    assert len({producer_id for producer_id, _ in given}) == 20
    assert {epoch for _, epoch in given} == {0}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(lambda sent: sent[:-1] + bytes([sent[-1] ^ 1]), 2, id="a flipped bit"),
        pytest.param(lambda sent: sent + sent, Code.INVALID_RECORD, id="two batches"),
    ],
)
def test_a_broken_batch_is_refused(
    connection: Connection, topic: str, change: Callable[[bytes], bytes], code: int
) -> None:
    """CORRUPT_MESSAGE for a wrong CRC, INVALID_RECORD for more than one batch; nothing is written."""
    assert connection.produce(topic, change(batch(VALUES))).error_code == code
    assert connection.produce(topic, batch(VALUES)).base_offset == 0


def test_a_record_without_a_key_has_no_place_in_a_compacted_topic(confluent: ConfluentKafka) -> None:
    """Kafka refuses it with INVALID_RECORD, and so says every client."""
    topic = fresh_topic("compacted")
    confluent.create_ready_topic(topic, configs={"cleanup.policy": "compact"})
    with pytest.raises(BrokerRefused) as refused:
        confluent.produce(topic, [Record(value=b"no key")])
    assert refused.value.code == Code.INVALID_RECORD
    confluent.produce(topic, [Record(key=b"key", value=None)])
