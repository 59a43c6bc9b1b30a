"""What the state is after one micro-batch: which files of each store count, the clocks, and how the batch went."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

_VERSION: Final = 1

Clocks = dict[str, dict[int, int]]
"""By topic and partition, the stream time in milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFiles:
    """`parts` are directories: the first has all rows, those after it what has changed since, in order."""

    parts: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    """Of each part."""
    keys: tuple[str, ...] = ()
    """The columns that tell its rows apart; none if that is not known, or rows are only added."""

    @property
    def total(self) -> int:
        """At most so many rows: one that has changed counts again."""
        return sum(self.rows)

    def with_part(self, part: str, rows: int) -> "StoreFiles":
        if part in self.parts or not rows:
            return self
        return replace(self, parts=(*self.parts, part), rows=(*self.rows, rows))


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    batch: int = -1
    committed_at: float = 0.0
    clocks: Clocks = field(default_factory=dict)
    watermarks: dict[str, dict[str, int]] = field(default_factory=dict)
    """By store: up to where its windows are closed, by partition, or under `*` for all."""
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    """By topic and partition, up to where the batch has read."""
    stores: dict[str, StoreFiles] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    """For people: rows, rates, late and bad records, since the application was first started and of this batch."""

    def to_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "batch": self.batch,
            "committed_at": self.committed_at,
            "clocks": {
                topic: {str(each): time for each, time in clocks.items()} for topic, clocks in self.clocks.items()
            },
            "watermarks": self.watermarks,
            "offsets": self.offsets,
            "stores": {name: asdict(each) for name, each in self.stores.items()},
            "progress": self.progress,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Manifest":
        return cls(
            batch=content["batch"],
            committed_at=content["committed_at"],
            clocks={
                topic: {int(each): time for each, time in clocks.items()} for topic, clocks in content["clocks"].items()
            },
            watermarks=content["watermarks"],
            offsets=content["offsets"],
            stores={
                name: StoreFiles(parts=tuple(each["parts"]), rows=tuple(each["rows"]), keys=tuple(each.get("keys", ())))
                for name, each in content["stores"].items()
            },
            progress=content["progress"],
        )
