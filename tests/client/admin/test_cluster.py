"""A real cluster describes itself."""

from stoker.client.admin.cluster import describe_cluster
from stoker.client.admin.log_dirs import replica_sizes
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition
from tests.clients.client import eventually


def test_all_nodes(cluster: Cluster, address: str) -> None:
    description = describe_cluster(cluster)
    assert len(description.cluster_id) == 22
    assert {f"{broker.host}:{broker.port}" for broker in description.brokers} == set(address.split(","))
    (controller,) = (broker for broker in description.brokers if broker.is_controller)
    assert controller.node_id == description.controller_id


def test_sizes(cluster: Cluster, topic: str, records: list[int]) -> None:
    node_id, *_ = cluster.brokers()
    full, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    # Apache Kafka makes the logs of a new topic one after the other, a moment after it has answered.
    sizes = eventually(lambda: replica_sizes(cluster, node_id, [full, empty]), lambda sizes: len(sizes) == 2)
    assert sizes[full] > sizes[empty] == 0
