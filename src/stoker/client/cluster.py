"""A cluster: which broker to ask, and to ask again when that may help.

cluster.send(CreateTopicsRequest(...), CreateTopicsResponse, to=CONTROLLER)
cluster.send(ListOffsetsRequest(...), ListOffsetsResponse, to=LeaderOf("orders", 0))
"""

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar
from uuid import UUID

from stoker.client.address import Address
from stoker.client.connection import Connection, Place
from stoker.client.errors import (
    CannotConnect,
    ClientError,
    ConnectionLost,
    KafkaRefused,
    NotKafka,
    NotTrusted,
    RequestTimedOut,
    as_error_code,
    raise_if_refused,
)
from stoker.client.properties import ClientProperties
from stoker.client.targets import ANY_BROKER, AnyBroker, Broker, CoordinatorOf, LeaderOf, Target
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from stoker.wire.schema import ZERO_UUID, Request, Response

if TYPE_CHECKING:
    from stoker.client.security import Security

R = TypeVar("R", bound=Response)

_NOBODY: Final = -1
CONNECTION_FAILURES: Final = (CannotConnect, ConnectionLost, RequestTimedOut)
_SHORTEST_TIMEOUT_SECONDS: Final = 0.001
_MOST_COORDINATORS: Final = 10_000
"""Of so many it is remembered who they are: who always has new groups and transactions would keep them for ever."""


def top_level_error(response: Response) -> int:
    """The error code of a whole response; 0 if only its parts have one."""
    return int(getattr(response, "error_code", 0))


class Attempt(NamedTuple):
    """One turn of `Cluster.attempts`."""

    seconds_left: float
    is_last: bool


