"""The JSON files of kafka-reassign-partitions.sh: topics to move, and where replicas go."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError
from stoker.kafka_tools.failure import COMMAND_FAILED, OPERATION_FAILED

ANY_LOG_DIR: Final = "any"
_VERSION: Final = 1
_KINDS: Final[dict[type, str]] = {dict: "JSON object", int: "`Integer` value", str: "`String` value"}
_JSON_FAILED: Final = "com.fasterxml.jackson.databind.JsonMappingException"


class InvalidReassignment(StokerError):
    """A file that cannot be used; the message is Kafka's where Kafka has one, and so is the class."""

    def __init__(self, message: str, java_class: str = COMMAND_FAILED) -> None:
        super().__init__(message)
        self.java_class = java_class


class Replica(NamedTuple):
    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def order(self) -> tuple[int, str, int]:
        return self.broker, self.topic, self.partition


@dataclass(frozen=True, kw_only=True, slots=True)
class ReassignmentFile:
    """Partitions with their replicas, in the order of the file, and the replicas that are to be in certain directories."""

    partitions: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    log_dirs: Mapping[Replica, str]

    @property
    def targets(self) -> dict[TopicPartition, tuple[int, ...]]:
        return dict(self.partitions)

    def check_for_execution(self) -> None:
        """Raises InvalidReassignment for what may be verified but not executed."""
        if not self.partitions:
            raise InvalidReassignment("Partition reassignment list cannot be empty")
        if any(not replicas for _, replicas in self.partitions):
            raise InvalidReassignment("Partition replica list cannot be empty")
        if repeated := duplicates([partition for partition, _ in self.partitions]):
            listed = ",".join(map(str, repeated))
            raise InvalidReassignment(f"Partition reassignment contains duplicate topic partitions: {listed}")
        doubled = {partition: duplicates(replicas) for partition, replicas in self.partitions}
        told = ". ".join(
            f"{partition} contains multiple entries for {','.join(map(str, twice))}"
            for partition, twice in doubled.items()
            if twice
        )
        if told:
            raise InvalidReassignment(f"Partition replica lists may not contain duplicate entries: {told}")


def read_reassignment(text: str) -> ReassignmentFile:
    """Raises InvalidReassignment."""
    document = _parsed(text)
    partitions: list[tuple[TopicPartition, tuple[int, ...]]] = []
    log_dirs: dict[Replica, str] = {}
    for each in _array(document.get("partitions", []), dict):
        partition = TopicPartition(_field(each, "topic", str), _field(each, "partition", int))
        replicas = tuple(_array(_field(each, "replicas", list), int))
        directories = _array(each.get("log_dirs", [ANY_LOG_DIR] * len(replicas)), str)
        if len(directories) != len(replicas):
            raise InvalidReassignment(
                f"Size of replicas list [{', '.join(map(str, replicas))}] is different from size of log dirs list "
                f"[{', '.join(map(str, directories))}] for partition {partition}"
            )
        partitions.append((partition, replicas))
        for replica, directory in zip(replicas, directories, strict=True):
            if directory != ANY_LOG_DIR:
                log_dirs[Replica(*partition, replica)] = directory
    return ReassignmentFile(partitions=tuple(partitions), log_dirs=log_dirs)


def read_topics(text: str) -> list[str]:
    """The topics of a topics-to-move file. Raises InvalidReassignment."""
    return [_field(each, "topic", str) for each in _array(_parsed(text).get("topics", []), dict)]


def written_reassignment(
    replicas: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str] | None = None
) -> str:
    """One line that `read_reassignment`, and Kafka's own tool, read."""
    known = log_dirs or {}
    partitions = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(brokers),
            "log_dirs": [known.get(Replica(*partition, broker), ANY_LOG_DIR) for broker in brokers],
        }
        for partition, brokers in sorted(replicas.items())
    ]
    return json.dumps({"version": _VERSION, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False)


def duplicates(items: Sequence[Any]) -> list[Any]:
    """Those that are there more than once, each once."""
    return [item for item, count in Counter(items).items() if count > 1]


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidReassignment("The input string is not a valid JSON", OPERATION_FAILED) from error
    if not isinstance(document, dict):
        raise InvalidReassignment("The input string is not a JSON object")
    version = document.get("version", _VERSION)
    if version != _VERSION:
        raise InvalidReassignment(f"Not supported version field value {version}", OPERATION_FAILED)
    return document


def _array(value: Any, kind: type) -> list[Any]:
    """The value, if it is a list of this kind. Raises InvalidReassignment."""
    if not isinstance(value, list):
        raise InvalidReassignment(f"Expected JSON array, received {json.dumps(value)}", _JSON_FAILED)
    for each in value:
        if not isinstance(each, kind) or isinstance(each, bool):
            raise InvalidReassignment(f"Expected {_KINDS[kind]}, received {json.dumps(each)}", _JSON_FAILED)
    return value


def _field(entry: Any, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if value is None:
        raise InvalidReassignment(f'No such field exists: "{name}"')
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidReassignment(f'The field "{name}" has a wrong type: {json.dumps(value)}')
    return value
