"""Leaders that are missing for a moment, or are none any more: who is asked again, and who is not waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stoker.client.admin.cluster import describe_cluster
from stoker.client.admin.offsets import LATEST, ListedOffset, list_offsets_of
from stoker.client.admin.quorum import METADATA_TOPIC, describe_quorum
from stoker.client.admin.reassignments import Reassignment, without_newcomers
from stoker.client.admin.records import delete_records
from stoker.client.cluster import Cluster
from stoker.client.errors import CannotConnect, KafkaRefused
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.streams.preparation import offsets_of
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages import describe_quorum as quorum_messages
from stoker.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from stoker.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.schema import Request, Response
from tests.client.scripted_broker import Asked, framed, offering, scripted_broker

APIS: list[type[Request]] = [MetadataRequest, ListOffsetsRequest, DeleteRecordsRequest, DescribeQuorumRequest]
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOBODY = -1
LOOKS_MOST = 40


class OneBroker:
    """Node 1 of three. It leads the first partition, and the second one after so many looks at the metadata."""

    def __init__(self, *, looks_without_leader: int = 0, refusals: dict[int, list[ErrorCode]] | None = None) -> None:
        self.looks_without_leader = looks_without_leader
        self.refusals = refusals or {}
        self.asked: list[int] = []
        self.port = 0

    def __call__(self, asked: Asked) -> bytes:
        key, version = asked.header.api_key, asked.header.api_version
        self.asked.append(key)
        refusals = self.refusals.get(key)
        error = refusals.pop(0) if refusals else ErrorCode.NONE
        if key == MetadataRequest.API_KEY:
            return framed(asked, self._metadata())
        request = next(each for each in APIS if key == each.API_KEY).decode(asked.body, 0, version)
        return framed(asked, self._answer(request, error))

    def _metadata(self) -> MetadataResponse:
        looks = self.asked.count(MetadataRequest.API_KEY)
        leaders = [1, NOBODY if looks <= self.looks_without_leader else 1]
        partitions = [MetadataResponsePartition(partition_index=i, leader_id=each) for i, each in enumerate(leaders)]
        return MetadataResponse(
            controller_id=3,
            brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)],
            topics=[MetadataResponseTopic(name="orders", partitions=partitions)],
        )

    def _answer(self, request: Request, error: ErrorCode) -> Response:
        if isinstance(request, ListOffsetsRequest):
            return ListOffsetsResponse(
                topics=[
                    ListOffsetsTopicResponse(
                        name=topic.name,
                        partitions=[
                            ListOffsetsPartitionResponse(partition_index=each.partition_index, offset=7)
                            for each in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        if isinstance(request, DeleteRecordsRequest):
            return DeleteRecordsResponse(
                topics=[
                    DeleteRecordsTopicResult(
                        name=topic.name,
                        partitions=[
                            DeleteRecordsPartitionResult(
                                partition_index=each.partition_index, error_code=error, low_watermark=each.offset
                            )
                            for each in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        partition = quorum_messages.DescribeQuorumResponsePartitionData(
            partition_index=0, error_code=error, leader_id=1, leader_epoch=4, high_watermark=9
        )
        topic = quorum_messages.DescribeQuorumResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return DescribeQuorumResponse(topics=[topic])


@contextmanager
def asking(broker: OneBroker) -> Iterator[Cluster]:
    """A client that does not pause."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with scripted_broker(offering(*APIS), *[broker] * LOOKS_MOST) as served:
        broker.port = served.address.port
        properties = client_properties(str(served.address), {"default.api.timeout.ms": "10000"})
        with Cluster(properties, clock=lambda: now[0], sleep=sleep) as cluster:
            yield cluster


def test_a_missing_leader_is_told_at_once() -> None:
    """Who lists offsets for people does not wait for what may be missing for hours."""
    broker = OneBroker(looks_without_leader=LOOKS_MOST)
    with asking(broker) as cluster:
        found = list_offsets_of(cluster, [FIRST, SECOND], LATEST)
    assert found[FIRST] == ListedOffset(7, -1, -1)
    refused = found[SECOND]
    assert isinstance(refused, KafkaRefused)
    assert refused.error_code is ErrorCode.LEADER_NOT_AVAILABLE
    assert broker.asked.count(MetadataRequest.API_KEY) <= 2


