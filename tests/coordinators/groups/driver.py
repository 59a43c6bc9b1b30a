"""A broker around a coordinator, in memory: what the coordinator decides is written, replayed and answered.

Written means encoded: the log holds bytes, and whatever comes back from it was decoded again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from stoker.coordinators.groups.context import GroupContext, GroupSettings
from stoker.coordinators.result import Result, Waiting
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord, UnknownGroupRecord, decode_group_record, encode_key, encode_value
from stoker.wire.topic_commits import TopicCommits

Entry = GroupRecord | TopicCommits
STARTED_AT_MS = 1_700_000_000_000


class Coordinator(Protocol):
    """What a driver needs of a coordinator. GroupCoordinator is one."""

    def replay(self, record: Any, /) -> None: ...

    def loaded(self) -> None: ...

    @property
    def next_deadline_ms(self) -> int | None: ...

    def expire(self) -> Iterator[tuple[str, Result[GroupRecord, Any]]]: ...


CoordinatorT = TypeVar("CoordinatorT", bound=Coordinator)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.passed_ms = 0

    def timer(self) -> int:
        return self.passed_ms

    def wall(self) -> int:
        return STARTED_AT_MS + self.passed_ms


class Topics:
    """The topics of a cluster: names and how many partitions each has."""

    def __init__(self, **partition_counts: int) -> None:
        self._partition_counts = dict(partition_counts)
        self._ids = {name: UUID(int=number) for number, name in enumerate(partition_counts, 1)}
        self.version = 1

    def set(self, name: str, partition_count: int | None) -> None:
        """Make the topic, let it grow, or delete it (None)."""
        self.version += 1
        if partition_count is None:
            del self._partition_counts[name]
            del self._ids[name]
        else:
            self._partition_counts[name] = partition_count
            self._ids.setdefault(name, UUID(int=1000 + self.version))

    def topic_id(self, name: str) -> UUID | None:
        return self._ids.get(name)

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((name for name, known in self._ids.items() if known == topic_id), None)

    def partition_count(self, name: str) -> int | None:
        return self._partition_counts.get(name)

    def names(self) -> Collection[str]:
        return self._partition_counts


class Call:
    """A request that was sent. `reply` fails while it waits."""

    def __init__(self, clock: Clock, on_reply: Callable[[Any], object] | None = None) -> None:
        self._clock = clock
        self._replies: list[Any] = []
        self._on_reply = on_reply
        self.sent_at_ms = self.answered_at_ms = clock.passed_ms

    def answer(self, reply: Any) -> None:
        assert not self._replies, f"answered with {self._replies[0]} and again with {reply}"
        self._replies.append(reply)
        self.answered_at_ms = self._clock.passed_ms
        if self._on_reply is not None:
            self._on_reply(reply)

    @property
    def waits(self) -> bool:
        return not self._replies

    @property
    def reply(self) -> Any:
        assert self._replies, "not answered yet"
        return self._replies[0]

    @property
    def error(self) -> ErrorCode:
        return next(code for code in ErrorCode if code == self.reply.error_code)


class Driver(Generic[CoordinatorT]):
    """Applies results as the broker does, and lets time pass.

    `refuse_with` is the error of all appends until it is None again.
    """

    def __init__(
        self,
        make_coordinator: Callable[[GroupContext], CoordinatorT],
        settings: GroupSettings | None = None,
        topics: Topics | None = None,
    ) -> None:
        self.clock = Clock()
        self.topics = topics or Topics()
        self.settings = settings or GroupSettings()
        self.log: list[tuple[bytes, bytes | None]] = []
        self.refuse_with: ErrorCode | None = None
        self.calls: list[Call] = []
        self._make_coordinator = make_coordinator
        self._uuids = map(UUID, (f"{number:032x}" for number in count(1)))
        self.restart()

    def restart(self) -> None:
        """Whoever waited has lost its connection; what was written comes back."""
        self.calls = []
        self.context = self._new_context()
        self.coordinator = self._make_coordinator(self.context)
        for record in self.records():
            self.coordinator.replay(record)
        self.context.loading = False
        self.coordinator.loaded()

    def _new_context(self) -> GroupContext:
        return GroupContext(
            settings=self.settings,
            topics=self.topics,
            wall_clock=self.clock.wall,
            timer_clock=self.clock.timer,
            new_uuid=lambda: next(self._uuids),
            loading=True,
        )

    def start_with(self, *records: GroupRecord) -> None:
        """Begin with these in the log."""
        self._write(records)
        self.restart()

    def records(self) -> list[GroupRecord]:
        decoded = [decode_group_record(key, value) for key, value in self.log]
        return [record for record in decoded if not isinstance(record, UnknownGroupRecord)]

    def perform(self, result: Result[Entry, Any], on_reply: Callable[[Any], object] | None = None) -> Call:
        """Apply what the coordinator gave for a request."""
        call = Call(self.clock, on_reply)
        settled = self._settle(result)
        if isinstance(settled.reply, Waiting):
            self.calls.append(call)
            settled.reply.when_resolved(call.answer)
        else:
            call.answer(settled.reply)
        return call

    def advance(self, milliseconds: int) -> None:
        """Let time pass; every deadline on the way is met on time."""
        until = self.clock.passed_ms + milliseconds
        while (deadline := self.coordinator.next_deadline_ms) is not None and deadline <= until:
            self.clock.passed_ms = max(self.clock.passed_ms, deadline)
            for _, result in self.coordinator.expire():
                self._settle(result)
        self.clock.passed_ms = until

    def waiting_calls(self) -> list[Call]:
        self.calls = [call for call in self.calls if call.waits]
        return self.calls

    def _settle(self, result: Result[Entry, Any]) -> Result[Entry, Any]:
        if result.records and self.refuse_with is not None:
            assert result.if_refused is not None, "there is no telling what becomes of the answers"
            return self._settle(result.if_refused(self.refuse_with))
        for entry in result.records:
            if isinstance(entry, TopicCommits):
                self._write(entry.records())
                self.coordinator.replay(entry)
            else:
                self.coordinator.replay(*self._write([entry]))
        for waiting, reply in result.answers:
            waiting.resolve(reply)
        return result

    def _write(self, records: Iterable[GroupRecord]) -> list[GroupRecord]:
        position = len(self.log)
        for key, value in records:
            self.log.append((encode_key(key), None if value is None else encode_value(value)))
        return self.records()[position:] if len(self.log) > position else []
