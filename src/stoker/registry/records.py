"""Records of `_schemas`, in the format of Confluent's registry: JSON keys and values, so that either reads the other's log.

Keys are written byte for byte as Confluent's writes them: compaction goes by them, and a tombstone under another spelling
would let an old record come back. So where another registry spelled a key differently, its spelling is kept in mind, and
what is under it is taken away too.
"""

import base64
import binascii
import json
from typing import Final, NamedTuple

from stoker.errors import StokerError
from stoker.registry.data_contracts import ENCODED_PROPERTY, property_of
from stoker.registry.entities import Json, SchemaEntity, SubjectVersion, is_number


class MalformedRecord(StokerError):
    """A record that is none of a registry's, or of one that is newer than this."""


class SchemaKey(NamedTuple):
    subject: str
    version: int

    def __str__(self) -> str:
        """As Confluent's messages have it."""
        return f"{{magic=1,keytype=SCHEMA,subject={self.subject},version={self.version}}}"


class ConfigKey(NamedTuple):
    subject: str | None


class ModeKey(NamedTuple):
    subject: str | None


class DeleteSubjectKey(NamedTuple):
    """Its value says up to which version the subject was deleted."""

    subject: str


class ClearSubjectKey(NamedTuple):
    """What was softly deleted of a subject, a context or all is gone."""

    subject: str | None


class ContextKey(NamedTuple):
    context: str


class NoopKey(NamedTuple):
    """Written to learn where the log ends."""


Key = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | NoopKey


class RegistryRecord(NamedTuple):
    """A change; without a value it takes away what the key names."""

    key: Key
    value: Json | None
    spelling: bytes | None = None
    """The bytes of the key, where they are not those that this registry writes."""


_NAMES: Final = {
    ConfigKey: "CONFIG",
    ModeKey: "MODE",
    DeleteSubjectKey: "DELETE_SUBJECT",
    ClearSubjectKey: "CLEAR_SUBJECT",
}
_TENANT: Final = "default"


def encode_record(record: RegistryRecord) -> tuple[bytes, bytes | None]:
    key = encode_key(record.key) if record.spelling is None else record.spelling
    return key, None if record.value is None else _dump(record.value)


def encode_key(key: Key) -> bytes:
    if isinstance(key, SchemaKey):
        return _dump({"keytype": "SCHEMA", "subject": key.subject, "version": key.version, "magic": 1})
    if isinstance(key, NoopKey):
        return _dump({"keytype": "NOOP", "magic": 0})
    if isinstance(key, ContextKey):
        return _dump({"keytype": "CONTEXT", "tenant": _TENANT, "context": key.context, "magic": 0})
    named = {"subject": key.subject} if key.subject else {}
    return _dump({"keytype": _NAMES[type(key)], **named, "magic": 0})


def _plain_key(key: Key) -> bytes | None:
    """What encode_key gives in most cases, at a fraction of the time."""
    if not isinstance(key, SchemaKey):
        return None
    return f'{{"keytype":"SCHEMA","subject":"{key.subject}","version":{key.version},"magic":1}}'.encode()


def _dump(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_record(key: bytes | None, value: bytes | None) -> RegistryRecord:
    """Raises MalformedRecord."""
    try:
        named = json.loads((key or b"").decode())
        content = json.loads(value.decode()) if value else None
        if not isinstance(named, dict) or not (content is None or isinstance(content, dict)):
            raise ValueError("key and value must be objects")
        read = _key(named)
        return RegistryRecord(read, content, None if key == _plain_key(read) or key == encode_key(read) else key)
    except (ValueError, RecursionError) as problem:
        raise MalformedRecord(f"key {(key or b'')[:200]!r}: {problem!r:.200}") from None


def _key(named: Json) -> Key:
    kind = named.get("keytype")
    if kind == "NOOP":
        return NoopKey()
    if kind == "CONTEXT":
        context = named.get("context")
        if not isinstance(context, str) or not context.startswith("."):
            raise ValueError("context is none")
        return ContextKey(context)
    subject = named.get("subject")
    if not (subject is None or isinstance(subject, str)):
        raise ValueError("subject is no text")
    if kind == "SCHEMA":
        version = named.get("version")
        if named.get("magic") not in (0, 1) or not is_number(version, 1):
            raise ValueError("magic must be 0 or 1, and the version from 1 on")
        return SchemaKey(_required(subject), version)
    if kind == "CONFIG":
        return ConfigKey(subject or None)
    if kind == "MODE":
        return ModeKey(subject or None)
    if kind == "DELETE_SUBJECT":
        return DeleteSubjectKey(_required(subject))
    if kind == "CLEAR_SUBJECT":
        return ClearSubjectKey(subject or None)
    raise ValueError(f"keytype {kind!r:.50} is not known")


def _required(subject: str | None) -> str:
    if not subject:
        raise ValueError("subject is missing")
    return subject


def schema_record(version: SubjectVersion) -> RegistryRecord:
    """A schema under a subject, or, with `deleted`, that it was softly deleted there."""
    value = {
        "subject": version.subject,
        "version": version.version,
        "id": version.schema_id,
        "md5": base64.b64encode(version.entity.fingerprint).decode(),
        **version.entity.to_json(),
        "deleted": version.deleted,
    }
    return RegistryRecord(SchemaKey(version.subject, version.version), value)


def config_record(subject: str | None, config: Json) -> RegistryRecord:
    return RegistryRecord(ConfigKey(subject), {**_named(subject), **config})


def mode_record(subject: str | None, mode: str) -> RegistryRecord:
    return RegistryRecord(ModeKey(subject), {**_named(subject), "mode": mode})


def delete_subject_record(subject: str, up_to: int) -> RegistryRecord:
    return RegistryRecord(DeleteSubjectKey(subject), {"subject": subject, "version": up_to})


def clear_subject_record(subject: str | None) -> RegistryRecord:
    return RegistryRecord(ClearSubjectKey(subject), _named(subject))


def context_record(context: str) -> RegistryRecord:
    return RegistryRecord(ContextKey(context), {"tenant": _TENANT, "context": context})


def _named(subject: str | None) -> Json:
    return {} if subject is None else {"subject": subject}


def subject_version_of(key: SchemaKey, value: Json) -> SubjectVersion:
    """Raises MalformedRecord."""
    schema_id = value.get("id")
    if not is_number(schema_id, 0) or not value.get("schema"):
        raise MalformedRecord(f"{key}: without a schema, or an id that it could have")
    try:
        entity = SchemaEntity.from_json(value)
        if property_of(entity.metadata, ENCODED_PROPERTY) is not None:
            entity = SchemaEntity.from_json(value, fingerprint=_md5(value))
        return SubjectVersion(key.subject, key.version, schema_id, entity, value.get("deleted") is True)
    except ValueError as problem:
        raise MalformedRecord(f"{key}: {problem!r:.200}") from None


def _md5(value: Json) -> bytes | None:
    """The hash that the record says, where it cannot be computed. Else it is computed: to believe a wrong one would give
    a schema the id of another."""
    try:
        said = base64.b64decode(value.get("md5") or "", validate=True)
    except (binascii.Error, TypeError):
        return None
    return said if len(said) == 16 else None
