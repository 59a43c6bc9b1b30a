"""Elections of leaders: the preferred one again, or one at the price of records."""

from collections.abc import Iterable
from enum import IntEnum

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import CONTROLLER
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions


class ElectionType(IntEnum):
    """PREFERRED makes the first replica the leader; UNCLEAN one that is not in sync, where there is no other."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    cluster: Cluster, election_type: ElectionType, partitions: Iterable[TopicPartition] | None = None
) -> dict[TopicPartition, KafkaRefused | None]:
    """Elect leaders of the given partitions, or of all: for each None or why there was no election.

    ELECTION_NOT_NEEDED is among the reasons; of all partitions, only those that needed one are told. Raises KafkaRefused.
    """
    wanted = None
    if partitions is not None:
        wanted = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()]
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=wanted,
        timeout_ms=cluster.properties.request_timeout_ms,
    )
    answer = cluster.send(request, ElectLeadersResponse, to=CONTROLLER)
    raise_if_refused(answer.error_code)
    found = {
        TopicPartition(result.topic, each.partition_id): KafkaRefused(each.error_code, each.error_message)
        if each.error_code
        else None
        for result in answer.replica_election_results
        for each in result.partition_result
    }
    return dict(sorted(found.items()))
