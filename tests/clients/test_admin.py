"""Topics made, looked at, changed and deleted by every client that can, and what each is told when the broker refuses."""

from collections.abc import Callable

import pytest

from tests.clients.client import BrokerRefused, Client, Code, Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.matrix import ADMINISTRATORS, ASKERS, CLIENTS


def partitions_known(client: Client, topic: str) -> int:
    """To the broker that the client asks, which may not have heard of the topic yet."""
    try:
        return client.partition_count(topic)
    except BrokerRefused as refused:
        if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return 0


@pytest.mark.acceptance("B032")
@pytest.mark.parametrize("client", ADMINISTRATORS, indirect=True)
def test_a_topic_lives_and_dies(client: Client, confluent: ConfluentKafka) -> None:
    """A topic is created with partitions and configs, listed, described, changed, grown and deleted by one client."""
    topic = fresh_topic("life")
    client.create_topic(topic, partitions=2, configs={"retention.ms": "3600000", "cleanup.policy": "compact"})
    assert topic in eventually(client.topics, lambda topics: topic in topics)
    assert eventually(lambda: partitions_known(client, topic), lambda count: count == 2) == 2

    configs = client.topic_configs(topic)
    assert (configs["retention.ms"], configs["cleanup.policy"]) == ("3600000", "compact")
    assert configs["max.message.bytes"] == "1048588", "a default is told too"

    changes = {"retention.ms": "7200000", "cleanup.policy": "compact", "max.message.bytes": "2000000"}
    client.set_topic_configs(topic, changes)
    changed = eventually(lambda: client.topic_configs(topic), lambda found: found["retention.ms"] == "7200000")
    assert {name: changed[name] for name in changes} == changes

    client.create_partitions(topic, 5)
    assert eventually(lambda: client.partition_count(topic), lambda count: count == 5) == 5
    eventually(lambda: confluent.partition_count(topic), lambda count: count == 5)

    client.delete_topic(topic)
    assert topic not in eventually(client.topics, lambda topics: topic not in topics)


@pytest.mark.acceptance("B018", "C019")
@pytest.mark.parametrize("client", ADMINISTRATORS, indirect=True)
def test_new_partitions_are_empty_and_the_old_keep_their_records(
    client: Client, topic: str, confluent: ConfluentKafka
) -> None:
    """Partitions can be added, old data stays where it is; their number cannot be lowered."""
    confluent.produce(topic, [Record(value=b"old", partition=partition) for partition in range(3)])
    client.create_partitions(topic, 4)
    confluent.wait_for_leader(topic, 3)
    assert [confluent.offset_range(topic, partition) for partition in range(4)] == [(0, 1)] * 3 + [(0, 0)]
    with pytest.raises(BrokerRefused) as refused:
        client.create_partitions(topic, 3)
    assert refused.value.code == Code.INVALID_PARTITIONS


