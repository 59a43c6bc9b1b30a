"""Configs of a real cluster."""

import pytest

from stoker.client.admin.configs import (
    Alteration,
    Config,
    ConfigSource,
    Operation,
    Resource,
    ResourceType,
    Synonym,
    alter_configs,
    alter_configs_of,
    describe_configs,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.properties import client_properties


def described(cluster: Cluster, resource: Resource, name: str) -> Config:
    (config,) = describe_configs(cluster, resource, [name])
    return config


def eventually(cluster: Cluster, resource: Resource, name: str, value: str, source: ConfigSource) -> Config:
    """The config when it is so: the brokers of Apache Kafka learn of a change a moment after it is answered."""
    for attempt in cluster.attempts():
        config = described(cluster, resource, name)
        if attempt.is_last or (config.value, config.source) == (value, source):
            break
    assert (config.value, config.source) == (value, source)
    return config


def test_set_append_subtract_and_delete(cluster: Cluster, topic: str) -> None:
    resource = Resource(ResourceType.TOPIC, topic)
    assert described(cluster, resource, "retention.ms").is_default
    setting = [
        Alteration("cleanup.policy", Operation.SET, "compact"),
        Alteration("retention.bytes", Operation.SET, "7"),
    ]
    alter_configs(cluster, resource, setting)
    eventually(cluster, resource, "retention.bytes", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    alter_configs(cluster, resource, [Alteration("cleanup.policy", Operation.APPEND, "delete")])
    policy = eventually(cluster, resource, "cleanup.policy", "compact,delete", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert policy.default == "delete"
    undoing = [
        Alteration("cleanup.policy", Operation.SUBTRACT, "compact"),
        Alteration("retention.bytes", Operation.DELETE),
    ]
    alter_configs(cluster, resource, undoing)
    eventually(cluster, resource, "cleanup.policy", "delete", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert described(cluster, resource, "retention.bytes").is_default


def test_a_broker_tells_of_its_own_server_properties(cluster: Cluster) -> None:
    node_id, *_ = cluster.brokers()
    resource = Resource(ResourceType.BROKER, str(node_id))
    roles = described(cluster, resource, "process.roles")
    assert (roles.value, roles.source) == ("broker,controller", ConfigSource.STATIC_BROKER_CONFIG)
    assert roles.is_read_only
    assert len(describe_configs(cluster, resource)) > 200


def test_groups_have_configs(cluster: Cluster, topic: str) -> None:
    resource = Resource(ResourceType.GROUP, topic)
    alter_configs(cluster, resource, [Alteration("consumer.session.timeout.ms", Operation.SET, "50000")])
    eventually(cluster, resource, "consumer.session.timeout.ms", "50000", ConfigSource.DYNAMIC_GROUP_CONFIG)


def test_all_or_nothing(cluster: Cluster, topic: str) -> None:
    resource = Resource(ResourceType.TOPIC, topic)
    good, bad = Alteration("retention.ms", Operation.SET, "7"), Alteration("segment.bytes", Operation.SET, "x")
    with pytest.raises(KafkaRefused, match=r"segment\.bytes.*INVALID_CONFIG"):
        alter_configs(cluster, resource, [good, bad])
    alter_configs(cluster, resource, [good], validate_only=True)
    assert described(cluster, resource, "retention.ms").is_default


def test_a_broker_that_is_down_keeps_no_other_from_being_asked(address: str, cluster: Cluster, topic: str) -> None:
    down, there = Resource(ResourceType.BROKER, "77"), Resource(ResourceType.TOPIC, topic)
    setting = [Alteration("retention.bytes", Operation.SET, "7")]
    with Cluster(client_properties(address, {"default.api.timeout.ms": "1000"})) as hurried:
        with pytest.raises(ClientError, match="77"):
            alter_configs_of(hurried, {down: setting, there: setting})
    eventually(cluster, there, "retention.bytes", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG)


def test_the_default_of_a_topics_config_may_be_the_brokers_in_hours(cluster: Cluster, topic: str) -> None:
    resource = Resource(ResourceType.TOPIC, topic)
    alter_configs(cluster, resource, [Alteration("retention.ms", Operation.SET, "7")])
    retention = eventually(cluster, resource, "retention.ms", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert retention.synonyms[-1] == Synonym("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG)
    assert retention.default == "604800000"


@pytest.mark.parametrize(
    ("name", "synonym", "value", "default"),
    [
        ("log.retention.ms", "log.retention.hours", "168", "604800000"),
        ("log.retention.ms", "log.retention.minutes", "5", "300000"),
        ("log.retention.minutes", "log.retention.hours", "168", "10080"),
        ("retention.ms", "log.retention.hours", "-1", "-1"),
        ("retention.ms", "log.retention.ms", "7", "7"),
        ("log.retention.hours", "log.retention.ms", "7200000", "2"),
        ("log.retention.hours", "log.retention.ms", "7200001", None),
        ("retention.bytes", "log.retention.bytes", "-1", "-1"),
        ("flush.ms", "log.flush.scheduler.interval.ms", "9223372036854775807", "9223372036854775807"),
        ("ssl.keystore.password", "ssl.keystore.password", None, None),
    ],
)
def test_a_default_is_told_in_the_unit_of_its_config(
    name: str, synonym: str, value: str | None, default: str | None
) -> None:
    config = Config(
        name=name,
        value="1",
        source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
        is_sensitive=False,
        is_read_only=False,
        synonyms=(
            Synonym(name, "1", ConfigSource.DYNAMIC_TOPIC_CONFIG),
            Synonym(synonym, value, ConfigSource.DEFAULT_CONFIG),
        ),
    )
    assert config.default == default
