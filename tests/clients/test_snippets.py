"""Producers and administrators as tutorials write them, run with only the address changed."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from tests.clients.client import WAIT_SECONDS, ClientRefused, Code, eventually
from tests.clients.drivers.aio import AioKafka
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.drivers.kafka_python import KafkaPython
from tests.clients.drivers.kafkajs import KafkaJs
from tests.clients.tutorials import TUTORIAL_ADDRESSES, everything, run_python, source

USE_ORDER_PRODUCER = """
public class Main {
    public static void main(String[] arguments) throws Exception {
        OrderProducer orders = new OrderProducer();
        orders.sendAsync("order-1", "async");
        orders.flush();
        System.out.println("sync offset " + orders.sendSync("order-1", "sync").offset());
        orders.sendToPartition(2, "order-1", "partition 2");
        orders.flush();
        orders.close();
    }
}
"""


@pytest.mark.acceptance("S022")
@pytest.mark.java
def test_the_java_order_producer(
    java: JavaClients, orders: str, confluent: ConfluentKafka, broker_address: str
) -> None:
    """The Java producer with acks=all, idempotence and lz4 sends async, sync and to a fixed partition; callbacks tell where."""
    sources = {"OrderProducer": source("OrderProducer.java", broker_address), "Main": USE_ORDER_PRODUCER}
    finished = java.run_source("Main", sources)
    assert (finished.status, finished.error) == (0, "")
    sent, sync = finished.output.splitlines()
    [(partition, offset)] = re.findall(r"Sent to orders-P(\d) @ offset (\d+)", sent)
    assert (offset, sync) == ("0", "sync offset 1")
    found = {(each.partition, each.value) for each in everything(confluent, orders)}
    assert found == {(int(partition), b"async"), (int(partition), b"sync"), (2, b"partition 2")}


USE_REGION_PARTITIONER = """
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

public class Main {
    public static void main(String[] arguments) throws Exception {
        Properties props = new Properties();
        props.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "broker1:9092");
        props.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());
        props.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());
        // Register in producer config:
        props.put(ProducerConfig.PARTITIONER_CLASS_CONFIG, RegionPartitioner.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(props)) {
            for (String key : List.of("us-east:1", "us-west:1", "eu:1", "us-west:2")) {
                System.out.println(producer.send(new ProducerRecord<>("orders", key, "")).get().partition());
            }
        }
    }
}
"""


@pytest.mark.acceptance("S023", "B056")
@pytest.mark.java
def test_the_java_region_partitioner(
    java: JavaClients, orders: str, confluent: ConfluentKafka, broker_address: str
) -> None:
    """A Partitioner class of one's own, registered by its name, chooses the partitions."""
    main = TUTORIAL_ADDRESSES.sub(broker_address, USE_REGION_PARTITIONER)
    sources = {"RegionPartitioner": source("RegionPartitioner.java", broker_address), "Main": main}
    finished = java.run_source("Main", sources)
    assert (finished.status, finished.error) == (0, "")
    assert finished.output.split() == ["0", "1", "2", "1"]
    assert [each.key for each in confluent.read(orders, 1, count=2)] == [b"us-west:1", b"us-west:2"]


