"""A Spring Boot application made of a tutorial's listeners and its application.yml."""

import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.apache_kafka import FAST_START, REPOSITORY
from tests.clients.client import Record, eventually
from tests.clients.connection import Connection, codec_of
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.program import Program
from tests.clients.tutorials import source

pytestmark = pytest.mark.spring

JARS = REPOSITORY / ".cache" / "spring-jars"
START_SECONDS = 60.0

MISSING = """
    private final tools.jackson.databind.ObjectMapper objectMapper;
    private final OrderApplication.OrderService orderService;
    private final org.springframework.kafka.core.KafkaTemplate<String, String> kafkaTemplate;

    public OrderConsumerService(tools.jackson.databind.ObjectMapper objectMapper, OrderApplication.OrderService orderService,
            org.springframework.kafka.core.KafkaTemplate<String, String> kafkaTemplate) {
        this.objectMapper = objectMapper;
        this.orderService = orderService;
        this.kafkaTemplate = kafkaTemplate;
    }

    private void processEvent(String event) {
    }
"""
SERVICE_CORRECTIONS = {
    "import org.springframework.stereotype.Service;": "import org.springframework.stereotype.Service;\nimport java.util.List;",
    "public class OrderConsumerService {": f"public class OrderConsumerService {{{MISSING}",
    "Order order = objectMapper.readValue(orderJson, Order.class);": "OrderApplication.Order order = "
    "objectMapper.readValue(orderJson, OrderApplication.Order.class);",
    'groupId = "event-batch-group")': 'groupId = "event-batch-group", batch = "true")',
}
YAML_CORRECTIONS = {
    "      linger-ms: 10\n": "",  # no key of Spring Boot: it is ignored without a word
    "        enable.idempotence: true\n": "        enable.idempotence: true\n        linger.ms: 10\n",
}


def application(address: str, directory: Path) -> Program:
    """The application, compiled; it finds its application.yml in the directory in which it runs."""
    sources = []
    for name, corrections in (("OrderConsumerService", SERVICE_CORRECTIONS), ("OrderApplication", {})):
        sources.append(directory / f"{name}.java")
        sources[-1].write_text(source(f"spring/{name}.java", address, corrections))
    (directory / "application.yml").write_text(source("spring/application.yml", address, YAML_CORRECTIONS))
    class_path = f"{directory}:{JARS}/*"
    subprocess.run(["javac", "-parameters", "-d", directory, "-cp", class_path, *sources], check=True)
    return Program(["java", *FAST_START, "-cp", class_path, "OrderApplication"], directory=directory)


@pytest.fixture
def events(confluent: ConfluentKafka) -> str:
    confluent.create_anew("events")
    return "events"


@pytest.fixture
def dead_letters(confluent: ConfluentKafka) -> str:
    confluent.create_anew("orders.DLT")
    return "orders.DLT"


@pytest.mark.acceptance("S047", "S048")
def test_a_spring_application(
    orders: str,
    events: str,
    dead_letters: str,
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
    broker_address: str,
    tmp_path: Path,
) -> None:
    """Three members share the orders and acknowledge by hand, bad ones go to orders.DLT in lz4; events come in batches of at most 100."""
    groups = ("order-processing-group", "event-batch-group")
    for group in groups:
        consumer_groups.forget(group)
    good = b'{"id": "order-1", "amount": 99.99}'
    bad = [b"no JSON", b'{"id": "order-2", "amount": -1}']
    confluent.produce(orders, [Record(value=value, partition=n % 3) for n, value in enumerate([good] * 7 + bad)])
    confluent.produce(events, [Record(value=b"{}")] * 250)
    received = {f"Received order on partition {number % 3} offset {number // 3}" for number in range(9)}
    with application(broker_address, tmp_path) as spring:
        spring.wait_for(lambda lines: received <= set(lines), seconds=START_SECONDS)
        wanted = [{0: 3, 1: 3, 2: 3}, {0: 250}]

        def committed() -> list[dict[int, int]]:
            return [
                consumer_groups.committed(group, topic) for group, topic in zip(groups, (orders, events), strict=True)
            ]

        assert eventually(committed, lambda found: found == wanted) == wanted
        sizes = [int(line.split()[2]) for line in spring.lines if line.startswith("Batch of ")]
        assert (sum(sizes), max(sizes)) == (250, 100)
        described = eventually(
            partial(consumer_groups.describe, groups[0]), lambda group: bool(group.partition_assignor)
        )
        assert (len(described.members), described.partition_assignor) == (3, "cooperative-sticky")
        settings = {line.strip() for line in spring.lines if " = " in line}
        assert {"linger.ms = 10", "acks = -1", "retries = 3", "isolation.level = read_committed"} <= settings
        assert spring.end_with(signal.SIGTERM) == 128 + signal.SIGTERM
    assert all(consumer_groups.is_empty(group) for group in groups)
    letters = confluent.read(dead_letters, 0, count=2)
    assert sorted(letter.value or b"" for letter in letters) == sorted(bad)
    with Connection(broker_address, dead_letters) as connection:
        assert codec_of(connection.fetch(dead_letters, 0)) == "lz4"
