"""The line protocol of a program whose consumers are members of groups, and the loop of a member in Python.

A program hosts any number of members. It reads one JSON command a line on stdin, each for one member:

    {"command": "join", "member": NAME, "topics": [...] or "pattern": REGULAR_EXPRESSION, "settings": {KAFKA'S NAMES},
     "commit": "never" | "sync" | "async", "end": "before_commit" | "after_commit" | null, "callbacks": BOOLEAN}
    {"command": "stop_polling" | "poll_again" | "leave", "member": NAME}
    {"command": "commit", "member": NAME, "offsets": [[TOPIC, PARTITION, OFFSET], ...], "async": BOOLEAN}
    {"command": "seek", "member": NAME, "topic": TOPIC, "partition": NUMBER, "to": OFFSET | "beginning" | "end" | {"time": MS}}

and writes one JSON event a line on stdout: {"event": ..., "member": NAME, "at": MILLISECONDS SINCE 1970, ...} with

    assigned, revoked, lost    partitions: [[TOPIC, PARTITION], ...] that the member gains or gives up
    records                    records: [[TOPIC, PARTITION, OFFSET, VALUE], ...], written before they are committed: they are processed
    committed                  offsets: [[TOPIC, PARTITION, OFFSET], ...]
    commit_failed, failed      name, message: what a commit, or anything else, ended with; after "failed" the member is no more
    end_of_partition           topic, partition, offset
    leaving, left              before and after the consumer is closed
    stopped_polling, sought    the command was obeyed

`commit` says when a member commits what it has processed; `end` makes the whole program die by SIGKILL before or after the first such
commit. With `callbacks` a member commits what it has processed when partitions are revoked, and seeks to their beginning when they are
assigned. An event is in the pipe before the next step, so that what a killed program has told is what it has done.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

POLL_SECONDS = 0.05
_writing = threading.Lock()


class Position(NamedTuple):
    topic: str
    partition: int
    offset: int


class ReadRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: str


class MemberLoop(ABC):
    """One member on a thread of its own: commands between polls, events as they happen."""

    def __init__(self, join: Mapping[str, Any], bootstrap_servers: str) -> None:
        self.commands: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.bootstrap_servers = bootstrap_servers
        self.acts_in_callbacks = bool(join.get("callbacks"))
        self._join = join
        self._polls = True
        self._stays = True
        threading.Thread(target=self._run, daemon=True).start()

    @abstractmethod
    def open(self, settings: Mapping[str, Any], topics: list[str] | None, pattern: str | None) -> None:
        """Make the consumer and subscribe it."""

    @abstractmethod
    def poll(self) -> list[ReadRecord]:
        """What has come, waited for a moment."""

    @abstractmethod
    def commit(self, offsets: list[Position]) -> None:
        """Commit and wait for the answer."""

    def commit_async(self, offsets: list[Position]) -> None:
        """Commit without waiting; the event is told when the answer comes."""
        raise NotImplementedError

    @abstractmethod
    def seek(self, topic: str, partition: int, to: Any) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def tell(self, event: str, **details: Any) -> None:
        line = json.dumps(
            {"event": event, "member": self._join["member"], "at": time.time_ns() // 1_000_000, **details}
        )
        with _writing:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def tell_partitions(self, event: str, partitions: Iterable[Any]) -> None:
        """For partitions as all clients have them, with a topic and a partition."""
        self.tell(event, partitions=sorted((each.topic, each.partition) for each in partitions))

    def tell_failure(self, event: str, error: BaseException) -> None:
        self.tell(event, name=self.name_of(error), message=str(error))

    def name_of(self, error: BaseException) -> str:
        """Kafka's name of the error if the broker sent one, else the client's."""
        return type(error).__name__

    def _run(self) -> None:
        try:
            self.open(self._join["settings"], self._join.get("topics"), self._join.get("pattern"))
            while self._stays:
                self._obey()
                if self._stays and self._polls:
                    self._process(self.poll())
            self.tell("left")
        except BaseException as error:
            self.tell_failure("failed", error)

    def _obey(self) -> None:
        while self._stays and (not self._polls or not self.commands.empty()):
            command = self.commands.get()
            try:
                self._do(command)
            except Exception as error:
                self.tell_failure("commit_failed" if command["command"] == "commit" else "failed", error)

    def _do(self, command: dict[str, Any]) -> None:
        match command["command"]:
            case "stop_polling":
                self._polls = False
                self.tell("stopped_polling")
            case "poll_again":
                self._polls = True
            case "leave":
                self._stays = False
                self.tell("leaving")
                self.close()
            case "commit":
                offsets = [Position(*each) for each in command["offsets"]]
                self._commit(offsets, asynchronously=command["async"])
            case "seek":
                self.seek(command["topic"], command["partition"], command["to"])
                self.tell("sought")

    def _process(self, records: list[ReadRecord]) -> None:
        if not records:
            return
        commits, end = self._join["commit"], self._join.get("end")
        if end == "after_commit":  # at most once: committed, then processed
            self.commit(next_offsets(records))
            os.kill(os.getpid(), signal.SIGKILL)
        self.tell("records", records=records)
        if end == "before_commit":
            os.kill(os.getpid(), signal.SIGKILL)
        if commits != "never":
            try:
                self._commit(next_offsets(records), asynchronously=commits == "async")
            except Exception as error:
                self.tell_failure("commit_failed", error)

    def _commit(self, offsets: list[Position], *, asynchronously: bool) -> None:
        if asynchronously:
            self.commit_async(offsets)
        else:
            self.commit(offsets)
            self.tell("committed", offsets=offsets)


def next_offsets(records: Iterable[ReadRecord]) -> list[Position]:
    """What a commit after these records names: the next offset of each partition."""
    following = {(record.topic, record.partition): record.offset + 1 for record in records}
    return [Position(topic, partition, offset) for (topic, partition), offset in following.items()]


def serve(member: type[MemberLoop]) -> None:
    """Host members until stdin ends; the address of the broker is the program's only argument."""
    members: dict[str, MemberLoop] = {}
    print(json.dumps({"event": "ready", "member": "", "at": 0}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if command["command"] == "join":
            members[command["member"]] = member(command, sys.argv[1])
        else:
            members[command["member"]].commands.put(command)
    os._exit(0)  # members that were not told to leave do not hold the program up
