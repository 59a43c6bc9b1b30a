"""Which instance takes the writes: the rule, and elections on a real broker."""

import json
import queue
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from stoker.client.admin.groups import describe_group
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.targets import CoordinatorOf
from stoker.registry.election import Elector, Identity, Result, Standing, elect
from stoker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

WAIT_SECONDS = 20


def member(port: int, **fields: Any) -> Identity:
    return Identity(host="127.0.0.1", port=port, **fields)


@pytest.mark.parametrize(
    ("members", "chosen"),
    [
        ({"a": member(2), "b": member(1)}, "b"),
        ({"a": member(2, is_primary=True), "b": member(1)}, "a"),
        ({"a": member(2, is_primary=True), "b": member(1, is_primary=True)}, "b"),
        ({"a": member(2), "b": member(1, is_eligible=False)}, "a"),
        ({"a": member(2), "b": member(1, is_eligible=False, is_primary=True)}, "a"),
        ({"a": member(1, is_eligible=False)}, None),
        ({"a": None, "b": member(1)}, "b"),
        ({}, None),
    ],
    ids=["smallest", "incumbent", "two-incumbents", "eligible", "was-eligible", "nobody", "unreadable", "empty"],
)
def test_who_is_primary(members: dict[str, Identity | None], chosen: str | None) -> None:
    assignment = elect(members)
    assert assignment.get("master") == chosen
    assert assignment["error"] == 0


def test_members_with_one_url_are_told() -> None:
    """As Confluent's registry tells it: error 1."""
    assert elect({"a": member(1), "b": member(1)})["error"] == 1


def test_an_identity_is_written_as_confluent_does() -> None:
    assert json.dumps(member(8081).to_json()) == (
        '{"version": 1, "host": "127.0.0.1", "port": 8081, "master_eligibility": true, "scheme": "http", "leader": false}'
    )
    assert Identity(host="::1", port=8081).url == "http://[::1]:8081"


class Candidate:
    """An elector whose results can be waited for."""

    def __init__(self, bootstrap_servers: str, group_id: str, port: int, **fields: Any) -> None:
        self.results: queue.Queue[Result] = queue.Queue()
        self.elector = Elector(
            client_properties(bootstrap_servers),
            group_id=group_id,
            identity=member(port, **fields),
            session_timeout_ms=1500,
            on_result=self.results.put,
        )
        self.elector.start()

    def wait_for(self, standing: Standing, port: int | None = None) -> None:
        while True:
            result = self.results.get(timeout=WAIT_SECONDS)
            if result.standing is standing and (port is None or (result.primary and result.primary.port == port)):
                return


@pytest.fixture
def group_id() -> str:
    return f"sr-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as entered:
        yield entered


def test_the_first_one_need_not_wait_for_a_group(bootstrap_servers: str, group_id: str, stack: ExitStack) -> None:
    """While there is nobody else, an instance takes the writes before any group has formed."""
    candidate = Candidate(bootstrap_servers, group_id, 1)
    stack.callback(candidate.elector.stop)
    assert candidate.results.get(timeout=WAIT_SECONDS) == Result(Standing.PRIMARY, member(1))


def test_the_primary_stays_until_it_leaves(bootstrap_servers: str, group_id: str, stack: ExitStack) -> None:
    """One with a smaller URL that comes later follows; when the primary leaves, it takes over at once."""
    first = Candidate(bootstrap_servers, group_id, 9)
    first.wait_for(Standing.PRIMARY)  # since there is nobody else
    first.wait_for(Standing.PRIMARY)  # by an election, so that the next one finds it there
    second = Candidate(bootstrap_servers, group_id, 1)
    stack.callback(second.elector.stop)
    second.wait_for(Standing.FOLLOWER, 9)
    with Cluster(client_properties(bootstrap_servers)) as cluster:
        group = cluster.send(
            DescribeGroupsRequest(groups=[group_id]), DescribeGroupsResponse, to=CoordinatorOf(group_id)
        ).groups[0]
        assert (group.protocol_type, len(group.members)) == ("sr", 2)
        first.elector.stop()
        second.wait_for(Standing.PRIMARY)
        assert len(describe_group(cluster, group_id).members) == 1


def test_one_that_is_not_eligible_never_takes_over(bootstrap_servers: str, group_id: str, stack: ExitStack) -> None:
    alone = Candidate(bootstrap_servers, group_id, 1, is_eligible=False)
    stack.callback(alone.elector.stop)
    alone.wait_for(Standing.UNDECIDED)
    other = Candidate(bootstrap_servers, group_id, 2)
    stack.callback(other.elector.stop)
    alone.wait_for(Standing.FOLLOWER, 2)
