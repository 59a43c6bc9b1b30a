"""Whom a cluster asks, and when it asks again."""

import socket

import pytest

from stoker.client.address import Address
from stoker.client.cluster import Cluster
from stoker.client.errors import CannotConnect, ConnectionLost, KafkaRefused, NotKafka
from stoker.client.properties import client_properties
from stoker.client.targets import CONTROLLER, Broker, CoordinatorOf, LeaderOf
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from stoker.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.scripted_broker import Answer, Asked, ScriptedBroker, framed, offering, scripted_broker

ALL = offering(MetadataRequest, ListGroupsRequest, FindCoordinatorRequest)
METADATA, LIST_GROUPS, FIND_COORDINATOR = (
    each.API_KEY for each in (MetadataRequest, ListGroupsRequest, FindCoordinatorRequest)
)


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def cluster_of(*brokers: ScriptedBroker | Address, time: FakeTime | None = None) -> Cluster:
    addresses = [each.address if isinstance(each, ScriptedBroker) else each for each in brokers]
    time = time or FakeTime()
    return Cluster(client_properties(",".join(map(str, addresses))), clock=time.clock, sleep=time.sleep)


def nobody() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address(*listener.getsockname())


def asked(broker: ScriptedBroker) -> list[int]:
    return [each.header.api_key for each in broker.asked]


def closed(asked: Asked) -> None:
    return None


def groups(error_code: int = 0) -> Answer:
    return lambda asked: framed(asked, ListGroupsResponse(error_code=error_code))


def metadata(brokers: dict[int, Address], *, controller: int = -1, leaders: dict[int, int] | None = None) -> Answer:
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=leader) for index, leader in (leaders or {}).items()
    ]
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=at.host, port=at.port) for node, at in brokers.items()],
        controller_id=controller,
        topics=[MetadataResponseTopic(name="orders", partitions=partitions)] if partitions else [],
    )
    return lambda asked: framed(asked, response)


def coordinator(node_id: int, at: Address, error_code: int = 0) -> Answer:
    response = FindCoordinatorResponse(node_id=node_id, host=at.host, port=at.port, error_code=error_code)
    return lambda asked: framed(asked, response)


def test_the_first_bootstrap_server_that_answers_is_taken() -> None:
    with scripted_broker(ALL, groups()) as broker, cluster_of(nobody(), broker) as cluster:
        assert cluster.send(ListGroupsRequest(), ListGroupsResponse).error_code == 0


def test_an_address_that_is_not_kafkas_stops_nobody_from_finding_the_others() -> None:
    """A proxy, an ingress, a wrong port: what answers there is passed over; alone it is told of at once."""

    def http(asked: Asked) -> bytes:
        return b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"

    time = FakeTime()
    with scripted_broker(http) as proxy, scripted_broker(http) as another, scripted_broker(ALL, groups()) as broker:
        with cluster_of(proxy, broker) as cluster:
            assert cluster.send(ListGroupsRequest(), ListGroupsResponse).error_code == 0
        for proxies in ((proxy,), (proxy, another)):
            with cluster_of(*proxies, time=time) as cluster:
                with pytest.raises(NotKafka, match="announced a response of 1213486160 bytes"):
                    cluster.metadata([])
        assert time.pauses == []


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
def test_a_host_that_can_be_none_is_told_of(host: str) -> None:
    with cluster_of(Address(host, 9092)) as cluster, pytest.raises(CannotConnect, match="that can be no host's name"):
        cluster.metadata([])


def test_a_cluster_that_nobody_reaches_fails_at_once() -> None:
    """An operator who mistyped an address must not wait a minute to hear it."""
    time = FakeTime()
    gone, other = nobody(), nobody()
    with cluster_of(gone, time=time) as cluster, pytest.raises(CannotConnect, match=f"{gone}: Connection refused"):
        cluster.metadata([])
    with cluster_of(gone, other, time=time) as cluster, pytest.raises(CannotConnect) as refused:
        cluster.metadata([])
    assert str(gone) in str(refused.value)
    assert str(other) in str(refused.value)
    assert time.pauses == []


def test_a_lost_connection_is_opened_again() -> None:
    time = FakeTime()
    with scripted_broker(ALL, closed, groups()) as broker, cluster_of(broker, time=time) as cluster:
        assert cluster.send(ListGroupsRequest(), ListGroupsResponse).error_code == 0
    assert broker.connections == 2
    assert len(time.pauses) == 1


def test_retriable_errors_are_tried_again_with_growing_pauses() -> None:
    time = FakeTime()
    loading = groups(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    with scripted_broker(ALL, *[loading] * 6, groups()) as broker, cluster_of(broker, time=time) as cluster:
        assert cluster.send(ListGroupsRequest(), ListGroupsResponse).error_code == 0
    assert broker.connections == 1
    wanted = [0.1, 0.2, 0.4, 0.8, 1, 1]
    assert time.pauses == [pytest.approx(pause, rel=0.21) for pause in wanted]


def test_other_errors_are_not() -> None:
    refusal = groups(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with scripted_broker(ALL, refusal) as broker, cluster_of(broker) as cluster:
        answer = cluster.send(ListGroupsRequest(), ListGroupsResponse)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_when_the_time_is_over_the_last_answer_counts() -> None:
    time = FakeTime()
    script = [groups(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)] * 200
    with scripted_broker(ALL, *script) as broker, cluster_of(broker, time=time) as cluster:
        answer = cluster.send(ListGroupsRequest(), ListGroupsResponse)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert 58 <= time.now <= 61


def test_when_the_time_is_over_the_last_failure_counts() -> None:
    time = FakeTime()
    with scripted_broker(ALL, *[closed] * 200) as broker, cluster_of(broker, time=time) as cluster:
        with pytest.raises(ConnectionLost):
            cluster.send(ListGroupsRequest(), ListGroupsResponse)
    assert 58 <= time.now <= 61


def test_each_goes_to_the_one_who_is_responsible() -> None:
    with (
        scripted_broker(ALL, groups()) as controller,
        scripted_broker(ALL, groups()) as leader,
        scripted_broker(ALL, groups()) as other,
    ):
        brokers = {1: controller.address, 2: leader.address, 3: other.address}
        known = metadata(brokers, controller=1, leaders={0: 2, 1: 3})
        with scripted_broker(ALL, known) as bootstrap, cluster_of(bootstrap) as cluster:
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=CONTROLLER)
            assert asked(controller) == [LIST_GROUPS]
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=LeaderOf("orders", 0))
            assert asked(leader) == [LIST_GROUPS]
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=Broker(3))
            assert asked(other) == [LIST_GROUPS]
            assert asked(bootstrap) == [METADATA]


