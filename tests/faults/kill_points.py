"""The steps of a transaction at which the broker, or the client that asked for the step, is to die."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final, Self

from stoker.wire.api_keys import ApiKey


class Step(StrEnum):
    """What a broker does for a transaction: it handles a request, or appends a batch to a log."""

    ADD_PARTITIONS = "AddPartitionsToTxn"
    PRODUCE = "Produce"
    ADD_OFFSETS = "AddOffsetsToTxn"
    OFFSET_COMMIT = "TxnOffsetCommit"
    END = "EndTxn"
    PREPARE_RECORD = "the prepare record"
    OFFSETS_MARKER = "a marker in __consumer_offsets"
    DATA_MARKER = "a marker in a data partition"
    COMPLETE_RECORD = "the complete record"
    COMMIT_OUTSIDE = "OffsetCommit"
    """No step of a transaction: only a loop that does it wrong sends this request."""


class When(StrEnum):
    BEFORE = "before"
    TORN = "in the middle of"
    """Half of the batch is in the file. Only a step that appends has a middle."""
    AFTER = "after"


class Victim(StrEnum):
    BROKER = "broker"
    CLIENT = "client"
    """Whoever sent the request that is being handled. Its client id ends with the id of its process."""


REQUESTS: Final = {
    int(ApiKey.ADD_PARTITIONS_TO_TXN): Step.ADD_PARTITIONS,
    int(ApiKey.PRODUCE): Step.PRODUCE,
    int(ApiKey.ADD_OFFSETS_TO_TXN): Step.ADD_OFFSETS,
    int(ApiKey.TXN_OFFSET_COMMIT): Step.OFFSET_COMMIT,
    int(ApiKey.END_TXN): Step.END,
    int(ApiKey.OFFSET_COMMIT): Step.COMMIT_OUTSIDE,
}
APPENDS: Final = (Step.PREPARE_RECORD, Step.OFFSETS_MARKER, Step.DATA_MARKER, Step.COMPLETE_RECORD)


@dataclass(frozen=True, kw_only=True)
class KillPoint:
    """Once in the life of a broker: when a step is done for the `count`th time."""

    step: Step
    when: When
    victim: Victim = Victim.BROKER
    count: int = 1
    clients: str = ""
    """How the client ids begin whose requests count."""

    def __str__(self) -> str:
        number = "" if self.count == 1 else f", number {self.count}"
        return f"the {self.victim} dies {self.when} {self.step}{number}"


def as_text(points: Iterable[KillPoint]) -> str:
    return json.dumps([asdict(point) for point in points])


class KillPoints:
    """Those of one life of a broker, and how often each step was done in it."""

    def __init__(self, points: Iterable[KillPoint]) -> None:
        self._waiting = list(points)
        self._seen: dict[KillPoint, int] = {}

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(
            KillPoint(
                step=Step(fields["step"]),
                when=When(fields["when"]),
                victim=Victim(fields["victim"]),
                count=fields["count"],
                clients=fields["clients"],
            )
            for fields in json.loads(text)
        )

    def reached(self, step: Step, when: When, client_id: str) -> list[KillPoint]:
        """Who dies now."""
        due = []
        for point in tuple(self._waiting):
            if (point.step, point.when) == (step, when) and client_id.startswith(point.clients):
                self._seen[point] = self._seen.get(point, 0) + 1
                if self._seen[point] == point.count:
                    self._waiting.remove(point)
                    due.append(point)
        return due
