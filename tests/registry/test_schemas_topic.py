"""The topic of the schemas: made, mended or refused."""

import uuid
from collections.abc import Iterator

import pytest

from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.admin.topics import create_topic
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.registry.schemas_topic import UnfitTopic, prepare_topic


@pytest.fixture
def cluster(bootstrap_servers: str) -> Iterator[Cluster]:
    with Cluster(client_properties(bootstrap_servers)) as cluster:
        yield cluster


@pytest.fixture
def topic() -> str:
    return f"_schemas-{uuid.uuid4().hex[:8]}"


def policy(cluster: Cluster, topic: str) -> str | None:
    [config] = describe_configs(cluster, Resource(ResourceType.TOPIC, topic), ["cleanup.policy"])
    return config.value


def test_it_is_made_compacted(cluster: Cluster, topic: str) -> None:
    assert prepare_topic(cluster, topic)
    assert policy(cluster, topic) == "compact"
    assert prepare_topic(cluster, topic)  # the second one finds it


def test_one_that_was_made_without_compaction_is_mended(
    cluster: Cluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    create_topic(cluster, topic, partitions=1, configs={"cleanup.policy": "delete"})
    with caplog.at_level("WARNING", "stoker.registry"):
        prepare_topic(cluster, topic)
    assert policy(cluster, topic) == "compact"
    assert "cleanup.policy=delete" in caplog.text


def test_one_of_two_partitions_is_refused(cluster: Cluster, topic: str) -> None:
    create_topic(cluster, topic, partitions=2)
    with pytest.raises(UnfitTopic, match="has 2 partitions: schemas are kept in a topic of one partition"):
        prepare_topic(cluster, topic)
