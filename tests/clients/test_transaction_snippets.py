"""Transactions as tutorials write them, in Python, Java and JavaScript; `snippets/around/` holds the programs that use them."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.apache_kafka import FAST_START
from tests.clients.client import WAIT_SECONDS, Record, eventually
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.program import Program
from tests.clients.transactions.confluent import ConfluentTransactions
from tests.clients.tutorials import node_program, python_program, run_python, source
from tests.conftest import SPRING_JARS

GROUP = "transactional-snippets"
SMALL = {"max.message.bytes": "500"}
"""Of a topic that refuses a record, so that the transaction which sent it must be aborted."""

Topics = Callable[..., None]
Committed = Callable[[str], list[str]]


@pytest.fixture
def topics(confluent: ConfluentKafka) -> Topics:
    """Makes topics with the names that tutorials have chosen, new and empty, of one partition."""

    def make(*names: str, configs: Mapping[str, str] | None = None) -> None:
        for name in names:
            confluent.create_anew(name, configs=configs)

    return make


@pytest.fixture
def committed(broker_address: str) -> Committed:
    """The committed values of a topic, when no transaction on it is open any more."""
    client = ConfluentTransactions(broker_address)

    def ends(topic: str) -> tuple[int, int]:
        """Both of one moment: markers that are still on their way move them."""
        return client.end(topic, isolation="read_uncommitted"), client.end(topic, isolation="read_committed")

    def ask(topic: str) -> list[str]:
        last, stable = eventually(lambda: ends(topic), lambda each: each[0] == each[1])
        assert last == stable
        return [value.decode() for value in client.read_to_end(topic, isolation="read_committed")]

    return ask


def run_around(java: JavaClients, program: str, snippet: str) -> list[str]:
    """Run the program with the snippet in its place; what it prints."""
    sources = {
        "KafkaProducer": source("around/KafkaProducer.java", java.bootstrap_servers),
        program: source(f"around/{program}.java", java.bootstrap_servers).replace("/* snippet */", snippet),
    }
    finished = java.run_source(program, sources)
    assert finished.status == 0, finished.error
    return finished.output.splitlines()


BASE_CONFIG = """
props.put("bootstrap.servers", "ADDRESS");
props.put("key.serializer", StringSerializer.class.getName());
props.put("value.serializer", StringSerializer.class.getName());
"""
CONSTRUCTOR = "KafkaProducer<String, String> producer = new KafkaProducer<>(props);"


@pytest.mark.java
@pytest.mark.parametrize(
    ("snippet", "corrections", "outputs"),
    [
        pytest.param(
            "transactional_producer.java.txt",
            {"// ... base config ...": BASE_CONFIG},
            {"orders": '{"id": 1}', "order-audit": '{"created": 1}'},
            marks=pytest.mark.acceptance("S024", "B099", "B100", "B101"),
            id="two topics",
        ),
        pytest.param(
            "exactly_once_producer.java.txt",
            {"// unique per producer instance": BASE_CONFIG + CONSTRUCTOR},
            {"output-topic": '{"id": 1}'},
            marks=pytest.mark.acceptance("S056", "B099", "B101"),
            id="one topic",
        ),
        pytest.param(
            "three_topics.java.txt",
            {},
            {"orders": '{"id": 1}', "order-events": "ORDER_CREATED", "inventory-updates": "DECREMENT:1"},
            marks=pytest.mark.acceptance("S057", "B099", "B100", "B101"),
            id="three topics",
        ),
    ],
)
def test_a_java_transaction(
    java: JavaClients,
    topics: Topics,
    committed: Committed,
    consumer_groups: ConsumerGroups,
    snippet: str,
    corrections: Mapping[str, str],
    outputs: Mapping[str, str],
) -> None:
    """Every topic has the record of the committed transaction, the group its offset; a fenced one is closed, a failed one aborted."""
    topics("raw-orders", *outputs)
    consumer_groups.forget(GROUP)
    given = {wrong: right.replace("ADDRESS", java.bootstrap_servers) for wrong, right in corrections.items()}
    lines = run_around(java, "UseTransaction", source(snippet, java.bootstrap_servers, given))
    assert lines == ["committed", "closed", "aborted"]
    assert {topic: committed(topic) for topic in outputs} == {topic: [value] for topic, value in outputs.items()}
    assert consumer_groups.committed(GROUP, "raw-orders") == {0: 1}


SUBSCRIBED = {
    "new KafkaConsumer<>(consumerProps);": 'new KafkaConsumer<>(consumerProps); consumer.subscribe(List.of("orders"));'
}
REWOUND = {
    "    } catch (Exception e) {\n        txnProducer.abortTransaction();\n": """
    } catch (ProducerFencedException e) {
        txnProducer.close();
        break;
    } catch (Exception e) {
        txnProducer.abortTransaction();
        consumer.committed(consumer.assignment()).forEach((partition, offset) ->
                consumer.seek(partition, offset == null ? 0 : offset.offset()));
"""
}


@pytest.mark.acceptance("S053", "B095", "B102", "B107")
@pytest.mark.java
def test_the_java_read_process_write_loop(
    java: JavaClients,
    topics: Topics,
    committed: Committed,
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
) -> None:
    """As pasted, an aborted batch is skipped for ever and a fenced producer aborts in vain; rewound, each record is there once."""

    def run(corrections: Mapping[str, str]) -> list[str]:
        consumer_groups.forget(GROUP)
        topics("orders", "output-topic")
        confluent.produce("orders", [Record(value=value) for value in (b"a", b"b", b"c")])
        return run_around(java, "UseReadProcessWrite", source("read_process_write.java.txt", "", corrections))

    assert run(SUBSCRIBED) == ["aborted", "committed", "done", "fenced while it aborted"]
    assert committed("output-topic") == ["D"]
    assert consumer_groups.committed(GROUP, "orders") == {0: 4}

    lines = run(SUBSCRIBED | REWOUND)
    assert (lines[0], lines[-2:]) == ("aborted", ["done", "closed"])
    assert committed("output-topic") == ["A", "B", "C", "D"]
    assert consumer_groups.committed(GROUP, "orders") == {0: 4}


@pytest.mark.acceptance("S054", "B099", "B102")
def test_the_python_transaction(
    topics: Topics,
    committed: Committed,
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
    broker_address: str,
    tmp_path: Path,
) -> None:
    """Three topics and the offsets of a consumer that has read two records; with a record that is refused, none of it."""
    topics("raw-orders", "orders", "inventory")
    topics("notifications", configs=SMALL)
    consumer_groups.forget(GROUP)
    confluent.produce("raw-orders", [Record(value=b"1"), Record(value=b"2"), Record(value=b"3")])
    partitions = [TopicPartition("raw-orders", 0, 0)]
    consumer = Consumer({"bootstrap.servers": broker_address, "group.id": GROUP})
    names = {
        "Producer": Producer,
        "KafkaException": KafkaException,
        "consumer": consumer,
        "partitions": partitions,
        "k": "customer-1",
        "order_msg": "order",
        "reserve_msg": "reserve",
        "email_msg": "email",
    }
    try:
        consumer.assign(partitions)
        assert len(consumer.consume(2, WAIT_SECONDS)) == 2
        run_python(source("transactional_producer.py.txt", broker_address), tmp_path, names)
        everywhere = ("orders", "inventory", "notifications")
        assert [committed(topic) for topic in everywhere] == [["order"], ["reserve"], ["email"]]
        assert consumer_groups.committed(GROUP, "raw-orders") == {0: 2}

        assert len(consumer.consume(1, WAIT_SECONDS)) == 1
        names["email_msg"] = "a long email " * 100
        with pytest.raises(KafkaException) as refused:
            run_python(source("transactional_producer.py.txt", broker_address), tmp_path, names)
        assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
        assert refused.value.args[0].txn_requires_abort()
        assert [committed(topic) for topic in everywhere] == [["order"], ["reserve"], ["email"]]
        assert consumer_groups.committed(GROUP, "raw-orders") == {0: 2}
    finally:
        consumer.close()


AROUND_THE_LOOP = """
import os
from confluent_kafka import Consumer, Producer

failed = False

def transform(msg):
    global failed
    if msg.value() == b"b" and not failed:
        failed = True
        raise ValueError("b cannot be transformed now")
    if msg.value() == b"c":  # the end comes in a later batch than what is behind it
        plain = Producer({"bootstrap.servers": "broker:9092"})
        plain.produce("raw-orders", b"end")
        plain.flush()
    if msg.value() == b"end":
        os._exit(0)
    return msg.value().upper()
"""


@pytest.mark.acceptance("S055", "B095", "B103", "B107")
def test_the_python_read_process_write_loop(
    topics: Topics,
    committed: Committed,
    broker_address: str,
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
    tmp_path: Path,
) -> None:
    """With an address and committed offsets sought after an abort, each record is there once; seek_to_committed() does not exist."""
    group, group_as_pasted = (
        "eos-processor",
        "eos-processor-as-pasted",
    )  # the pasted loop ends without leaving its group
    consumer_groups.forget(group)
    topics("raw-orders", "processed-orders")
    aborting = ConfluentTransactions(broker_address)
    with aborting.opened:
        producer = aborting.producer("aborts")
        producer.begin()
        producer.send("raw-orders", [b"aborted, and so never read"])
        producer.abort()
    confluent.produce("raw-orders", [Record(value=value) for value in (b"a", b"b", b"c")])
    for each in (group, group_as_pasted):
        consumer_groups.commit(each, "raw-orders", {0: 0})  # it starts at the end otherwise
    address = f"'bootstrap.servers': '{broker_address}',\n    "
    corrections = {"'group.id'": f"{address}'group.id'", "'transactional.id'": f"{address}'transactional.id'"}
    around = AROUND_THE_LOOP.replace("broker:9092", broker_address)
    text = source("read_process_write.py.txt", broker_address, corrections | {f"'{group}'": f"'{group_as_pasted}'"})
    with python_program(around + text, tmp_path) as pasted:
        assert pasted.wait() == 1
        assert "AttributeError" in pasted.lines[-1]
        assert "seek_to_committed" in pasted.lines[-1]
    corrections["consumer.seek_to_committed()"] = (
        "for each in consumer.committed(consumer.assignment()):\n            consumer.seek(each)"
    )
    text = source("read_process_write.py.txt", broker_address, corrections)
    with python_program(around + text, tmp_path) as loop:
        assert loop.wait() == 0, loop.lines
    with aborting.opened:
        aborting.producer("eos-proc-instance-1")  # aborts what was open when the loop ended
    assert committed("processed-orders") == ["A", "B", "C"]
    offset = eventually(lambda: consumer_groups.committed(group, "raw-orders"), lambda found: found != {0: 0})
    assert offset == {0: 5}  # behind the aborted record, its marker, and three more


@pytest.mark.acceptance("S032", "B099")
@pytest.mark.node
def test_the_kafkajs_transaction(
    topics: Topics, committed: Committed, confluent: ConfluentKafka, broker_address: str, tmp_path: Path
) -> None:
    """As pasted LZ4 is missing and the transaction aborts; with a codec both topics have the order, and a refused one is in neither."""
    topics("orders")
    topics("order-analytics", configs=SMALL)
    text = source("transactional_producer.js", broker_address, {"maxInFlightRequests: 5": "maxInFlightRequests: 1"})
    text += source("around/use_transactional_producer.js", broker_address)
    with node_program(text, tmp_path) as pasted:
        assert pasted.wait() == 1
        assert "LZ4 compression not implemented" in pasted.lines[-1]

    with node_program(f"require('codecs');\n{text}", tmp_path) as producer:
        assert producer.wait() == 0, producer.lines
        assert "Order sent successfully: ORD-1" in producer.lines
        assert producer.lines[-1].startswith("Transaction aborted: The request included a message larger than")
    [order] = map(json.loads, committed("orders"))
    [analytics] = map(json.loads, committed("order-analytics"))
    assert order == {"id": "ORD-1", "userId": "USR-1", "total": 99.99}
    assert (analytics["orderId"], analytics["total"]) == ("ORD-1", 99.99)
    [stored] = confluent.read("orders", 0, count=1)
    assert (stored.key, dict(stored.headers)) == (
        b"USR-1",
        {"event-type": b"ORDER_CREATED", "correlation-id": b"ORD-1"},
    )


SPRING_LINES = (
    "as pasted, plain: sent",
    "as pasted, transactional: IllegalStateException: Producer factory does not support transactions",
    "with the prefix, plain: IllegalStateException: No transaction is in process",
    "with the prefix, transactional: sent",
    "with both, plain: sent",
    "with both, transactional: sent",
    "with both, too large: ",
)


@pytest.mark.acceptance("S034", "B099")
@pytest.mark.spring
def test_the_spring_transaction(topics: Topics, committed: Committed, broker_address: str, tmp_path: Path) -> None:
    """executeInTransaction needs a transaction-id-prefix; with it a plain send must be allowed. A refused record aborts both sends."""
    topics("orders")
    topics("order-audit", configs=SMALL)
    sources = []
    for name in ("OrderProducerService", "ProducerApplication"):
        sources.append(tmp_path / f"{name}.java")
        sources[-1].write_text(source(f"spring/{name}.java", broker_address))
    (tmp_path / "application.yml").write_text(source("spring/application.yml", broker_address))
    class_path = f"{tmp_path}:{SPRING_JARS}/*"
    subprocess.run(["javac", "-parameters", "-d", tmp_path, "-cp", class_path, *sources], check=True)
    with Program(["java", *FAST_START, "-cp", class_path, "ProducerApplication"], directory=tmp_path) as spring:
        spring.wait_for(lambda lines: any(line.startswith("with both, too large") for line in lines), seconds=60)
    for line in SPRING_LINES:
        assert any(each.startswith(line) for each in spring.lines), (line, spring.lines)
    assert committed("orders") == ["as pasted", "with the prefix", "with both", "with both"]
    assert committed("order-audit") == ["CREATED:with the prefix", "CREATED:with both"]