def test_a_leader_that_has_moved_is_looked_for_again() -> None:
    moved = groups(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with scripted_broker(ALL, moved) as old, scripted_broker(ALL, groups()) as new:
        brokers = {1: old.address, 2: new.address}
        before, after = metadata(brokers, leaders={0: 1}), metadata(brokers, leaders={0: 2})
        with scripted_broker(ALL, before, after) as bootstrap, cluster_of(bootstrap) as cluster:
            answer = cluster.send(ListGroupsRequest(), ListGroupsResponse, to=LeaderOf("orders", 0))
    assert answer.error_code == 0
    assert (asked(old), asked(new)) == ([LIST_GROUPS], [LIST_GROUPS])


def test_a_coordinator_that_has_moved_is_looked_for_again() -> None:
    moved = groups(ErrorCode.NOT_COORDINATOR)
    with scripted_broker(ALL, moved) as old, scripted_broker(ALL, groups()) as new:
        known = metadata({1: old.address, 2: new.address})
        script = [
            known,
            coordinator(-1, old.address, ErrorCode.COORDINATOR_NOT_AVAILABLE),
            known,
            coordinator(1, old.address),
            known,
            coordinator(2, new.address),
        ]
        with scripted_broker(ALL, *script) as bootstrap, cluster_of(bootstrap) as cluster:
            answer = cluster.send(ListGroupsRequest(), ListGroupsResponse, to=CoordinatorOf("payments"))
            assert cluster.coordinator_of(CoordinatorOf("payments")) == 2
    assert answer.error_code == 0
    assert (asked(old), asked(new)) == ([LIST_GROUPS], [LIST_GROUPS])
    assert asked(bootstrap) == [METADATA, FIND_COORDINATOR] * 3


def test_a_leader_whose_broker_is_gone_is_looked_for_again() -> None:
    """That it is gone was learnt with another partition, whose leader had moved."""
    moved = groups(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with scripted_broker(ALL, moved) as old, scripted_broker(ALL, groups(), groups()) as new:
        before = metadata({1: old.address, 2: new.address}, leaders={0: 1, 1: 1})
        one_known, both_known = (metadata({2: new.address}, leaders=each) for each in ({0: 2}, {0: 2, 1: 2}))
        with scripted_broker(ALL, before, one_known, both_known) as bootstrap, cluster_of(bootstrap) as cluster:
            for partition in (0, 1):
                answer = cluster.send(ListGroupsRequest(), ListGroupsResponse, to=LeaderOf("orders", partition))
                assert answer.error_code == 0
    assert (asked(old), asked(new)) == ([LIST_GROUPS], [LIST_GROUPS] * 2)


def test_a_coordinator_whose_broker_is_gone_is_looked_for_again() -> None:
    with scripted_broker(ALL, groups()) as old, scripted_broker(ALL, groups()) as new:
        script = [
            metadata({1: old.address, 2: new.address}),
            coordinator(1, old.address),
            metadata({2: new.address}),
            metadata({2: new.address}),
            coordinator(2, new.address),
        ]
        with scripted_broker(ALL, *script) as bootstrap, cluster_of(bootstrap) as cluster:
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=CoordinatorOf("payments"))
            cluster.metadata([])
            answer = cluster.send(ListGroupsRequest(), ListGroupsResponse, to=CoordinatorOf("payments"))
    assert answer.error_code == 0
    assert (asked(old), asked(new)) == ([LIST_GROUPS], [LIST_GROUPS])


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (Broker(7), "there is no live broker 7"),
        (LeaderOf("orders", 1), "partition 1 of topic 'orders' has no leader"),
        (LeaderOf("orders", 9), "there is no partition 9 of topic 'orders'"),
    ],
)
def test_nobody_is_responsible(to: Broker | LeaderOf, words: str) -> None:
    known = metadata({1: nobody()}, leaders={0: 1, 1: -1})
    with scripted_broker(ALL, *[known] * 400) as bootstrap, cluster_of(bootstrap) as cluster:
        with pytest.raises(KafkaRefused, match=words):
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=to)


def test_a_topic_that_one_may_not_see_is_not_one_that_is_not_there() -> None:
    """Who reads on without what is gone must not take it for that."""
    withheld = MetadataResponseTopic(name="orders", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    known: Answer = lambda asked: framed(asked, MetadataResponse(topics=[withheld]))  # noqa: E731
    with scripted_broker(ALL, known, known) as bootstrap, cluster_of(bootstrap) as cluster:
        with pytest.raises(KafkaRefused, match="partition 0 of topic 'orders': ") as refused:
            cluster.send(ListGroupsRequest(), ListGroupsResponse, to=LeaderOf("orders", 0))
        assert refused.value.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
