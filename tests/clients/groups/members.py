"""Members of consumer groups, each a consumer of a foreign client in a program of its own language (see member_program.py)."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tests.apache_kafka import REPOSITORY
from tests.clients.client import WAIT_SECONDS

Partition = tuple[str, int]
Commits = Literal["never", "sync", "async"]
End = Literal["before_commit", "after_commit"]
Place = int | Literal["beginning", "end"] | Mapping[str, int]
"""Where to seek: an offset, an end of the partition, or {"time": MILLISECONDS}."""
START_SECONDS = 60.0
REBALANCE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What a member told, and when, in milliseconds since 1970."""

    kind: str
    at: int
    details: Mapping[str, Any]

    @property
    def partitions(self) -> set[Partition]:
        return {(topic, partition) for topic, partition in self.details["partitions"]}

    @property
    def offsets(self) -> dict[Partition, int]:
        return {(topic, partition): offset for topic, partition, offset in self.details["offsets"]}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRecord:
    topic: str
    partition: int
    offset: int
    value: str


class CommitRefused(Exception):
    """A commit failed; `name` is Kafka's name of the error, or the client's."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class MemberProgram:
    """A running program that hosts members."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=REPOSITORY
        )
        self._heard = threading.Condition()
        self._members: dict[str, list[Event]] = {"": []}
        self._ended = False
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def wait_until_ready(self) -> None:
        self.wait_for("", lambda events: bool(events), "to start", START_SECONDS)

    def add(self, member: str) -> None:
        self._members[member] = []

    def send(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def events(self, member: str) -> list[Event]:
        with self._heard:
            return list(self._members[member])

    def wait_for(
        self, member: str, wanted: Callable[[list[Event]], bool], what: str, seconds: float = WAIT_SECONDS
    ) -> None:
        """Until what a member has told is what is wanted, or fail with all that it has told."""
        with self._heard:
            self._heard.wait_for(lambda: wanted(self._members[member]) or self._ended, seconds)
            come = wanted(self._members[member])
            told = [
                f"{event.at} {event.kind} {str(dict(event.details))[:200]}" for event in self._members[member][-20:]
            ]
        assert come, f"waited {seconds} s for {member} {what}; it told:\n" + "\n".join(told)

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told = json.loads(line)
            event = Event(kind=told.pop("event"), at=told.pop("at"), details=told)
            with self._heard:
                self._members[told.pop("member")].append(event)
                self._heard.notify_all()
        with self._heard:
            self._ended = True
            self._heard.notify_all()


class Member:
    """One member, seen from the test."""

    def __init__(self, name: str, program: MemberProgram) -> None:
        self.name = name
        self.program = program
        self.gone_at: int | None = None
        """When it was killed."""

    def __repr__(self) -> str:
        return f"<{self.name} owns {sorted(self.owned)}>"

    @property
    def events(self) -> list[Event]:
        return self.program.events(self.name)

    def told(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    @property
    def records(self) -> list[ReadRecord]:
        return [
            ReadRecord(topic=topic, partition=partition, offset=offset, value=value)
            for event in self.told("records")
            for topic, partition, offset, value in event.details["records"]
        ]

    @property
    def values(self) -> list[str]:
        return [record.value for record in self.records]

    @property
    def owned(self) -> set[Partition]:
        return _owned(self.events)

    @property
    def stints(self) -> list[tuple[Partition, int, int]]:
        """Each partition the member has owned, from when to when; what it owns still, for ever."""
        return list(_stints(self.events, self.gone_at))

    def wait_for(self, wanted: Callable[[list[Event]], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
        self.program.wait_for(self.name, wanted, what, seconds)

    def wait_for_event(self, kind: str, *, after: int = 0) -> Event:
        """The first event of that kind behind the first `after` events."""
        found: list[Event] = []

        def there(events: list[Event]) -> bool:
            found[:] = [event for event in events[after:] if event.kind == kind]
            return bool(found)

        self.wait_for(there, f"to tell {kind!r}")
        return found[0]

    def wait_until_assigned(self) -> set[Partition]:
        """Until it has been assigned something, be it nothing; gives what it owns."""
        self.wait_for_event("assigned")
        return self.owned

    def wait_for_values(self, values: Iterable[str]) -> None:
        expected = set(values)
        self.wait_for(lambda events: expected <= set(_values(events)), f"to read {len(expected)} records")

    def wait_until_read(self, offset: int) -> None:
        """Until it has read that offset of each partition that it then owns."""

        def there(events: list[Event]) -> bool:
            records = [record for event in events if event.kind == "records" for record in event.details["records"]]
            read = {(topic, partition) for topic, partition, found, _ in records if found == offset}
            return _owned(events) <= read

        self.wait_for(there, f"to read offset {offset}")

    def wait_for_record_count(self, count: int) -> None:
        self.wait_for(lambda events: sum(1 for _ in _values(events)) >= count, f"to read {count} records")

    def wait_for_commit(self, partition: Partition, offset: int) -> None:
        def there(events: list[Event]) -> bool:
            return any(event.kind == "committed" and event.offsets.get(partition) == offset for event in events)

        self.wait_for(there, f"to commit {offset} of {partition}")

    def stop_polling(self) -> None:
        """Returns when it has stopped."""
        before = len(self.events)
        self._send("stop_polling")
        self.wait_for_event("stopped_polling", after=before)

    def poll_again(self) -> None:
        self._send("poll_again")

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit, again if a rebalance is in the way, and wait for the answer; raises CommitRefused."""
        deadline = time.monotonic() + REBALANCE_SECONDS
        while (refusal := self._try_to_commit(offsets)) is not None:
            if "RebalanceInProgress" not in refusal.name or time.monotonic() > deadline:
                raise refusal

    def commit_soon(self, offsets: Mapping[Partition, int]) -> None:
        """Commit asynchronously; the events tell of its end, when the member polls."""
        self._send("commit", offsets=_triples(offsets), **{"async": True})

    def _try_to_commit(self, offsets: Mapping[Partition, int]) -> CommitRefused | None:
        before = len(self.events)
        self._send("commit", offsets=_triples(offsets), **{"async": False})
        self.wait_for(
            lambda events: any(event.kind in ("committed", "commit_failed") for event in events[before:]),
            "to hear of its commit",
        )
        [answer, *_] = [each for each in self.events[before:] if each.kind in ("committed", "commit_failed")]
        if answer.kind == "committed":
            return None
        return CommitRefused(answer.details["name"], answer.details["message"])

    def seek(self, partition: Partition, to: Place) -> None:
        before = len(self.events)
        self._send("seek", topic=partition[0], partition=partition[1], to=to)
        self.wait_for_event("sought", after=before)

    def leave(self) -> None:
        """Close the consumer; returns when it is closed."""
        self._send("leave")
        self.wait_for_event("left")

    def kill(self) -> None:
        """SIGKILL to the program; returns when all that it had told is known."""
        self.gone_at = time.time_ns() // 1_000_000
        self.program.stop()

    def wait_for_death(self) -> None:
        """Until its program has died by itself, and all that it had told is known."""
        self.program.process.wait(WAIT_SECONDS)
        self.program.stop()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """SIGSTOP to the program, and SIGCONT at the end."""
        self.program.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.program.process.send_signal(signal.SIGCONT)

    def _send(self, command: str, **arguments: Any) -> None:
        self.program.send(command=command, member=self.name, **arguments)


def _until_leaving(events: Iterable[Event]) -> Iterator[Event]:
    """What a client tells while it closes counts no more: librdkafka may call for an assignment even then, and reads nothing of it."""
    for event in events:
        yield event
        if event.kind == "leaving":
            return


def _owned(events: Iterable[Event]) -> set[Partition]:
    owned: set[Partition] = set()
    for event in _until_leaving(events):
        if event.kind == "assigned":
            owned |= event.partitions
        elif event.kind in ("revoked", "lost"):
            owned -= event.partitions
        elif event.kind in ("leaving", "failed"):
            owned = set()
    return owned


def _stints(events: Iterable[Event], gone_at: int | None) -> Iterator[tuple[Partition, int, int]]:
    since: dict[Partition, int] = {}
    for event in _until_leaving(events):
        if event.kind == "assigned":
            since |= dict.fromkeys(event.partitions - since.keys(), event.at)
        elif event.kind in ("revoked", "lost", "leaving", "failed"):
            given_up = event.partitions if event.kind in ("revoked", "lost") else set(since)
            for partition in given_up & since.keys():
                yield partition, since.pop(partition), event.at
    for partition, start in since.items():
        yield partition, start, gone_at if gone_at is not None else 1 << 62


def _triples(offsets: Mapping[Partition, int]) -> list[tuple[str, int, int]]:
    return [(topic, partition, offset) for (topic, partition), offset in offsets.items()]


def _values(events: Iterable[Event]) -> Iterator[str]:
    return (record[3] for event in events if event.kind == "records" for record in event.details["records"])
