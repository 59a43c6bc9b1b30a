"""A registry whose log is a list: what it writes is encoded, read back, and kept."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from stoker.registry.entities import SchemaEntity
from stoker.registry.errors import RegistryError
from stoker.registry.records import RegistryRecord, decode_record, encode_record
from stoker.registry.registry import Change, Registration, Registry
from stoker.registry.settings import Level, Mode, parse_config
from stoker.registry.state import RegistryState

ReplyT = TypeVar("ReplyT")
Encoded = tuple[bytes, bytes | None]


def record_text(*fields: str, name: str = "R") -> str:
    """An Avro record of texts; a field with a `?` has a default."""
    members = [
        {"name": field.rstrip("?"), "type": "string", **({"default": ""} if field.endswith("?") else {})}
        for field in fields
    ]
    return json.dumps({"type": "record", "name": name, "fields": members}, separators=(",", ":"))


def wanted(text: str, *, schema_id: int | None = None, version: int | None = None, **more: Any) -> Registration:
    """`more` is as in the JSON of a request, except for `normalize` and `force`."""
    flags = {name: more.pop(name) for name in ("normalize", "force") if name in more}
    return Registration(SchemaEntity.from_json({"schema": text, **more}), schema_id, version, **flags)


ONE, TWO, THREE = record_text("a"), record_text("a", "b?"), record_text("a", "b?", "c?")
"""Each goes with the others."""
REFERS = '{"type":"record","name":"B","fields":[{"name":"r","type":"R"}]}'


def to_r(version: int = 1, subject: str = "r") -> list[dict[str, Any]]:
    """The references of REFERS, if ONE or its like is there under this subject."""
    return [{"name": "R", "subject": subject, "version": version}]


def refusal(code: int, message: str, act: Callable[[], object]) -> None:
    """Doing it must be refused so."""
    with pytest.raises(RegistryError) as refused:
        act()
    assert (refused.value.code, refused.value.message) == (code, message)


class SchemaLog:
    """Changes are written and replayed at once."""

    def __init__(self, *, default_level: Level = Level.BACKWARD) -> None:
        self.records: list[Encoded] = []
        self.registry = Registry(RegistryState(), default_level=default_level)

    def write(self, change: Change[ReplyT]) -> ReplyT:
        for record in change.records:
            self.append(record)
        return change.reply

    def append(self, record: RegistryRecord) -> None:
        encoded = encode_record(record)
        self.records.append(encoded)
        self.registry.state.replay(decode_record(*encoded))

    def register(self, subject: str, text: str, **more: Any) -> tuple[int, int]:
        """Id and version."""
        reply = self.write(self.registry.register(subject, wanted(text, **more)))
        return reply.schema_id, reply.version

    def configure(self, subject: str | None, **fields: Any) -> None:
        self.write(self.registry.put_config(subject, parse_config(fields)))

    def set_mode(self, subject: str | None, mode: Mode | None, *, force: bool = False) -> None:
        self.write(self.registry.put_mode(subject, mode, force=force))

    def delete(self, subject: str, version: int | None = None, *, permanent: bool = False) -> object:
        if version is None:
            return self.write(self.registry.delete_subject(subject, permanent=permanent))
        return self.write(self.registry.delete_version(subject, version, permanent=permanent))

    def compacted(self) -> list[Encoded]:
        """The last record of each key, in the order of the log, tombstones gone."""
        last = {key: offset for offset, (key, _) in enumerate(self.records)}
        return [record for offset, record in enumerate(self.records) if last[record[0]] == offset and record[1]]


def replayed(records: list[Encoded]) -> Registry:
    state = RegistryState()
    for key, value in records:
        state.replay(decode_record(key, value))
    return Registry(state)
