"""Records of `_schemas`, in the format of Confluent's registry: JSON keys and values, so that either reads the other's log.

Keys are written byte for byte as Confluent's writes them: compaction goes by them, and a tombstone under another spelling
would let an old record come back.
"""

import base64
import json
from typing import NamedTuple

from stoker.errors import StokerError
from stoker.registry.entities import Json, SchemaEntity, SubjectVersion


class MalformedRecord(StokerError):
    """A record that is none of a registry's."""


class SchemaKey(NamedTuple):
    subject: str
    version: int


class ConfigKey(NamedTuple):
    subject: str | None


class ModeKey(NamedTuple):
    subject: str | None


class DeleteSubjectKey(NamedTuple):
    """Its value says up to which version the subject was deleted."""

    subject: str


class ClearSubjectKey(NamedTuple):
    subject: str


class ContextKey(NamedTuple):
    context: str


class NoopKey(NamedTuple):
    """Written to learn where the log ends."""


Key = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | NoopKey


class RegistryRecord(NamedTuple):
    """A change; without a value it takes away what the key names."""

    key: Key
    value: Json | None


_NAMES = {
    ConfigKey: "CONFIG",
    ModeKey: "MODE",
    DeleteSubjectKey: "DELETE_SUBJECT",
    ClearSubjectKey: "CLEAR_SUBJECT",
}
_TENANT = "default"


def encode_record(record: RegistryRecord) -> tuple[bytes, bytes | None]:
    return _dump(_key_json(record.key)), None if record.value is None else _dump(record.value)


def _key_json(key: Key) -> Json:
    if isinstance(key, SchemaKey):
        return {"keytype": "SCHEMA", "subject": key.subject, "version": key.version, "magic": 1}
    if isinstance(key, NoopKey):
        return {"keytype": "NOOP", "magic": 0}
    if isinstance(key, ContextKey):
        return {"keytype": "CONTEXT", "tenant": _TENANT, "context": key.context, "magic": 0}
    named = {} if key.subject is None else {"subject": key.subject}
    return {"keytype": _NAMES[type(key)], **named, "magic": 0}


def _dump(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_record(key: bytes | None, value: bytes | None) -> RegistryRecord:
    """Raises MalformedRecord for what no registry wrote, or one that is newer than this."""
    try:
        named = json.loads(key or b"")
        content = None if not value else json.loads(value)
        if not isinstance(named, dict) or not (content is None or isinstance(content, dict)):
            raise ValueError("neither key nor value may be anything but an object")
        return RegistryRecord(_key(named), content)
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise MalformedRecord(f"key {(key or b'')[:100]!r}: {problem!r}") from None


def _key(named: Json) -> Key:
    kind = named["keytype"]
    if kind == "SCHEMA":
        return SchemaKey(str(named["subject"]), int(named["version"]))
    if kind == "NOOP":
        return NoopKey()
    if kind == "CONTEXT":
        return ContextKey(str(named["context"]))
    subject = named.get("subject")
    if kind == "CONFIG":
        return ConfigKey(None if subject is None else str(subject))
    if kind == "MODE":
        return ModeKey(None if subject is None else str(subject))
    if kind == "DELETE_SUBJECT":
        return DeleteSubjectKey(str(named["subject"]))
    if kind == "CLEAR_SUBJECT":
        return ClearSubjectKey(str(named["subject"]))
    raise ValueError(f"keytype {kind!r} is not known")


def schema_record(version: SubjectVersion) -> RegistryRecord:
    """A schema under a subject, or, with `deleted`, that it was softly deleted there."""
    told = version.entity.to_json()
    text = told.pop("schema")
    value = {
        "subject": version.subject,
        "version": version.version,
        "id": version.schema_id,
        "md5": base64.b64encode(version.entity.fingerprint).decode(),
        **told,
        "schema": text,
        "deleted": version.deleted,
    }
    return RegistryRecord(SchemaKey(version.subject, version.version), value)


def subject_version_of(key: SchemaKey, value: Json) -> SubjectVersion:
    """Raises MalformedRecord."""
    try:
        entity = SchemaEntity.from_json(value)
        return SubjectVersion(key.subject, key.version, int(value["id"]), entity, bool(value.get("deleted")))
    except (KeyError, TypeError, ValueError) as problem:
        raise MalformedRecord(f"{key}: {problem!r}") from None