class Cluster:
    """Connections to the brokers of one cluster, opened when they are needed; for one thread at a time.

    While no bootstrap server has ever answered, a call fails at once, unless the cluster is to be patient. Later, brokers
    may come and go: it is tried for as long as `default.api.timeout.ms` allows.
    """

    def __init__(
        self,
        properties: ClientProperties,
        *,
        is_patient: bool = False,
        on_retry: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`on_retry` hears why a request is sent once more."""
        self.properties = properties
        self._is_patient = is_patient
        self._on_retry = on_retry
        self._clock = clock
        self._sleep = sleep
        self._connections: dict[Address, Connection] = {}
        # What the cluster has told; forgotten when it turns out to be old.
        self._brokers: dict[int, Address] = {}
        self._controller_id = _NOBODY
        self._leaders: dict[LeaderOf, int] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._topic_errors: dict[str, int] = {}
        self._coordinators: dict[CoordinatorOf, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def send(
        self,
        request: Request,
        response: type[R],
        *,
        to: Target = ANY_BROKER,
        up_to: int | None = None,
        error_of: Callable[[R], int] = top_level_error,
    ) -> R:
        """The answer of the broker that is responsible, in the highest version both speak (no later than `up_to`).

        A lost connection is opened again, and a request whose answer has a retriable error (`error_of` finds it) is sent
        again, to whoever is responsible by then, until `default.api.timeout.ms` is over. Then the last answer is
        returned with its error, or the last failure raised: a ClientError.
        """
        for attempt in self.attempts():
            try:
                answer = self.ask(request, response, to=to, seconds=attempt.seconds_left, up_to=up_to)
            except CONNECTION_FAILURES as failure:
                if attempt.is_last or not (self._connections or self._is_patient):
                    raise
                self._on_retry(str(failure))
            except KafkaRefused as refused:
                if attempt.is_last or not refused.error_code.retriable:
                    raise
                self._on_retry(str(refused))
            else:
                error_code = as_error_code(error_of(answer))
                if attempt.is_last or not error_code.retriable:
                    return answer
                self._on_retry(error_code.message)
            self.forget(to)
        raise AssertionError("the last attempt returns or raises")

    def attempts(self, seconds: float | None = None) -> Iterator[Attempt]:
        """Turns until `seconds` or `default.api.timeout.ms` are over, with growing pauses between; the last knows that it is."""
        properties = self.properties
        deadline = self._clock() + (properties.default_api_timeout_ms / 1000 if seconds is None else seconds)
        pause = properties.retry_backoff_ms / 1000
        while True:
            left = deadline - self._clock()
            attempt = Attempt(seconds_left=left, is_last=left <= pause)
            yield attempt
            if attempt.is_last:
                return
            from random import uniform  # most clients never wait

            self._sleep(pause * uniform(0.8, 1.2))  # so that many do not come back at once
            pause = min(pause * 2, properties.retry_backoff_max_ms / 1000)

    def metadata(self, topics: Iterable[str] | None = None, *, create: bool = False) -> MetadataResponse:
        """Brokers and the named topics, each of which may have an error of its own; None is all topics.

        With `create`, a topic that is not there is created by asking, if the brokers allow that.
        """
        answer = self.send(_metadata_request(topics, create=create), MetadataResponse)
        raise_if_refused(answer.error_code)
        self._learn(answer)
        return answer

    def brokers(self) -> dict[int, Address]:
        """The live brokers by their ids."""
        if not self._brokers:
            self.metadata([])
        return self._brokers

    def coordinator_of(self, coordinator: CoordinatorOf) -> int | None:
        """The id of the coordinator as far as it is known: any request to it learns it."""
        return self._coordinators.get(coordinator)

    def leader_of(self, partition: LeaderOf) -> int:
        """The id of the broker that leads it, as far as is known: `metadata` asks anew. Raises ClientError."""
        return self._find_leader(partition, self.properties.request_timeout_ms / 1000)

    def topic_id(self, topic: str) -> UUID:
        """The id of a topic as far as it is known, else zeros: any request to a leader of it learns it."""
        return self._topic_ids.get(topic, ZERO_UUID)

    def ask(
        self,
        request: Request,
        response: type[R],
        *,
        to: Target,
        seconds: float,
        up_to: int | None = None,
        place: Place | None = None,
    ) -> R:
        """One try of `send`, for who knows better when to try again. Raises ClientError; `forget` before the next."""
        connection = self.connection_to(to, seconds)
        return connection.send(request, response, timeout=self.request_timeout(seconds), up_to=up_to, place=place)

    def connection_to(self, to: Target, seconds: float) -> Connection:
        """The connection to who is responsible, as far as is known, opened if need be. Raises ClientError."""
        if isinstance(to, AnyBroker):
            return self._any_connection(seconds)
        if not self._brokers:
            self._refresh([to.topic] if isinstance(to, LeaderOf) else [], seconds)
        if isinstance(to, Broker):
            node_id = to.node_id
        elif isinstance(to, LeaderOf):
            node_id = self._find_leader(to, seconds)
        elif isinstance(to, CoordinatorOf):
            node_id = self._find_coordinator(to, seconds)
        else:
            node_id = self._controller_id
        if node_id == _NOBODY:
            return self._any_connection(seconds)
        address = self._brokers.get(node_id)
        if address is None:
            raise KafkaRefused(_gone(to), f"there is no live broker {node_id}")
        try:
            return self._connect(address, seconds)
        except CannotConnect as failure:
            if address in self.properties.bootstrap_servers:
                raise
            raise CannotConnect(failure.address, failure.reason, node_id) from None

    def _any_connection(self, seconds: float) -> Connection:
        for connection in self._connections.values():
            if not connection.is_used_up:
                return connection
        failures: list[ClientError] = []
        for address in dict.fromkeys([*self._brokers.values(), *self.properties.bootstrap_servers]):
            try:
                return self._connect(address, seconds)
            except (*CONNECTION_FAILURES, NotKafka, NotTrusted) as failure:
                failures.append(failure)
        if distrust := [each for each in failures if isinstance(each, NotTrusted)]:
            raise distrust[0]  # many tries would lock a user out: no other failure may hide this one
        if len(failures) == 1 or all(isinstance(failure, NotKafka) for failure in failures):
            raise failures[0]
        raise CannotConnect("any broker", "; ".join(dict.fromkeys(map(str, failures))))

    def _connect(self, address: Address, seconds: float) -> Connection:
        connection = self._connections.get(address)
        if connection is None or connection.is_used_up:
            if connection is not None:
                connection.close()
            connection = self._connections[address] = Connection.open(
                address,
                client_id=self.properties.client_id,
                security=self._security(),
                timeout=self.request_timeout(seconds),
                clock=self._clock,
            )
        return connection

    def _security(self) -> "Security | None":
        if "security.protocol" not in self.properties.given:
            return None
        from stoker.client.security import read_security  # most clients need none

        return read_security(self.properties.given)

    def request_timeout(self, seconds_left: float) -> float:
        """How long to wait for one answer, in seconds, if so many are left for the call."""
        return max(_SHORTEST_TIMEOUT_SECONDS, min(self.properties.request_timeout_ms / 1000, seconds_left))

    def _refresh(self, topics: Iterable[str], seconds: float) -> None:
        answer = self.ask(_metadata_request(topics), MetadataResponse, to=ANY_BROKER, seconds=seconds)
        raise_if_refused(answer.error_code)
        self._learn(answer)

    def _learn(self, answer: MetadataResponse) -> None:
        self._brokers = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
        self._controller_id = answer.controller_id
        for topic in answer.topics:
            if topic.name is not None:
                self._topic_ids[topic.name] = topic.topic_id
                self._topic_errors[topic.name] = topic.error_code
            for partition in topic.partitions:
                self._leaders[LeaderOf(topic.name or "", partition.partition_index)] = partition.leader_id

    def _find_leader(self, partition: LeaderOf, seconds: float) -> int:
        if partition not in self._leaders:
            self._refresh([partition.topic], seconds)
        leader = self._leaders.get(partition)
        name = f"partition {partition.partition} of topic {partition.topic!r}"
        if leader is None:
            error_code = as_error_code(self._topic_errors.get(partition.topic, 0))
            if error_code not in (
                ErrorCode.NONE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ):  # it may be there, and not for us
                raise KafkaRefused(error_code, f"{name}: {error_code.message}")
            raise KafkaRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {name}")
        if leader == _NOBODY:
            raise KafkaRefused(ErrorCode.LEADER_NOT_AVAILABLE, f"{name} has no leader at this moment")
        return leader

    def _find_coordinator(self, coordinator: CoordinatorOf, seconds: float) -> int:
        if coordinator not in self._coordinators:
            from stoker.client.coordinators import find_coordinator

            found = find_coordinator(self._any_connection(seconds), coordinator, self.request_timeout(seconds))
            self._brokers[found.node_id] = found.address
            if len(self._coordinators) >= _MOST_COORDINATORS:
                self._coordinators.clear()
            self._coordinators[coordinator] = found.node_id
        return self._coordinators[coordinator]

    def forget(self, to: Target) -> None:
        """Who was responsible may be so no longer, and may live elsewhere."""
        self._brokers = {}
        if isinstance(to, LeaderOf):
            self._leaders.pop(to, None)
        elif isinstance(to, CoordinatorOf):
            self._coordinators.pop(to, None)


def _gone(to: Target) -> ErrorCode:
    """Whose broker is not there any more: of one that is only known to have been responsible there will be another soon."""
    if isinstance(to, LeaderOf):
        return ErrorCode.LEADER_NOT_AVAILABLE
    if isinstance(to, CoordinatorOf):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.BROKER_NOT_AVAILABLE if isinstance(to, Broker) else ErrorCode.NOT_CONTROLLER


def _metadata_request(topics: Iterable[str] | None, *, create: bool = False) -> MetadataRequest:
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
