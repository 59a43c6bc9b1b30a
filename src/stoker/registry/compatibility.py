"""Whether a new schema may follow those that are there, and if not, why: by which rule, where, against which version."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stoker.registry.entities import SubjectVersion
from stoker.registry.formats.schema import Incompatibility, ParsedSchema
from stoker.registry.parsing import Parser
from stoker.registry.settings import Level
from stoker.registry.subjects import context_of


class Conflict(NamedTuple):
    """Why the new schema and one that is there do not go together."""

    version: SubjectVersion
    new_is_reader: bool
    reasons: Sequence[Incompatibility]


def conflicts(new: ParsedSchema, earlier: Iterable[SubjectVersion], level: Level, parser: Parser) -> list[Conflict]:
    """`earlier` are the versions that are not deleted, oldest first. Raises Unprocessable if one cannot be parsed."""
    if level is Level.NONE:
        return []
    versions = list(earlier)
    if not level.is_transitive:
        versions = versions[-1:]
    found = []
    for version in reversed(versions):
        old = parser.parse(version.entity, context_of(version.subject))
        for new_is_reader in (True, False):
            if not (level.new_reads_old if new_is_reader else level.old_reads_new):
                continue
            reasons = _reasons(new, old) if new_is_reader else _reasons(old, new)
            if reasons:
                found.append(Conflict(version, new_is_reader, reasons))
    return found


def _reasons(reader: ParsedSchema, writer: ParsedSchema) -> Sequence[Incompatibility]:
    if reader.schema_type != writer.schema_type:
        message = f"a schema of type {reader.schema_type} cannot read what one of type {writer.schema_type} wrote"
        return [Incompatibility("DIFFERENT_SCHEMA_TYPE", "/", message)]
    return reader.incompatibilities(writer)


def messages(found: Sequence[Conflict], level: Level) -> list[str]:
    """As the answer to a verbose question lists them, in the form of Confluent's."""
    told = []
    for version, new_is_reader, reasons in found:
        reader, writer = ("new", "old") if new_is_reader else ("old", "new")
        told += [
            f"{{errorType:'{rule}', description:'{message} (the {reader} schema reads, the {writer} one wrote)', "
            f"additionalInfo:'{path}'}}"
            for rule, path, message in reasons
        ]
        told.append(f"{{oldSchemaVersion: {version.version}}}")
        told.append(f"{{oldSchema: '{version.entity.text}'}}")
    if told:
        told.append(f"{{validateFields: 'false', compatibility: '{level.name}'}}")
    return told


def refusal(subject: str, found: Sequence[Conflict], level: Level) -> str:
    """What the one who tried to register it is told."""
    return (
        f"Schema being registered is incompatible with an earlier schema for subject {json.dumps(subject)}, "
        f"details: [{', '.join(messages(found, level))}]"
    )
