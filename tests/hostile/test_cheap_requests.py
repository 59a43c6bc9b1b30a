"""Requests that cost their sender little and could cost the broker much."""

from pathlib import Path

import pytest

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from stoker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stoker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stoker.wire.messages.describe_producers import DescribeProducersRequest
from stoker.wire.messages.describe_producers import TopicRequest as ProducersOfTopic
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.schema import Request
from tests.hostile.broker_process import BrokerProcess
from tests.hostile.bystander import Bystander
from tests.raw_connection import batch_of, request_frame

_MEGABYTE = 1024 * 1024
_MANY = 99_000
_BROKER_RESOURCE = 4
_GROUP_RESOURCE = 32


def _resource(kind: int, name: str) -> DescribeConfigsResource:
    return DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)


_CHEAP_REQUESTS: dict[str, tuple[Request, int]] = {
    "Metadata of many names": (
        MetadataRequest(
            topics=[MetadataRequestTopic(name=f"{number:x}") for number in range(_MANY)],
            allow_auto_topic_creation=False,
        ),
        9,
    ),
    "Metadata of one topic many times": (MetadataRequest(topics=[MetadataRequestTopic(name="wide")] * _MANY), 9),
    "settings of the broker many times": (
        DescribeConfigsRequest(
            resources=[_resource(_BROKER_RESOURCE, "1")] * (_MANY // 2),
            include_documentation=True,
            include_synonyms=True,
        ),
        4,
    ),
    "settings of many groups": (
        DescribeConfigsRequest(
            resources=[_resource(_GROUP_RESOURCE, str(number)) for number in range(_MANY // 5)],
            include_documentation=True,
        ),
        4,
    ),
    "a session over many partitions": (
        FetchRequest(
            session_epoch=0,
            topics=[
                FetchTopic(topic="nowhere", partitions=[FetchPartition(partition=number) for number in range(_MANY)])
            ],
        ),
        12,
    ),
    "one offset many times": (
        ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(name="wide", partitions=[ListOffsetsPartition(partition_index=0, timestamp=5)] * _MANY)
            ]
        ),
        6,
    ),
    "producers of one partition many times": (
        DescribeProducersRequest(topics=[ProducersOfTopic(name="wide", partition_indexes=[0] * _MANY)]),
        0,
    ),
    "two thousand million partitions": (
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="wide", count=2**31 - 1, assignments=None)]),
        3,
    ),
    "ten million partitions in a thousand topics": (
        CreateTopicsRequest(
            topics=[
                CreatableTopic(name=f"new-{number}", num_partitions=10_000, replication_factor=1)
                for number in range(1_000)
            ]
        ),
        7,
    ),
}


def test_a_cheap_request_is_cheap_to_answer(broker: BrokerProcess) -> None:
    """No small request makes the broker hold much memory, or an honest client wait long."""
    with broker.connect() as connection:
        connection.create_topic("wide", partitions=100)
        connection.produce("wide", batch_of(b"value"))
    before = broker.resident_bytes
    for name, (request, version) in _CHEAP_REQUESTS.items():
        frame = request_frame(request, version)
        with Bystander(broker) as bystander, broker.connect(timeout=60) as connection:
            connection.socket.sendall(frame)
            answer = connection.receive_frame()
        grown = broker.peak_resident_bytes - before
        print(
            f"{name}: {len(frame)} bytes, {len(answer)} back, waited {bystander.longest_wait:.2f} s, {grown / 1e6:.0f} MB"
        )
        assert bystander.longest_wait < 3, name
        assert grown < 300 * _MEGABYTE, name


def test_more_elements_than_a_request_may_have_close_its_connection(broker: BrokerProcess) -> None:
    partitions = [PartitionProduceData(index=0, records=None)] * 20_001
    too_many: list[tuple[Request, int]] = [
        (MetadataRequest(topics=[MetadataRequestTopic(name="a")] * 100_001), 9),
        (ProduceRequest(acks=1, topic_data=[TopicProduceData(name="a", partition_data=partitions)]), 9),
        (ProduceRequest(acks=1, topic_data=[TopicProduceData(name="a", partition_data=partitions)]), 3),
    ]
    for request, version in too_many:
        with broker.connect() as connection:
            connection.socket.sendall(request_frame(request, version))
            assert connection.is_closed_by_broker()


@pytest.mark.acceptance("B020")
def test_metadata_creates_no_more_topics_than_one_request_may(tmp_path: Path) -> None:
    """Auto-creation makes topics of num.partitions partitions, and one Metadata request at most 10,000 partitions."""
    names = [f"made-{number}" for number in range(6)]
    with BrokerProcess(tmp_path, num_partitions=2_500) as broker, broker.connect(timeout=60) as connection:
        topics = connection.call(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]), 9).topics
    assert [(topic.error_code, len(topic.partitions)) for topic in topics] == [
        *[(ErrorCode.NONE, 2_500)] * 4,
        *[(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)] * 2,
    ]


def test_pipelined_requests_are_answered_in_turns(broker: BrokerProcess) -> None:
    """Ten thousand requests in one write hold up nobody, though each of them takes a millisecond."""
    describe = DescribeConfigsRequest(resources=[_resource(_BROKER_RESOURCE, "1")])
    frame = request_frame(describe, 4)
    with Bystander(broker) as bystander, broker.connect(timeout=60) as connection:
        connection.socket.sendall(frame * 500)
        for _ in range(500):
            connection.receive_frame()
    assert bystander.longest_wait < 1


def test_a_long_client_id_is_served_and_stays_out_of_the_log(broker: BrokerProcess) -> None:
    client_id = "c" * 32_767
    with broker.connect() as connection:
        connection.socket.sendall(request_frame(MetadataRequest(topics=[]), 9, client_id=client_id))
        connection.receive_frame()
    assert not broker.log_lines("ccccc")