@pytest.mark.acceptance("S025", "B066")
def test_the_python_producer_with_a_callback(
    orders: str, confluent: ConfluentKafka, broker_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """confluent-kafka with acks=all, idempotence and lz4, unchanged; the callback fires in flush and tells the offset."""
    run_python(source("producer_with_callback.py.txt", broker_address), tmp_path)
    [found] = everything(confluent, orders)
    assert (found.key, found.value) == (b"order-123", b'{"amount": 99.99}')
    assert capsys.readouterr().out == f"Delivered to orders [{found.partition}] @ 0\n"


@pytest.mark.acceptance("S026")
def test_the_anatomy_of_a_record(
    orders: str, confluent: ConfluentKafka, kafka_python: KafkaPython, broker_address: str, tmp_path: Path
) -> None:
    """Key, value, headers and partition come back; without a timestamp the producer sets it (CreateTime), not the broker."""
    fields: dict[str, Any] = {}
    run_python(source("record_anatomy.py.txt", broker_address), tmp_path, {"ProducerRecord": fields.update})
    producer = Producer({"bootstrap.servers": broker_address, "linger.ms": 300, "partitioner": "murmur2_random"})
    start = int(time.time() * 1000)
    given = {name: value for name, value in fields.items() if value is not None}
    producer.produce(**given)
    producer.produce(**given | {"timestamp": 1_704_067_200_000})
    produced = int(time.time() * 1000)  # the broker gets them later: linger.ms holds them back
    assert producer.flush(WAIT_SECONDS) == 0
    found = everything(confluent, orders)
    [partition] = {each.partition for each in found}
    assert kafka_python.produce_by_key(orders, [fields["key"]]) == [partition]
    for each in found:
        assert (each.key, each.value, list(each.headers)) == (fields["key"], fields["value"], fields["headers"])
    assert start <= found[0].timestamp <= produced
    assert found[1].timestamp == 1_704_067_200_000


@pytest.mark.acceptance("S027")
def test_the_tuned_python_producer(orders: str, confluent: ConfluentKafka, broker_address: str, tmp_path: Path) -> None:
    """zstd, idempotence, 1 MB batches and headers as a dict; as pasted librdkafka refuses buffer.memory by name."""
    counted: list[str] = []
    names = {
        "log_error": lambda error: pytest.fail(str(error)),
        "metrics": SimpleNamespace(increment=counted.append),
        "order": SimpleNamespace(customer_id="customer-42", to_json=lambda: '{"id": 1}'),
    }
    with pytest.raises(KafkaException, match=r"buffer\.memory"):
        run_python(source("tuned_producer.py.txt", broker_address), tmp_path, names)
    run_python(
        source("tuned_producer.py.txt", broker_address, {"'buffer.memory'": "# 'buffer.memory'"}), tmp_path, names
    )
    [found] = everything(confluent, orders)
    assert (found.key, found.value, found.headers) == (b"customer-42", b'{"id": 1}', (("source", b"checkout"),))
    assert counted == ["produced"]


@pytest.mark.acceptance("S028", "B056")
def test_the_geography_partitioner(
    aiokafka: AioKafka, orders: str, confluent: ConfluentKafka, broker_address: str, tmp_path: Path
) -> None:
    """The partitioner is a function as aiokafka calls it; a region's records are in its partition."""
    partitioner = run_python(source("geography_partitioner.py.txt", broker_address), tmp_path)["geography_partitioner"]
    keys = [b"us-1", b"eu-1", b"ap-1", b"eu-2"]
    assert aiokafka.partitions_chosen(orders, keys, partitioner=partitioner) == [0, 1, 2, 1]
    assert [each.key for each in confluent.read(orders, 1, count=2)] == [b"eu-1", b"eu-2"]


@pytest.mark.acceptance("S029", "B062")
def test_the_idempotent_python_producer(orders: str, confluent: ConfluentKafka, broker_address: str) -> None:
    """The four settings of an idempotent producer, with the address they lack: every record once and in order."""
    producer = Producer(
        {
            "enable.idempotence": True,
            "acks": "all",
            "retries": 2147483647,
            "max.in.flight.requests.per.connection": 5,
            "bootstrap.servers": broker_address,
        }
    )
    for number in range(5000):
        producer.produce(orders, value=str(number), partition=0)
    assert producer.flush(20) == 0
    assert [each.value for each in confluent.read(orders, 0, count=5000)] == [
        str(each).encode() for each in range(5000)
    ]
    assert confluent.offset_range(orders, 0) == (0, 5000)


@pytest.mark.acceptance("S033")
@pytest.mark.node
def test_the_kafkajs_retry_wrapper(
    kafkajs: KafkaJs, orders: str, confluent: ConfluentKafka, broker_address: str
) -> None:
    """As pasted the producer is never connected and KafkaJS says so; connected, the wrapper sends."""
    text = source("retry_wrapper.js", broker_address)
    use = "await sendWithRetry('orders', [{ key: 'order-1', value: 'sent' }]);"
    with pytest.raises(ClientRefused, match="The producer is disconnected"):
        kafkajs.call("run", source=f"{text}\n{use}")
    kafkajs.call("run", source=f"{text}\nawait producer.connect(); {use} await producer.disconnect();")
    [found] = everything(confluent, orders)
    assert (found.key, found.value) == (b"order-1", b"sent")


@pytest.mark.acceptance("S035", "B066")
def test_the_python_producer_with_a_shutdown(
    orders: str, confluent: ConfluentKafka, broker_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record is sent with a header given as text; shutdown(), which the script forgets to call, delivers it."""
    names = run_python(source("order_producer_with_shutdown.py.txt", broker_address), tmp_path)
    names["shutdown"]()
    [found] = everything(confluent, orders)
    assert (found.key, found.headers) == (b"USR-123", (("event-type", b"ORDER_CREATED"),))
    assert capsys.readouterr().out == f"Delivered to orders partition [{found.partition}] offset 0\n"


def creation_error(names: Mapping[str, Any]) -> BaseException | None:
    """How the creation of the topic ended; `names` holds the admin client, without which its futures would be cancelled."""
    error: BaseException | None = names["futures"]["orders"].exception(WAIT_SECONDS)
    return error


@pytest.mark.acceptance("S127")
def test_a_topic_with_six_configs(
    confluent: ConfluentKafka, broker_address: str, refuses_three_replicas: bool, tmp_path: Path
) -> None:
    """24 partitions and six configs in one request, once its futures are awaited; RF 3 is refused by Kafka and made 1 by Stoker."""
    confluent.delete_if_there("orders")
    text = source("create_topic_with_configs.py.txt", broker_address)
    text = text.replace("admin.create_topics(", "futures = admin.create_topics(")
    error = creation_error(run_python(text, tmp_path))
    if refuses_three_replicas:
        assert error is not None
        assert error.args[0].code() == Code.INVALID_REPLICATION_FACTOR
        text = text.replace("replication_factor = 3", "replication_factor = 1")
        error = creation_error(run_python(text, tmp_path))
    assert error is None
    assert "orders" in eventually(confluent.topics, lambda topics: "orders" in topics)
    assert eventually(lambda: confluent.partition_count("orders"), lambda count: count == 24) == 24
    expected = {
        "retention.ms": "604800000",
        "retention.bytes": "53687091200",
        "compression.type": "zstd",
        "min.insync.replicas": "2",
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
    }
    configs = confluent.topic_configs("orders")
    assert {name: configs[name] for name in expected} == expected
