"""Clusters that are connected already: who needs one for a moment borrows it, and finds its connections open."""

import os
from collections.abc import Hashable
from threading import Lock
from typing import Final

from stoker.client.cluster import Cluster
from stoker.client.properties import ClientProperties

_MOST_IDLE: Final = 4
"""Of one set of properties; a Spark worker reads and writes one range at a time."""

_idle: dict[Hashable, list[Cluster]] = {}
_lock = Lock()


def borrow_cluster(properties: ClientProperties) -> Cluster:
    """One for the caller alone, until it gives it back or closes it. It waits for brokers that are away."""
    with _lock:
        idle = _idle.get(_key(properties))
        return idle.pop() if idle else Cluster(properties, is_patient=True)


def return_cluster(cluster: Cluster) -> None:
    """For the next one who asks. Nobody may be waiting for an answer on it."""
    with _lock:
        idle = _idle.setdefault(_key(cluster.properties), [])
        if len(idle) < _MOST_IDLE:
            idle.append(cluster)
            return
    cluster.close()


def close_idle_clusters() -> None:
    with _lock:
        for idle in _idle.values():
            for cluster in idle:
                cluster.close()
        _idle.clear()


def _key(properties: ClientProperties) -> Hashable:
    return tuple(sorted(properties.given.items()))


def _forget_after_fork() -> None:
    """Two processes must not talk on one connection."""
    global _lock
    _lock = Lock()
    _idle.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
