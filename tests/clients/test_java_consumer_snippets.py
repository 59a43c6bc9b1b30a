"""Java consumers as tutorials write them; `snippets/around/` holds the programs that use them."""

import re
from collections.abc import Mapping

import pytest

from tests.clients.client import ClientRefused, Record
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.tutorials import source

pytestmark = pytest.mark.java


def run_around(java: JavaClients, program: str, snippet: str, more: Mapping[str, str] | None = None) -> list[str]:
    """Run the program with the snippet in its place, and with `more` classes; what it prints."""
    sources = {
        "Group": source("around/Group.java", java.bootstrap_servers),
        program: source(f"around/{program}.java", java.bootstrap_servers).replace("/* snippet */", snippet),
    }
    finished = java.run_source(program, sources | dict(more or {}))
    assert finished.status == 0, finished.error
    return finished.output.splitlines()


@pytest.mark.acceptance("S037")
def test_the_java_order_consumer(
    java: JavaClients, orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups
) -> None:
    """With the imports it lacks: commits per partition, and hands one of three partitions over to a second member."""
    consumer_groups.forget("order-processing-group")
    confluent.produce(orders, [Record(value=b"", key=b"k", partition=number % 3) for number in range(6)])
    imports = {
        "import java.util.Collections;": "import java.util.*; import org.apache.kafka.common.TopicPartition;",
    }
    order_consumer = source("OrderConsumer.java", java.bootstrap_servers, imports)
    lines = run_around(java, "UseOrderConsumer", "", {"OrderConsumer": order_consumer})
    processed = [line for line in lines if line.startswith("Topic: ")]
    assert sorted(processed) == [
        f"Topic: orders, Partition: {partition}, Offset: {offset}, Key: {'k' if offset < 2 else 'null'}"
        for partition in range(3)
        for offset in range(3)
    ]
    assigned = [re.findall(r"orders-\d", line) for line in lines if line.startswith("Assigned: ")]
    first, second = (each for each in assigned if each)
    assert sorted(first) == ["orders-0", "orders-1", "orders-2"]
    assert len(second) == 1
    assert consumer_groups.committed("order-processing-group", orders) == {0: 3, 1: 3, 2: 3}


@pytest.mark.acceptance("S038")
def test_the_java_async_commit(
    java: JavaClients, orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups
) -> None:
    """commitAsync commits what was polled without a word; what a removed member commits is refused, and its callback hears it."""
    consumer_groups.forget("async-committers")
    confluent.produce(orders, [Record(value=b"")] * 3)
    committed, warned = run_around(java, "UseCommitAsync", source("commit_async.java.txt", ""))
    assert committed == "committed, warnings: 0"
    assert re.match(
        r"warned: (Offset c|C)ommit cannot be completed since", warned
    )  # as its heartbeat has heard of it or not
    assert consumer_groups.committed("async-committers", orders)[0] == 3


@pytest.mark.acceptance("S039", "B086")
def test_the_java_seeks(java: JavaClients, orders: str, confluent: ConfluentKafka) -> None:
    """seek moves one partition, seekToBeginning and seekToEnd all; here each is followed by a look at the positions."""
    confluent.produce(orders, [Record(value=b"", partition=partition) for partition in (0, 0, 0, 1, 1, 2)])
    confluent.delete_records(orders, 1, 1)
    confluent.produce(orders, [Record(value=b"", partition=2)])
    seeks = source("seeks.java.txt", "").replace(";\n", "; show(consumer);\n")
    assert run_around(java, "UseSeeks", seeks) == ["[3, 2, 2]", "[0, 2, 2]", "[0, 1, 0]", "[3, 2, 2]"]


GENERICS = {
    "ConsumerRecords records": "ConsumerRecords<String, String> records",
    "ConsumerRecord r": "ConsumerRecord<String, String> r",
}


@pytest.mark.parametrize(
    ("snippet", "processed"),
    [
        pytest.param(
            "commit_before_processing.java.txt",
            ["0", "1", "failed", "last", "failed"],
            id="commit first",
            marks=pytest.mark.acceptance("S050", "B093"),
        ),
        pytest.param(
            "commit_after_processing.java.txt",
            ["0", "1", "failed", "0", "1", "2", "3", "4", "last", "failed"],
            id="process first",
            marks=pytest.mark.acceptance("S052", "B094"),
        ),
    ],
)
def test_a_java_loop_that_fails(
    java: JavaClients,
    orders: str,
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
    snippet: str,
    processed: list[str],
) -> None:
    """Commit, then process: after a failure the rest of the batch is skipped. Process, then commit: all of it comes again."""
    consumer_groups.forget("loops")
    confluent.produce(orders, [Record(value=str(number).encode()) for number in range(5)])
    with pytest.raises(ClientRefused, match="incompatible types"):  # a raw ConsumerRecords gives objects
        run_around(java, "UseProcessLoop", source(snippet, ""))
    assert run_around(java, "UseProcessLoop", source(snippet, "", GENERICS)) == processed


@pytest.mark.acceptance("S051")
def test_java_auto_commit_with_a_hand_off(
    java: JavaClients, orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups
) -> None:
    """Records handed to a thread are committed before it processes them, and lost with it; in a single-threaded loop none is."""
    for group in ("hand-off", "in-the-loop"):
        consumer_groups.forget(group)
    confluent.produce(orders, [Record(value=str(number).encode()) for number in range(5)])
    assert run_around(java, "UseAutoCommit", source("auto_commit.java.txt", "")) == [
        "after the crash: last",
        "after the crash: committed in time",
        *[f"in the loop: {value}" for value in (0, 1, 2, 3, 4, "last")],
        "in the loop: committed in time",
    ]
