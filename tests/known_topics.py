"""What the brokers of a cluster know of a topic: they hear of a change from the controller, one after the other."""

from collections.abc import Callable

from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties


def wait_until_all_know(bootstrap_servers: str, name: str, is_so: Callable[[Topic | None], bool]) -> None:
    """Until each broker that is named tells of the topic, or of None, what was just done to it."""
    for server in bootstrap_servers.split(","):
        with Cluster(client_properties(server)) as cluster:
            told = (describe_topics(cluster, [name])[0] for _ in cluster.attempts())
            assert any(is_so(each if isinstance(each, Topic) else None) for each in told), (
                f"{server} has not heard of what became of {name}"
            )


def wait_for_partitions(bootstrap_servers: str, name: str, count: int) -> None:
    wait_until_all_know(bootstrap_servers, name, lambda topic: topic is not None and len(topic.partitions) == count)
