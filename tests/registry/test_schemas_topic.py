"""The topic of the schemas: made, mended or refused."""

import uuid
from collections.abc import Iterator

import pytest

from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.admin.topics import create_topic
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.registry.schemas_topic import UnfitTopic, prepare_topic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from stoker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from stoker.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from stoker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.schema import Request, Response
from tests.client.scripted_broker import Asked, framed, scripted_broker
from tests.clients.client import eventually

APIS: tuple[type[Request], ...] = (
    MetadataRequest,
    DescribeClusterRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
)


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
    # Of three brokers, each hears of it a moment later.
    assert eventually(lambda: policy(cluster, topic), "compact".__eq__) == "compact"
    assert "cleanup.policy=delete" in caplog.text


def test_one_of_two_partitions_is_refused(cluster: Cluster, topic: str) -> None:
    create_topic(cluster, topic, partitions=2)
    with pytest.raises(UnfitTopic, match="has 2 partitions: schemas are kept in a topic of one partition"):
        prepare_topic(cluster, topic)


class OnThreeBrokers:
    """A client of three registered brokers, of which one is down; it keeps what it is asked to create."""

    def __init__(self, version: int, replicas: int | None = None) -> None:
        self._version = version
        self._replicas = replicas
        self.created: list[CreatableTopic] = []
        self.port = 0

    def __call__(self, asked: Asked) -> bytes:
        request = next(each for each in APIS if asked.header.api_key == each.API_KEY)
        decoded = request.decode(asked.body, 0, asked.header.api_version)
        return framed(asked, self._answer(decoded))

    def _answer(self, request: Request) -> Response:
        if isinstance(request, DescribeClusterRequest):
            brokers = [
                DescribeClusterBroker(broker_id=each, host="127.0.0.1", is_fenced=each == 3) for each in (1, 2, 3)
            ]
            return DescribeClusterResponse(brokers=brokers)
        if isinstance(request, CreateTopicsRequest):
            self.created += request.topics
            self._replicas = request.topics[0].replication_factor
            return CreateTopicsResponse(topics=[CreatableTopicResult(name=each.name) for each in request.topics])
        if isinstance(request, DescribeConfigsRequest):
            compact = DescribeConfigsResourceResult(name="cleanup.policy", value="compact")
            return DescribeConfigsResponse(
                results=[DescribeConfigsResult(resource_type=2, resource_name="_schemas", configs=[compact])]
            )
        assert isinstance(request, MetadataRequest)
        topic = MetadataResponseTopic(
            name="_schemas",
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if self._replicas is None else ErrorCode.NONE,
            partitions=[]
            if self._replicas is None
            else [
                MetadataResponsePartition(
                    partition_index=0, leader_id=1, replica_nodes=list(range(1, self._replicas + 1))
                )
            ],
        )
        live = [MetadataResponseBroker(node_id=each, host="127.0.0.1", port=self.port) for each in (1, 2)]
        return MetadataResponse(brokers=live, controller_id=1, topics=[topic] if request.topics else [])

    def versions(self, asked: Asked) -> bytes:
        keys = [
            ApiVersion(
                api_key=each.API_KEY,
                min_version=each.MIN_VERSION,
                max_version=self._version if each is DescribeClusterRequest else each.MAX_VERSION,
            )
            for each in APIS
        ]
        return framed(asked, ApiVersionsResponse(api_keys=keys))


def prepare(brokers: OnThreeBrokers) -> None:
    with scripted_broker(brokers.versions, *[brokers] * 20) as served:
        brokers.port = served.address.port
        with Cluster(client_properties(str(served.address))) as cluster:
            prepare_topic(cluster, "_schemas")


@pytest.mark.parametrize(("version", "replicas"), [(2, 3), (1, 2)], ids=["kafka-4", "older"])
def test_a_broker_that_is_down_gets_a_replica_too(version: int, replicas: int) -> None:
    """Made of those that run alone, it would have two for ever; older brokers do not tell of those that are down."""
    brokers = OnThreeBrokers(version)
    prepare(brokers)
    assert [each.replication_factor for each in brokers.created] == [replicas]


def test_a_topic_of_too_few_replicas_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    brokers = OnThreeBrokers(2, replicas=1)
    with caplog.at_level("WARNING", "stoker.registry"):
        prepare(brokers)
    assert "the topic _schemas has 1 of 3 replicas" in caplog.text
    assert brokers.created == []
