"""Which of several instances takes the writes: elected through Kafka's group protocol, as Confluent's registry does it, so
that instances of both can stand in one group.

The election says who should write. That no one else can is up to the log (stoker.registry.log_writer): an instance which
has not yet heard that it was replaced is refused there.
"""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused, as_error_code, raise_if_refused
from stoker.client.properties import ClientProperties, client_properties
from stoker.client.targets import CoordinatorOf
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

logger = logging.getLogger("stoker.registry")

_PROTOCOL_TYPE: Final = "sr"
_PROTOCOL: Final = "v0"
_VERSION: Final = 1
_NO_ERROR: Final = 0
_DUPLICATE_URLS: Final = 1
_HEARTBEATS_IN_A_SESSION: Final = 3
_PAUSE_SECONDS: Final = 1.0
REFUSED_PAUSE_SECONDS: Final = 60.0
"""After a login that was refused: users that try too often are locked out."""
_MARGIN_MS: Final = 5_000
_FAREWELL_SECONDS: Final = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """An instance, as it makes itself known to the others."""

    host: str
    port: int
    scheme: str = "http"
    is_eligible: bool = True
    is_primary: bool = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def to_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.is_eligible,
            "scheme": self.scheme,
            "leader": self.is_primary,
        }


class Standing(Enum):
    """Where an instance stands."""

    UNDECIDED = "nobody is elected, as far as is known here"
    PRIMARY = "this instance takes the writes"
    FOLLOWER = "another one does"


class Result(NamedTuple):
    standing: Standing
    primary: Identity | None = None


