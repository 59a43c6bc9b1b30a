"""A rolling restart that clients do not notice.

A node is restarted while all others are in sync, and the next only when it is back and every partition is whole again.
(Loops that are often seen stop a broker and wait for zero under-replicated partitions while it is down: they never end.)
The active controller comes last, so that it moves once. A node that stops hands its leaderships over, and gets none back
when it returns; so at the end the preferred leaders are elected.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stoker.client.admin.elections import ElectionType, elect_leaders
from stoker.client.errors import ClientError
from stoker.clusters.errors import NodeState, NotInTime
from stoker.clusters.kafka_node import KafkaNode
from stoker.clusters.kafka_status import Replication

if TYPE_CHECKING:
    from stoker.clusters.kafka_cluster import KafkaCluster

_POLL_SECONDS: Final = 0.2
_REMARK_SECONDS: Final = 5.0


def roll(
    kafka: "KafkaCluster", restart: Callable[[KafkaNode, float], None], say: Callable[[str], None], seconds: float
) -> None:
    """Raises NodeState if the cluster is not whole to begin with, or a node ends meanwhile, and NotInTime."""
    _check(kafka)
    left = {node.number: node for node in kafka.nodes()}
    while left:
        controller = kafka.replication().quorum_leader
        number = next((each for each in left if each != controller), next(iter(left)))
        began = time.monotonic()
        restart(left.pop(number), seconds)
        _wait(kafka, lambda told: told.is_whole, lambda told: _missing(told), say, seconds)
        say(f"Node {number} is back, and every partition is in sync ({time.monotonic() - began:.1f} s).")
    say("Electing the preferred leaders ...")
    _elect(kafka, say, seconds)


def _check(kafka: "KafkaCluster") -> None:
    if down := _down(kafka):
        raise NodeState(
            f"node {down[0]} is down, and to stop another one might stop writes: `stoker cluster up` starts what is down"
        )
    told = kafka.replication()
    if not told.is_whole:
        raise NodeState(
            f"the cluster is not whole ({_missing(told)}), and to stop a node might stop writes: wait until "
            "`stoker cluster status` shows none"
        )


def _elect(kafka: "KafkaCluster", say: Callable[[str], None], seconds: float) -> None:
    with kafka.client() as cluster:
        try:
            elect_leaders(cluster, ElectionType.PREFERRED)
        except ClientError as error:
            raise NotInTime(f"the preferred leaders could not be elected: {error}") from error
    _wait(
        kafka,
        lambda told: told.is_whole and not told.without_preferred_leader,
        lambda told: f"{told.without_preferred_leader} partitions are not led by their preferred leader",
        say,
        seconds,
    )
    say("Every partition is led by its preferred leader.")


def _wait(
    kafka: "KafkaCluster",
    is_so: Callable[[Replication], bool],
    in_words: Callable[[Replication], str],
    say: Callable[[str], None],
    seconds: float,
) -> None:
    began = said = time.monotonic()
    while not is_so(told := kafka.replication()):
        if down := _down(kafka):
            raise NodeState(
                f"node {down[0]} is down meanwhile ({in_words(told)}). The rest of the nodes is left as it is: `stoker cluster up` "
                "starts what is down, then roll again"
            )
        now = time.monotonic()
        if now - began > seconds:
            raise NotInTime(f"after {seconds:g} s: {in_words(told)}. The rest of the nodes is left as it is.")
        if now - said > _REMARK_SECONDS:
            said = now
            say(f"  {in_words(told)}")
        time.sleep(_POLL_SECONDS)


def _down(kafka: "KafkaCluster") -> list[int]:
    return [node.number for node in kafka.nodes() if not node.is_running]


def _missing(told: Replication) -> str:
    if told.partitions is None:
        return "no broker answers"
    return f"{told.under_replicated} partitions are under-replicated, {told.offline} have no leader"
