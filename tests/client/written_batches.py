"""Batches that are written exactly as a test has made them."""

from stoker.client.cluster import Cluster
from stoker.client.targets import LeaderOf
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

_BEFORE_TOPIC_IDS = 12


def write_batches(cluster: Cluster, topic: str, *batches: bytes, partition: int = 0) -> None:
    """Each in a request of its own, so that they stay apart."""
    for batch in batches:
        data = PartitionProduceData(index=partition, records=batch)
        answer = cluster.send(
            ProduceRequest(
                acks=-1, timeout_ms=20_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            ),
            ProduceResponse,
            to=LeaderOf(topic, partition),
            up_to=_BEFORE_TOPIC_IDS,
            error_of=lambda response: response.responses[0].partition_responses[0].error_code,
        )
        [written] = answer.responses[0].partition_responses
        assert written.error_code == 0, written
