"""kcat as people type it."""

import re
import shlex

import pytest

from tests.clients.client import Record
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.kcat import Kcat

pytestmark = pytest.mark.kcat


def run(kcat: Kcat, line: str, stdin: str = "") -> str:
    """A command line with only the address changed; what it prints."""
    words = shlex.split(line)
    assert words[:3] == ["kcat", "-b", "broker1:9092"]
    return kcat.run(*words[3:], stdin=stdin.encode()).stdout.decode()


@pytest.mark.acceptance("C006", "C041")
def test_a_keyed_record_is_written(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """`kcat -P -k` writes one record with that key."""
    run(kcat, 'kcat -b broker1:9092 -t orders -P -k "order-1"', '{"id":1,"amount":99.99}\n')
    [partition] = [each for each in range(3) if confluent.offset_range(orders, each)[1] == 1]
    [found] = confluent.read(orders, partition, count=1)
    assert (found.key, found.value) == (b"order-1", b'{"id":1,"amount":99.99}')


@pytest.mark.acceptance("C006", "C040")
def test_records_are_printed_by_a_format(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """Timestamp, partition, offset, key and value of five records, then kcat ends."""
    confluent.produce(orders, [Record(key=b"k", value=str(each).encode(), partition=1) for each in range(5)])
    stored = confluent.read(orders, 1, count=5)
    printed = run(kcat, r"kcat -b broker1:9092 -t orders -C -f '%T %p %o %k %s\n' -c 5")
    assert printed.splitlines() == [f"{each.timestamp} 1 {each.offset} k {each.offset}" for each in stored]


@pytest.mark.acceptance("C042")
def test_metadata_is_listed(kcat: Kcat, orders: str) -> None:
    """Brokers with the controller's mark, topics, partitions, leaders and ISRs."""
    listed = run(kcat, "kcat -b broker1:9092 -L")
    assert listed.startswith("Metadata for all topics (from broker ")
    brokers = re.findall(r"broker (\d+) at (\S+)( \(controller\))?\n", listed)
    assert {address for _, address, _ in brokers} == set(kcat.bootstrap_servers.split(","))
    assert len([mark for _, _, mark in brokers if mark]) == 1
    [partitions] = re.findall(r'topic "orders" with 3 partitions:\n((?:    partition.*\n){3})', listed)
    for number, line in enumerate(partitions.splitlines()):
        found = re.fullmatch(rf"    partition {number}, leader (\d+), replicas: (\S+), isrs: (\S+)", line)
        assert found is not None, line
        assert found[1] == found[2] == found[3]  # one replica, which leads and is in sync
        assert found[1] in {broker_id for broker_id, _, _ in brokers}


@pytest.mark.acceptance("C043")
def test_ten_records_of_one_partition_from_an_offset(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """`-p 2 -o 1000 -c 10` reads ten records of partition 2 from offset 1000; in a script it needs -C."""
    confluent.produce(orders, [Record(value=str(each).encode(), partition=2) for each in range(1100)])
    printed = run(kcat, "kcat -b broker1:9092 -t orders -p 2 -o 1000 -c 10 -C")
    assert printed.split() == [str(each) for each in range(1000, 1010)]


@pytest.mark.acceptance("C027")
def test_an_empty_value_becomes_a_tombstone(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """`kcat -P -Z -K:` with nothing after the key writes a null value."""
    run(kcat, "kcat -b broker1:9092 -t orders -p 0 -P -Z -K:", "user-123:\n")
    [found] = confluent.read(orders, 0, count=1)
    assert (found.key, found.value) == (b"user-123", None)


def test_the_last_records_are_read_from_the_tail(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """`-o -3` starts three records before the end, and -e ends there."""
    confluent.produce(orders, [Record(value=str(each).encode()) for each in range(10)])
    assert run(kcat, "kcat -b broker1:9092 -C -t orders -p 0 -o -3 -e -q").split() == ["7", "8", "9"]


def test_records_between_two_times_are_read(kcat: Kcat, orders: str, confluent: ConfluentKafka) -> None:
    """`-o s@TIME -o e@TIME` reads from the one to before the other."""
    confluent.produce(orders, [Record(value=str(each).encode(), timestamp=1_000 * each) for each in range(1, 10)])
    printed = run(kcat, "kcat -b broker1:9092 -C -t orders -p 0 -o s@3000 -o e@6000 -e -q")
    assert printed.split() == ["3", "4", "5"]
