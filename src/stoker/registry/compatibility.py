"""Whether a new schema may follow those that are there, and if not, why: by which rule, where, against which version."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from stoker.registry.data_contracts import property_of
from stoker.registry.deliberation import check_patience
from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.formats.schema import Incompatibility, ParsedSchema
from stoker.registry.parsing import Parser
from stoker.registry.settings import Level, Policy

_LONGEST_SHOWN: Final = 10 * 1024
_OTHER_TYPE: Final = "Incompatible because of different schema type"


class Conflict(NamedTuple):
    """Why the new schema and one that is there do not go together."""

    version: SubjectVersion
    new_is_reader: bool
    reasons: Sequence[Incompatibility]
    """None if they are not even of the same type."""


def conflicts(
    new: ParsedSchema,
    earlier: Iterable[SubjectVersion],
    level: Level,
    parser: Parser,
    *,
    policy: Policy = Policy.STRICT,
) -> list[Conflict]:
    """`earlier` are the versions that are not deleted, oldest first; the newest of those that conflict is told of.

    Raises Unprocessable if one cannot be parsed, Unavailable if it takes too long.
    """
    if level is Level.NONE:
        return []
    versions = list(earlier)
    if not level.is_transitive:
        versions = versions[-1:]
    for version in reversed(versions):
        check_patience()
        found = _conflicts_with(new, version, level, parser, policy)
        if found:
            return found
    return []


def _conflicts_with(
    new: ParsedSchema, version: SubjectVersion, level: Level, parser: Parser, policy: Policy
) -> list[Conflict]:
    if version.entity.schema_type != new.schema_type:
        return [Conflict(version, level.new_reads_old, ())]
    old = parser.parse_stored(version)
    found = []
    if level.old_reads_new:
        found.append(Conflict(version, False, _reasons(old, new, policy)))
    if level.new_reads_old:
        found.append(Conflict(version, True, _reasons(new, old, policy)))
    return [conflict for conflict in found if conflict.reasons]


class _Exactly:
    """This very schema. Equal ones of Protobuf may refer to others."""

    __slots__ = ("schema",)

    def __init__(self, schema: ParsedSchema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


def _reasons(reader: ParsedSchema, writer: ParsedSchema, policy: Policy) -> Sequence[Incompatibility]:
    return _last_reasons(_Exactly(reader), _Exactly(writer), policy)


@lru_cache(maxsize=2)
def _last_reasons(reads: _Exactly, wrote: _Exactly, policy: Policy) -> Sequence[Incompatibility]:
    """What was compared on another thread need not be compared again where it is decided."""
    reader, writer = reads.schema, wrote.schema
    if policy is Policy.LENIENT and reader.schema_type == "JSON":
        from stoker.registry.formats.json_schema import JsonSchema

        assert isinstance(reader, JsonSchema)
        return reader.incompatibilities(writer, lenient=True)
    return reader.incompatibilities(writer)


def of_the_same_group(
    new: SchemaEntity, earlier: Sequence[SubjectVersion], group: str | None
) -> Sequence[SubjectVersion]:
    """Those that are compared: all, or those with the same value of a property of the metadata."""
    if group is None:
        return earlier
    value = property_of(new.metadata, group)
    return [version for version in earlier if property_of(version.entity.metadata, group) == value]


def messages(found: Sequence[Conflict], level: Level, *, validates_fields: bool = False) -> list[str]:
    """As the answer to a verbose question lists them, in the form of Confluent's."""
    told = []
    for version, new_is_reader, reasons in found:
        if not reasons:
            told.append(f"{_OTHER_TYPE}: version {version.version} is of type {version.entity.schema_type}")
            continue
        reader, writer = ("new", "old") if new_is_reader else ("old", "new")
        told += [
            f"{{errorType:'{rule}', description:'{message} (the {reader} schema reads, the {writer} one wrote)', "
            f"additionalInfo:'{path}'}}"
            for rule, path, message in reasons
        ]
    if found and found[-1].reasons:
        told += _shown(found[-1].version)
    return told + footer(level, validates_fields=validates_fields) if told else []


def _shown(version: SubjectVersion) -> list[str]:
    text = version.entity.text
    shown = f"'{text}'" if len(text) <= _LONGEST_SHOWN else f"<truncated> '{text[:_LONGEST_SHOWN]}...'"
    return [f"{{oldSchemaVersion: {version.version}}}", f"{{oldSchema: {shown}}}"]


def footer(level: Level, *, validates_fields: bool) -> list[str]:
    return [f"{{validateFields: '{str(validates_fields).lower()}', compatibility: '{level.name}'}}"]
