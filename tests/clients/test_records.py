"""What a client writes is what is read: every codec, every form of a record, every kind of acknowledgement."""

import pytest

from tests.clients.client import (
    CODECS,
    Acks,
    Client,
    ClientRefused,
    Codec,
    Record,
    StoredRecord,
    by_partition,
    eventually,
)
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.matrix import CLIENTS, READERS
from tests.clients.records import samples_for


def written_and_read(
    client: Client, topic: str, onlooker: Client, *, codec: Codec = "none", acks: Acks = "all", idempotent: bool = False
) -> tuple[list[Record], list[int], list[StoredRecord]]:
    """The records a client was given, the offsets it told, and what comes back partition by partition."""
    records = samples_for(client.abilities)
    offsets = client.produce(topic, records, codec=codec, acks=acks, idempotent=idempotent)
    reader = client if client.abilities.reads else onlooker
    stored = [
        found
        for partition, expected in by_partition(records).items()
        for found in reader.read(topic, partition, count=len(expected))
    ]
    return records, offsets, stored


def contents(stored: list[StoredRecord], records: list[Record]) -> list[Record]:
    """What was read, without the timestamps where the producer's clock made them."""
    return [
        Record(
            value=found.value,
            key=found.key,
            headers=found.headers,
            timestamp=None if given.timestamp is None else found.timestamp,
            partition=found.partition,
        )
        for found, given in zip(stored, records, strict=True)
    ]


@pytest.mark.acceptance("B021", "B032")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_records_come_back_as_they_were_given(
    client: Client, codec: Codec, topic: str, confluent: ConfluentKafka
) -> None:
    """Key, value, headers, timestamp and partition survive a round trip, null and empty forms too, in every codec."""
    records, offsets, stored = written_and_read(client, topic, confluent, codec=codec)
    assert contents(stored, records) == records
    assert [found.offset for found in stored] == offsets


@pytest.mark.parametrize(
    ("acks", "idempotent"),
    [
        pytest.param("0", False, marks=pytest.mark.acceptance("B049")),
        pytest.param("1", False, marks=pytest.mark.acceptance("B050")),
        pytest.param("all", False, marks=pytest.mark.acceptance("B051")),
        pytest.param("all", True, marks=pytest.mark.acceptance("B062")),
    ],
)
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_each_acknowledgement_setting_delivers(
    client: Client, acks: Acks, idempotent: bool, topic: str, confluent: ConfluentKafka
) -> None:
    """The records are there whatever acks was, and acks=1 and all tell the producer the right offsets."""
    records, offsets, stored = written_and_read(client, topic, confluent, acks=acks, idempotent=idempotent)
    assert contents(stored, records) == records
    if acks != "0":  # then no offset is told, and each client makes up its own
        assert offsets == [found.offset for found in stored]


@pytest.mark.acceptance("B062")
@pytest.mark.parametrize("acks", ["0", "1"])
@pytest.mark.parametrize("client", READERS, indirect=True)
def test_idempotence_without_acks_all_is_refused_by_the_client(client: Client, acks: Acks, topic: str) -> None:
    """Idempotence needs acks=all: a client that is told otherwise refuses to start."""
    with pytest.raises(ClientRefused):
        client.produce(topic, [Record(value=b"never sent")], acks=acks, idempotent=True)
    assert client.offset_range(topic, 0) == (0, 0)


@pytest.mark.acceptance("B055")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_chosen_partition_gets_the_record_whatever_its_key(
    client: Client, topic: str, confluent: ConfluentKafka
) -> None:
    """An explicit partition bypasses the partitioner: one key, three partitions."""
    records = [Record(key=b"same", value=str(partition).encode(), partition=partition) for partition in (2, 0, 1)]
    client.produce(topic, records)
    for partition in range(3):
        [found] = confluent.read(topic, partition, count=1)
        assert (found.key, found.value) == (b"same", str(partition).encode())


@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_records_keep_the_order_of_sending(client: Client, topic: str, confluent: ConfluentKafka) -> None:
    """A thousand records sent at once to one partition are stored in the order of sending."""
    values = [str(number).encode() for number in range(1000)]
    offsets = client.produce(topic, [Record(value=value) for value in values], idempotent=True)
    assert offsets == list(range(1000))
    reader = client if client.abilities.reads else confluent
    assert [found.value for found in reader.read(topic, 0, count=1000)] == values


def test_unacknowledged_records_appear(confluent: ConfluentKafka, topic: str) -> None:
    """With acks=0 the end of the log moves although nobody was told."""
    confluent.produce(topic, [Record(value=b"")] * 10, acks="0")
    assert eventually(lambda: confluent.offset_range(topic, 0), lambda found: found[1] == 10) == (0, 10)