REFUSALS = [
    pytest.param(
        lambda client, topic: client.create_topic(topic), Code.TOPIC_ALREADY_EXISTS, "already exists", id="topic exists"
    ),
    pytest.param(
        lambda client, topic: client.create_topic("no spaces allowed"),
        Code.INVALID_TOPIC_EXCEPTION,
        "no spaces allowed",
        id="topic name",
    ),
    pytest.param(
        lambda client, topic: client.create_topic(fresh_topic("none"), partitions=0),
        Code.INVALID_PARTITIONS,
        "",
        id="no partitions",
    ),
    pytest.param(
        lambda client, topic: client.create_topic(fresh_topic("config"), configs={"retention.msec": "1"}),
        Code.INVALID_CONFIG,
        "retention.msec",
        id="unknown config",
    ),
    pytest.param(
        lambda client, topic: client.create_topic(fresh_topic("config"), configs={"retention.ms": "a week"}),
        Code.INVALID_CONFIG,
        "retention.ms",
        id="ill-typed config",
    ),
    pytest.param(
        lambda client, topic: client.create_topic(fresh_topic("config"), configs={"cleanup.policy": "burn"}),
        Code.INVALID_CONFIG,
        "cleanup.policy",
        id="config out of choices",
    ),
    pytest.param(
        lambda client, topic: client.create_topic(fresh_topic("config"), configs={"segment.bytes": "-1"}),
        Code.INVALID_CONFIG,
        "segment.bytes",
        id="config out of range",
    ),
    pytest.param(
        lambda client, topic: client.set_topic_configs(topic, {"retention.msec": "1"}),
        Code.INVALID_CONFIG,
        "retention.msec",
        id="unknown config set",
    ),
    pytest.param(
        lambda client, topic: client.set_topic_configs(topic, {"retention.ms": "a week"}),
        Code.INVALID_CONFIG,
        "retention.ms",
        id="ill-typed config set",
    ),
    pytest.param(
        lambda client, topic: client.set_topic_configs(fresh_topic("unknown"), {"retention.ms": "1"}),
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        "",
        id="config of an unknown topic",
    ),
    pytest.param(
        lambda client, topic: client.create_partitions(topic, 2), Code.INVALID_PARTITIONS, "", id="fewer partitions"
    ),
    pytest.param(
        lambda client, topic: client.create_partitions(topic, 3), Code.INVALID_PARTITIONS, "", id="as many partitions"
    ),
    pytest.param(
        lambda client, topic: client.create_partitions(fresh_topic("unknown"), 3),
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        "",
        id="partitions of an unknown topic",
    ),
    pytest.param(
        lambda client, topic: client.delete_topic(fresh_topic("unknown")),
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        "",
        id="delete an unknown topic",
    ),
]


@pytest.fixture(scope="module")
def existing_topic(confluent: ConfluentKafka) -> str:
    """A topic of three partitions that refused requests leave as it is."""
    name = fresh_topic("existing")
    confluent.create_ready_topic(name, partitions=3)
    return name


@pytest.mark.parametrize(("ask", "code", "words"), REFUSALS)
@pytest.mark.parametrize("client", ADMINISTRATORS, indirect=True)
def test_the_broker_refuses_by_name(
    client: Client, existing_topic: str, ask: Callable[[Client, str], None], code: Code, words: str
) -> None:
    """A wrong request gets Kafka's code, and a message that names the fault where the client passes it on."""
    with pytest.raises(BrokerRefused) as refused:
        ask(client, existing_topic)
    assert Code(refused.value.code) == code
    if client.abilities.explains_refusals:
        assert words in refused.value.message


@pytest.mark.parametrize("client", ASKERS, indirect=True)
def test_an_unknown_topic_is_unknown_and_stays_so(client: Client, confluent: ConfluentKafka) -> None:
    """Asking for a topic by name, without leave to create it, says UNKNOWN_TOPIC_OR_PARTITION and makes none."""
    topic = fresh_topic("unknown")
    with pytest.raises(BrokerRefused) as refused:
        client.partition_count(topic)
    assert refused.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert topic not in confluent.topics()


@pytest.mark.acceptance("B023")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_record_beyond_the_topics_limit_is_too_large(client: Client, confluent: ConfluentKafka) -> None:
    """A batch larger than the topic's max.message.bytes gets MESSAGE_TOO_LARGE, one within it is taken."""
    topic = fresh_topic("small")
    confluent.create_ready_topic(topic, configs={"max.message.bytes": "2000"})
    client.produce(topic, [Record(value=b"x" * 1000)])
    with pytest.raises(BrokerRefused) as refused:
        client.produce(topic, [Record(value=b"x" * 3000)])
    assert refused.value.code == Code.MESSAGE_TOO_LARGE
    assert confluent.offset_range(topic, 0) == (0, 1)


@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_topic_is_made_when_it_is_first_written_to(client: Client, confluent: ConfluentKafka) -> None:
    """With auto.create.topics.enable, Kafka's default, a producer needs no topic: it is made with num.partitions."""
    topic = fresh_topic("auto")
    assert client.produce(topic, [Record(value=b"first")]) == [0]
    assert confluent.partition_count(topic) == 1
    assert [each.value for each in confluent.read(topic, 0, count=1)] == [b"first"]
