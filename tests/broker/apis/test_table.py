"""The table is true: what it advertises is answered, by a real broker over a real connection."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

import stoker
from stoker.broker.apis.table import APIS, Api
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import ApiVersionsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.schema import Struct
from tests.broker.sensible_requests import Target, sensible_requests
from tests.raw_connection import RawConnection, batch_of

_ANYWHERE = Target(topic="", topic_id=UUID(int=0), spare_topic="")
_VERSIONS = list(dict.fromkeys((api.key, version) for api, version, _ in sensible_requests(_ANYWHERE)))

_EXPECTED_ERRORS = {
    "CreatePartitions": {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},  # the spare topic, which only CreateTopics makes
    "DeleteTopics": {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    "ElectLeaders": {ErrorCode.ELECTION_NOT_NEEDED},
    # No group has members here, and only the connection that finds the coordinator first makes its topic.
    "JoinGroup": {ErrorCode.MEMBER_ID_REQUIRED},
    "SyncGroup": {ErrorCode.UNKNOWN_MEMBER_ID},
    "Heartbeat": {ErrorCode.UNKNOWN_MEMBER_ID},
    "LeaveGroup": {ErrorCode.UNKNOWN_MEMBER_ID},
    "DescribeGroups": {ErrorCode.GROUP_ID_NOT_FOUND},
    "DeleteGroups": {ErrorCode.GROUP_ID_NOT_FOUND},
    "OffsetDelete": {ErrorCode.GROUP_ID_NOT_FOUND},
    "ConsumerGroupDescribe": {ErrorCode.GROUP_ID_NOT_FOUND},
    # The producer that these speak of is not there.
    "AddOffsetsToTxn": {ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    "EndTxn": {ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    "TxnOffsetCommit": {ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    "DescribeTransactions": {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND},
    "PushTelemetry": {ErrorCode.UNKNOWN_SUBSCRIPTION_ID},
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with stoker.Broker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        with RawConnection(broker.bootstrap_servers) as connected:
            connected.create_topic("matrix", partitions=2)
            connected.produce("matrix", batch_of(b"which may be deleted"))
            connected.call(FindCoordinatorRequest(coordinator_keys=["the-first"]), 6)  # makes __consumer_offsets
            connected.call(FindCoordinatorRequest(coordinator_keys=["the-first"], key_type=1), 6)
        yield broker.bootstrap_servers


@pytest.fixture
def connection(address: str) -> Iterator[RawConnection]:
    with RawConnection(address) as connected:
        yield connected


@pytest.mark.parametrize(("key", "version"), _VERSIONS, ids=lambda value: str(value))
def test_every_advertised_version_answers(connection: RawConnection, key: int, version: int) -> None:
    response = connection.call(MetadataRequest(topics=[MetadataRequestTopic(name="matrix")]), 12)
    target = Target(topic="matrix", topic_id=response.topics[0].topic_id, spare_topic=f"spare-{key}-{version}")

    for api, request_version, request in sensible_requests(target):
        if (api.key, request_version) == (key, version):
            response = connection.call(request, version)
            assert _error_codes(response) <= {ErrorCode.NONE} | _EXPECTED_ERRORS.get(api.name, set()), response


def _error_codes(structure: object) -> set[int]:
    """Every error code anywhere in a message."""
    found: set[int] = set()
    if isinstance(structure, list):
        for element in structure:
            found |= _error_codes(element)
    elif isinstance(structure, Struct):
        for field in structure.FIELDS:
            value: Any = getattr(structure, field.name)
            found |= {value} if field.name == "error_code" else _error_codes(value)
    return found


def test_api_versions_tells_the_table(connection: RawConnection) -> None:
    told = {each.api_key: (each.min_version, each.max_version) for each in _api_versions(connection, 0).api_keys}
    assert told == {api.key: (_advertised_minimum(api), api.max_version) for api in APIS.values()}


def _advertised_minimum(api: Api) -> int:
    return api.min_version if api.advertised_min_version is None else api.advertised_min_version


def _api_versions(connection: RawConnection, version: int) -> Any:
    request = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    return connection.call(request, version)
