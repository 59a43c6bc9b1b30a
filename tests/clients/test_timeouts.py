"""What a producer does when the broker falls silent or refuses for a moment."""

import base64
import re
import time
from collections.abc import Callable

import pytest

from tests.clients.client import ClientRefused, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.relay import METADATA, PRODUCE, Exchange, refusal, relaying

NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS = 6, 19
BEHIND_A_RELAY = pytest.mark.embedded_only(
    "the relay stands before one broker, and clients would go past it to the others"
)


def silent(request: bytes, exchange: Exchange) -> None:
    """No answer to any Produce request."""


@BEHIND_A_RELAY
@pytest.mark.acceptance("B064", "S036")
@pytest.mark.java
def test_the_delivery_timeout_bounds_a_send(java: JavaClients, topic: str, broker_address: str) -> None:
    """With endless retries and a broker that does not answer, a send fails when delivery.timeout.ms is over, and not before."""
    settings = {
        "retries": "2147483647",
        "retry.backoff.ms": "200",
        "delivery.timeout.ms": "1500",
        "request.timeout.ms": "500",
        "linger.ms": "0",
    }
    with relaying(broker_address, silent) as relay:
        start = time.monotonic()
        # Which of the two the client tells depends on where in a retry the time is over.
        with pytest.raises(
            ClientRefused, match=r"has passed since batch creation|Disconnected from node 1 due to timeout"
        ):
            java.call(
                "produce_by_key", topic=topic, keys=[None], settings=settings | {"bootstrap.servers": relay.address}
            )
        assert 1.4 < time.monotonic() - start < 10
    assert java.offset_range(topic, 0) == (0, 0)


@pytest.mark.acceptance("S036")
@pytest.mark.java
def test_a_delivery_timeout_shorter_than_a_request_is_refused(java: JavaClients, topic: str) -> None:
    """The real rule: delivery.timeout.ms must be at least linger.ms + request.timeout.ms; the tutorial's numbers keep it."""
    tutorial = {
        "retries": "2147483647",
        "retry.backoff.ms": "200",
        "delivery.timeout.ms": "120000",
        "request.timeout.ms": "30000",
    }
    assert len(java.call("produce_by_key", topic=topic, keys=[None], settings=tutorial)) == 1
    with pytest.raises(ClientRefused, match=r"delivery\.timeout\.ms should be equal to or larger than"):
        java.call("produce_by_key", topic=topic, keys=[None], settings=tutorial | {"delivery.timeout.ms": "29999"})


USE_A_SMALL_BUFFER = """
import java.util.Properties;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Main {
    public static void main(String[] arguments) throws Exception {
        Properties props = new Properties();
        props.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "ADDRESS");
        props.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 700);
        props.put(ProducerConfig.BUFFER_MEMORY_CONFIG, 65536);
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(props, new ByteArraySerializer(), new ByteArraySerializer());
        boolean connected = false;
        while (!connected) {
            try {
                connected = !producer.partitionsFor("TOPIC").isEmpty();
            } catch (org.apache.kafka.common.errors.TimeoutException slow) {
                // on a busy machine even the metadata may take longer than max.block.ms
            }
        }
        for (int sent = 0; sent < 10; sent++) {
            long start = System.nanoTime();
            var future = producer.send(new ProducerRecord<>("TOPIC", 0, null, new byte[15000]));
            long blocked = (System.nanoTime() - start) / 1_000_000;
            if (future.isDone()) {
                try {
                    future.get();
                } catch (java.util.concurrent.ExecutionException failed) {
                    boolean timeout = failed.getCause() instanceof org.apache.kafka.common.errors.TimeoutException;
                    System.out.println(sent + " " + blocked + " " + timeout + " " + failed.getCause().getMessage());
                    break;
                }
            }
        }
        producer.close(java.time.Duration.ZERO);
    }
}
"""