def test_a_missing_leader_is_waited_for_where_the_answer_must_be_whole() -> None:
    """An application that reads a topic to its end does not take a partition without a leader for one that is not there."""
    broker = OneBroker(looks_without_leader=4)
    with asking(broker) as cluster:
        assert offsets_of(cluster, ["orders"], LATEST) == {FIRST: 7, SECOND: 7}


def test_a_leader_that_stays_away_is_an_error_there() -> None:
    broker = OneBroker(looks_without_leader=LOOKS_MOST)
    with asking(broker) as cluster, pytest.raises(KafkaRefused, match="where orders-1 begins and ends") as told:
        offsets_of(cluster, ["orders"], LATEST)
    assert told.value.error_code is ErrorCode.LEADER_NOT_AVAILABLE


def test_records_are_deleted_by_the_next_leader() -> None:
    """A leader that is none any more refuses; the partition is asked for again."""
    broker = OneBroker(refusals={DeleteRecordsRequest.API_KEY: [ErrorCode.NOT_LEADER_OR_FOLLOWER]})
    with asking(broker) as cluster:
        assert delete_records(cluster, {FIRST: 5}) == {FIRST: 5}
    assert broker.asked.count(DeleteRecordsRequest.API_KEY) == 2


@pytest.mark.parametrize(
    ("find", "leader"),
    [
        (lambda cluster: describe_quorum(cluster).leader_id, 1),
        (lambda cluster: describe_cluster(cluster).controller_id, 1),
    ],
    ids=["quorum", "cluster"],
)
def test_who_leads_the_quorum_is_asked_again(find: Callable[[Cluster], int], leader: int) -> None:
    """A leader that has just lost the quorum says so of the partition, not of the whole answer."""
    broker = OneBroker(refusals={DescribeQuorumRequest.API_KEY: [ErrorCode.NOT_LEADER_OR_FOLLOWER]})
    with asking(broker) as cluster:
        assert find(cluster) == leader


def test_without_a_quorum_nobody_is_called_the_controller() -> None:
    """What the metadata names is any broker."""
    refusals = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * LOOKS_MOST
    with asking(OneBroker(refusals={DescribeQuorumRequest.API_KEY: refusals})) as cluster:
        description = describe_cluster(cluster)
    assert description.controller_id is None
    assert not any(each.is_controller for each in description.brokers)


@pytest.mark.parametrize("error", [KafkaRefused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), CannotConnect("a:1", "gone")])
def test_who_is_not_told_of_moves_sees_all_replicas(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(cluster: Cluster, partitions: list[TopicPartition]) -> None:
        raise error

    monkeypatch.setattr("stoker.client.admin.reassignments.list_reassignments", refuse)
    with asking(OneBroker()) as cluster:
        assert without_newcomers(cluster, {FIRST: (1, 2)}, {FIRST: (1,)}) == {FIRST: (1, 2)}


def test_a_replica_that_is_only_being_added_is_not_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka's metric of under-replicated partitions; one that was there before is, whoever was added."""
    third = TopicPartition("orders", 2)
    move = Reassignment(replicas=(4, 1, 2, 3), adding=(4,), removing=(1,))
    asked: list[list[TopicPartition]] = []

    def moves(cluster: Cluster, partitions: list[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        asked.append(partitions)
        return {FIRST: move, SECOND: move}

    monkeypatch.setattr("stoker.client.admin.reassignments.list_reassignments", moves)
    replicas = {FIRST: (4, 1, 2, 3), SECOND: (4, 1, 2, 3), third: (1, 2, 3)}
    in_sync = {FIRST: (1, 2, 3), SECOND: (4, 1, 2), third: (1, 2, 3)}
    with asking(OneBroker()) as cluster:
        assert without_newcomers(cluster, replicas, in_sync) == {
            FIRST: (1, 2, 3),
            SECOND: (4, 1, 2, 3),
            third: (1, 2, 3),
        }
        assert asked == [[FIRST, SECOND]]
        assert without_newcomers(cluster, {third: (1, 2, 3)}, in_sync) == {third: (1, 2, 3)}
    assert len(asked) == 1
