"""What changes from one schema to another, who can read whom, and who must upgrade first."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from stoker.registry.formats.schema import Incompatibility, ParsedSchema
from stoker.registry.outline import Member, outline
from stoker.registry.settings import Level


class Change(Enum):
    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


class Difference(NamedTuple):
    """`old` and `new` are the texts of the member; None where there is none. A group that came or went has no name."""

    group: str
    change: Change
    name: str
    old: str | None
    new: str | None


class UpgradeOrder(Enum):
    """Which side must have the new schema before the other."""

    ANY = "Upgrade in any order: each side reads what the other writes."
    CONSUMERS_FIRST = "Upgrade the consumers first: the new schema reads old data, the old one does not read new data."
    PRODUCERS_FIRST = "Upgrade the producers first: the old schema reads new data, the new one does not read old data."
    NEITHER = (
        "No order works: neither schema reads what the other writes. Change it in two steps, each of which one side can "
        "read, or use a new topic."
    )


class Evolution(NamedTuple):
    differences: Sequence[Difference]
    new_reads_old: Sequence[Incompatibility]
    """Why the new schema cannot read what was written with the old one; empty if it can."""
    old_reads_new: Sequence[Incompatibility]

    @property
    def order(self) -> UpgradeOrder:
        if not self.new_reads_old:
            return UpgradeOrder.CONSUMERS_FIRST if self.old_reads_new else UpgradeOrder.ANY
        return UpgradeOrder.NEITHER if self.old_reads_new else UpgradeOrder.PRODUCERS_FIRST

    @property
    def levels(self) -> list[Level]:
        """Those that let the new schema follow the old one, the transitive ones if it is the only one before."""
        return [
            level
            for level in Level
            if not (level.new_reads_old and self.new_reads_old) and not (level.old_reads_new and self.old_reads_new)
        ]


def evolution(old: ParsedSchema, new: ParsedSchema) -> Evolution:
    return Evolution(differences(old, new), _reasons(new, old), _reasons(old, new))


def differences(old: ParsedSchema, new: ParsedSchema) -> list[Difference]:
    """Group by group, in the order of the new schema; what is gone comes after what is left of its group."""
    before, after = outline(old), outline(new)
    found: list[Difference] = []
    for group in [*after, *(each for each in before if each not in after)]:
        if group not in before:
            found.append(Difference(group, Change.ADDED, "", None, group))
        elif group not in after:
            found.append(Difference(group, Change.REMOVED, "", group, None))
        found += _of_members(group, before.get(group, {}), after.get(group, {}))
    return found


def _of_members(group: str, before: dict[str, Member], after: dict[str, Member]) -> list[Difference]:
    found = []
    for key, new in after.items():
        old = before.get(key)
        if old is None:
            found.append(Difference(group, Change.ADDED, new.name, None, new.text))
        elif old != new:
            renamed = old.name if old.name == new.name else f"{old.name} -> {new.name}"
            found.append(Difference(group, Change.CHANGED, renamed, old.text, new.text))
    found += [
        Difference(group, Change.REMOVED, old.name, old.text, None) for key, old in before.items() if key not in after
    ]
    return found


def _reasons(reader: ParsedSchema, writer: ParsedSchema) -> Sequence[Incompatibility]:
    if reader.schema_type == writer.schema_type:
        return reader.incompatibilities(writer)
    message = f"a schema of type {reader.schema_type} cannot read what one of type {writer.schema_type} wrote"
    return [Incompatibility("DIFFERENT_SCHEMA_TYPE", "/", message)]