@BEHIND_A_RELAY
@pytest.mark.acceptance("B065")
@pytest.mark.java
def test_a_full_buffer_blocks_the_sender(java: JavaClients, topic: str, broker_address: str) -> None:
    """When 64 KB are in the buffer of a producer that gets no answer, send blocks for max.block.ms, then a TimeoutException comes."""
    with relaying(broker_address, silent) as relay:
        main = USE_A_SMALL_BUFFER.replace("ADDRESS", relay.address).replace("TOPIC", topic)
        finished = java.run_source("Main", {"Main": main})
    found = re.fullmatch(
        r"(\d+) (\d+) true Failed to allocate .* within the configured max blocking time 700 ms.*",
        finished.output.strip(),
    )
    assert found is not None, finished
    assert int(found[1]) == 4
    assert 650 < int(found[2]) < 5000


def refusing_once(error_code: int) -> Callable[[bytes, Exchange], None]:
    """The first Produce request is refused with the error, all others go to the broker."""
    refused: list[bytes] = []

    def on_produce(request: bytes, exchange: Exchange) -> None:
        if refused:
            exchange.forward(request)
        else:
            refused.append(request)
            exchange.answer(refusal(request, error_code))

    return on_produce


def silent_once() -> Callable[[bytes, Exchange], None]:
    """The first Produce request is lost, all others go to the broker."""
    lost: list[bytes] = []

    def on_produce(request: bytes, exchange: Exchange) -> None:
        if lost:
            exchange.forward(request)
        else:
            lost.append(request)

    return on_produce


@BEHIND_A_RELAY
@pytest.mark.acceptance("B067")
@pytest.mark.java
@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda: refusing_once(NOT_LEADER_OR_FOLLOWER), id="stale leader"),
        pytest.param(silent_once, id="time-out"),
    ],
)
def test_a_send_survives_a_passing_fault(
    java: JavaClients,
    topic: str,
    broker_address: str,
    fault: Callable[[], Callable[[bytes, Exchange], None]],
    idempotent: bool,
) -> None:
    """A time-out and a stale leader are retried and the metadata looked at anew, with or without idempotence; the caller sees success."""
    for attempt in range(1, 6):
        with relaying(broker_address, fault()) as relay:
            settings = {
                "bootstrap.servers": relay.address,
                "request.timeout.ms": "1000",
                "enable.idempotence": str(idempotent).lower(),
            }
            [partition] = java.call("produce_by_key", topic=topic, keys=["a2V5"], settings=settings)
        first, _, *_ = (index for index, api_key in enumerate(relay.requests) if api_key == PRODUCE)
        assert java.offset_range(topic, partition) == (0, attempt)
        # Both come a tenth of a second after the fault: when the second attempt is the sooner one, the producer may be gone.
        if METADATA in relay.requests[first:]:
            return
    pytest.fail("five times the metadata was not looked at anew")


@BEHIND_A_RELAY
@pytest.mark.acceptance("B063")
@pytest.mark.java
@pytest.mark.parametrize(
    ("idempotent", "order"), [pytest.param(False, "ACB", id="plain"), pytest.param(True, "ABC", id="idempotent")]
)
def test_a_retry_behind_another_request(
    java: JavaClients, confluent: ConfluentKafka, broker_address: str, idempotent: bool, order: str
) -> None:
    """With five requests in flight a retried batch lands behind the next one, unless the producer is idempotent."""
    topic = fresh_topic("reordered")
    confluent.create_ready_topic(topic)
    seen: list[bytes] = []

    def on_produce(request: bytes, exchange: Exchange) -> None:
        seen.append(request)
        if len(seen) == 3:  # the second is refused only now, when the third is on its way
            exchange.answer(refusal(seen[1], NOT_ENOUGH_REPLICAS))
        if len(seen) != 2:
            exchange.forward(request)

    with relaying(broker_address, on_produce) as relay:
        settings = {
            "bootstrap.servers": relay.address,
            "enable.idempotence": str(idempotent).lower(),
            "max.in.flight.requests.per.connection": "5",
            "batch.size": "0",  # a batch a record, if these are not too small
        }
        keys = [base64.b64encode(letter * 300).decode() for letter in (b"A", b"B", b"C")]
        java.call("produce_by_key", topic=topic, keys=keys, settings=settings)
    assert [each.key for each in confluent.read(topic, 0, count=3)] == [letter.encode() * 300 for letter in order]
