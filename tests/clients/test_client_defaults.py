"""The Java client's defaults, which tutorials list: read back from the client that the other tests use."""

import pytest

from tests.clients.drivers.java import JavaClients

pytestmark = pytest.mark.java

TELL_DEFAULTS = """
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

public class Main {
    public static void main(String[] arguments) {
        tell("producer", ProducerConfig.configDef());
        tell("consumer", ConsumerConfig.configDef());
    }

    private static void tell(String client, ConfigDef settings) {
        settings.configKeys().forEach((name, key) -> System.out.println(client + " " + name + "=" + text(key.defaultValue)));
    }

    private static String text(Object value) {
        if (value instanceof List<?> many) {
            return many.stream().map(Main::text).collect(Collectors.joining(","));
        }
        return value instanceof Class<?> type ? type.getSimpleName() : String.valueOf(value);
    }
}
"""

PRODUCER = [
    ("B323", "acks", "all"),
    ("B324", "retries", "2147483647"),
    ("B325", "retry.backoff.ms", "100"),
    ("B326", "delivery.timeout.ms", "120000"),
    ("B327", "batch.size", "16384"),
    ("B328", "linger.ms", "5"),  # 0 before Kafka 4.0 (KIP-1030)
    ("B329", "buffer.memory", "33554432"),
    ("B330", "max.block.ms", "60000"),
    ("B331", "compression.type", "none"),
    ("B332", "enable.idempotence", "true"),
    ("B333", "max.in.flight.requests.per.connection", "5"),
    ("B334", "request.timeout.ms", "30000"),
    ("B335", "transactional.id", "null"),
    ("B336", "transaction.timeout.ms", "60000"),
]
CONSUMER = [
    ("B337", "group.id", "null"),  # "" before Kafka 2.2 (KIP-289)
    ("B338", "auto.offset.reset", "latest"),
    ("B339", "enable.auto.commit", "true"),
    ("B340", "auto.commit.interval.ms", "5000"),
    ("B341", "max.poll.records", "500"),
    ("B342", "max.poll.interval.ms", "300000"),
    ("B343", "session.timeout.ms", "45000"),
    ("B344", "heartbeat.interval.ms", "3000"),
    ("B345", "fetch.min.bytes", "1"),
    ("B346", "fetch.max.bytes", "52428800"),
    ("B347", "fetch.max.wait.ms", "500"),
    ("B348", "isolation.level", "read_uncommitted"),
    ("B349", "partition.assignment.strategy", "RangeAssignor,CooperativeStickyAssignor"),
]


@pytest.fixture(scope="module")
def defaults(java: JavaClients) -> dict[str, str]:
    """By client and name: `producer acks`."""
    finished = java.run_source("Main", {"Main": TELL_DEFAULTS})
    assert (finished.status, finished.error) == (0, "")
    return dict(line.split("=", 1) for line in finished.output.splitlines())


@pytest.mark.parametrize(
    ("setting", "default"),
    [
        pytest.param(f"{client} {name}", default, marks=pytest.mark.acceptance(row))
        for client, rows in (("producer", PRODUCER), ("consumer", CONSUMER))
        for row, name, default in rows
    ],
)
def test_a_default_of_the_java_client(defaults: dict[str, str], setting: str, default: str) -> None:
    """The client that is tested here has the default that tutorials name, or the one that took its place."""
    assert defaults[setting] == default