class Elector:
    """Stands for election in a thread of its own, for as long as it runs. `on_result` is called there."""

    def __init__(
        self,
        properties: ClientProperties,
        *,
        group_id: str,
        identity: Identity,
        session_timeout_ms: int,
        on_result: Callable[[Result], None],
    ) -> None:
        self._group_id = group_id
        self._identity = identity
        self._session_timeout_ms = session_timeout_ms
        self._on_result = on_result
        # A join is answered when all members have joined, or their time is over.
        waiting = {"request.timeout.ms": str(session_timeout_ms + _MARGIN_MS)}
        self._properties = client_properties(given={**properties.given, **waiting})
        self._member_id = ""
        self._is_primary = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stoker-registry-election", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, so that the others need not wait until the session is over. Blocks for a moment."""
        self._stopping.set()
        if self._member_id:
            try:
                self._leave()
            except ClientError as problem:
                logger.info("could not leave the group %s: %s", self._group_id, problem)
        self._thread.join(_FAREWELL_SECONDS)

    def _run(self) -> None:
        is_first = True
        while not self._stopping.is_set():
            try:
                with Cluster(self._properties) as cluster:
                    if is_first and self._identity.is_eligible and self._is_alone(cluster):
                        # Nobody is there to be asked: who joins a new group waits for others, for 3 s as brokers are set.
                        self._tell(Result(Standing.PRIMARY, self._identity))
                    is_first = False
                    while not self._stopping.is_set():
                        self._stay(cluster, self._join(cluster))
            except ClientError as problem:
                if not self._stopping.is_set():
                    logger.warning("the election is held up: %s", problem)
                if isinstance(problem, KafkaRefused) and problem.error_code is ErrorCode.SASL_AUTHENTICATION_FAILED:
                    self._stopping.wait(REFUSED_PAUSE_SECONDS)
            except Exception:
                logger.exception("the election failed; it is tried again")
            self._stopping.wait(_PAUSE_SECONDS)

    def _is_alone(self, cluster: Cluster) -> bool:
        answer = cluster.send(
            DescribeGroupsRequest(groups=[self._group_id]),
            DescribeGroupsResponse,
            to=CoordinatorOf(self._group_id),
            error_of=lambda described: described.groups[0].error_code,
        )
        group = answer.groups[0]
        return group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or (group.error_code == 0 and not group.members)

    def _join(self, cluster: Cluster) -> int:
        """Until there is a generation, and in it a primary."""
        while True:
            identity = self._identity.to_json() | {"leader": self._is_primary}
            joined = cluster.send(
                JoinGroupRequest(
                    group_id=self._group_id,
                    session_timeout_ms=self._session_timeout_ms,
                    rebalance_timeout_ms=self._session_timeout_ms,
                    member_id=self._member_id,
                    protocol_type=_PROTOCOL_TYPE,
                    protocols=[JoinGroupRequestProtocol(name=_PROTOCOL, metadata=_dump(identity))],
                ),
                JoinGroupResponse,
                to=CoordinatorOf(self._group_id),
            )
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = joined.member_id
                continue
            if joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID and not self._stopping.is_set():
                self._forget_membership()
                continue
            raise_if_refused(joined.error_code)
            self._member_id = joined.member_id
            synced = self._sync(cluster, joined)
            if synced.error_code == 0:
                self._accept(synced.assignment)
                return joined.generation_id
            self._rejoin_or_raise(synced.error_code)

    def _sync(self, cluster: Cluster, joined: JoinGroupResponse) -> SyncGroupResponse:
        assignments = []
        if joined.leader == joined.member_id:
            assignment = _dump(elect({each.member_id: _identity(each.metadata) for each in joined.members}))
            assignments = [
                SyncGroupRequestAssignment(member_id=each.member_id, assignment=assignment) for each in joined.members
            ]
        return cluster.send(
            SyncGroupRequest(
                group_id=self._group_id,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                protocol_type=_PROTOCOL_TYPE,
                protocol_name=_PROTOCOL,
                assignments=assignments,
            ),
            SyncGroupResponse,
            to=CoordinatorOf(self._group_id),
        )

    def _accept(self, assignment: bytes) -> None:
        try:
            told = json.loads(assignment)
            primary = _identity(_dump(told["master_identity"])) if told.get("master_identity") else None
            error, member_id = told.get("error", _NO_ERROR), told.get("master")
        except (ValueError, TypeError, AttributeError, RecursionError) as problem:
            raise KafkaRefused(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"no registry's assignment: {problem!r}"
            ) from None
        if error == _DUPLICATE_URLS:
            logger.error(
                "two instances of the group %s have the same URL, so that none can hand writes on: "
                "give each its own with --advertised-url",
                self._group_id,
            )
        self._is_primary = member_id == self._member_id
        if self._is_primary:
            self._tell(Result(Standing.PRIMARY, self._identity))
        elif primary is None:
            self._tell(Result(Standing.UNDECIDED))
        else:
            self._tell(Result(Standing.FOLLOWER, primary))

    def _stay(self, cluster: Cluster, generation: int) -> None:
        """Until the group is to elect again."""
        while not self._stopping.wait(self._session_timeout_ms / 1000 / _HEARTBEATS_IN_A_SESSION):
            answer = cluster.send(
                HeartbeatRequest(group_id=self._group_id, generation_id=generation, member_id=self._member_id),
                HeartbeatResponse,
                to=CoordinatorOf(self._group_id),
            )
            if answer.error_code:
                self._rejoin_or_raise(answer.error_code)
                return

    def _rejoin_or_raise(self, error_code: int) -> None:
        code = as_error_code(error_code)
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._forget_membership()
        elif code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            raise KafkaRefused(error_code)

    def _forget_membership(self) -> None:
        """The others went on without this one: it has no claim to be primary any more."""
        self._member_id = ""
        self._is_primary = False

    def _leave(self) -> None:
        hurried = {"request.timeout.ms": "1000", "default.api.timeout.ms": "1000"}
        with Cluster(client_properties(given={**self._properties.given, **hurried})) as cluster:
            cluster.send(
                LeaveGroupRequest(
                    group_id=self._group_id,
                    members=[MemberIdentity(member_id=self._member_id, reason="it was stopped")],
                ),
                LeaveGroupResponse,
                to=CoordinatorOf(self._group_id),
            )

    def _tell(self, result: Result) -> None:
        self._is_primary = result.standing is Standing.PRIMARY
        if not self._stopping.is_set():
            self._on_result(result)


def elect(members: dict[str, Identity | None]) -> dict[str, Any]:
    """The assignment that all members get. Who is primary stays so; else it is the eligible one with the smallest URL."""
    eligible = {name: each for name, each in members.items() if each is not None and each.is_eligible}
    incumbents = [name for name, each in eligible.items() if each.is_primary]
    if len(incumbents) == 1:
        chosen: str | None = incumbents[0]
    else:
        chosen = min(eligible, key=lambda name: eligible[name].url, default=None)
    urls = [each.url for each in members.values() if each is not None]
    error = _NO_ERROR if len(set(urls)) == len(urls) else _DUPLICATE_URLS
    assignment: dict[str, Any] = {"version": _VERSION, "error": error}
    if chosen is not None:
        assignment |= {"master": chosen, "master_identity": eligible[chosen].to_json()}
    return assignment


def _identity(metadata: bytes) -> Identity | None:
    """None for what no registry can have said."""
    try:
        told = json.loads(metadata)
        return Identity(
            host=str(told["host"]),
            port=int(told["port"]),
            scheme=str(told.get("scheme") or "http"),
            is_eligible=bool(told.get("master_eligibility", True)),
            is_primary=bool(told.get("leader", False)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
