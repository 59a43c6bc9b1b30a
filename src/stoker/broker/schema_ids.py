"""Which schemas are registered, by what a registry wrote to `_schemas`: Confluent's format, of which ids and guids matter here.

Only versions that count for new records are kept: those that are not deleted, softly or for good. That is also whom
Confluent's registry names when it is asked for the subjects of an id.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

ID_MAGIC: Final = b"\x00"
ID_SIZE: Final = 4
GUID_MAGIC: Final = b"\x01"
GUID_SIZE: Final = 16

_DEFAULT_CONTEXT: Final = ":.:"
_ANY_CONTEXT: Final = ":."


class Subjects(NamedTuple):
    """Some subjects of the default context: the one of this name, or all whose names begin so."""

    name: str
    is_prefix: bool = False

    def __str__(self) -> str:
        if not self.is_prefix:
            return f"the subject {self.name}"
        return f"a subject that begins with {self.name}" if self.name else "any subject"


class SchemaVersion(NamedTuple):
    """A version of a subject, by what records may say of it."""

    schema_id: bytes
    """Of 4 bytes."""
    guid: bytes | None


class KnownSchemas(NamedTuple):
    """How the key, the value or the header of a record may begin that names one of some schemas."""

    by_id: frozenset[bytes]
    """Magic byte and id: 5 bytes."""
    by_guid: frozenset[bytes]
    """Magic byte and guid: 17 bytes."""

    def has(self, content: bytes) -> bool:
        return content[: ID_SIZE + 1] in self.by_id or content[: GUID_SIZE + 1] in self.by_guid


class SchemaRule(NamedTuple):
    """What the keys, or the values, of a topic must be."""

    is_key: bool
    subjects: Subjects
    known: KnownSchemas

    @property
    def what(self) -> str:
        return "key" if self.is_key else "value"

    @property
    def header(self) -> str:
        """Where a serializer writes the guid that does not write the id in front of the payload."""
        return "__key_schema_id" if self.is_key else "__value_schema_id"


SchemaRules = tuple[SchemaRule, ...]


class SchemaIds:
    """All registered schemas of the default context. Changed by `replay` alone."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[int, SchemaVersion]] = {}

    def replay(self, key: bytes | None, value: bytes | None) -> bool:
        """Take in a record; false for one that makes no sense, which is left out: it must not stop the reader."""
        try:
            named = json.loads(key or b"")
            kind = named["keytype"]
            if kind not in ("SCHEMA", "DELETE_SUBJECT"):
                return True
            subject = str(named["subject"]).removeprefix(_DEFAULT_CONTEXT)
            if subject.startswith(_ANY_CONTEXT):
                return True
            content = json.loads(value) if value else None
            if kind == "SCHEMA":
                schema = None if content is None or content.get("deleted") else _schema_version(content)
                self._put(subject, int(named["version"]), schema)
            elif content is not None:
                self._delete_up_to(subject, int(content["version"]))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return False
        return True

    def _put(self, subject: str, version: int, schema: SchemaVersion | None) -> None:
        versions = self._versions.setdefault(subject, {})
        if schema is not None:
            versions[version] = schema
        else:
            versions.pop(version, None)
        if not versions:
            del self._versions[subject]

    def _delete_up_to(self, subject: str, last: int) -> None:
        for version in [version for version in self._versions.get(subject, ()) if version <= last]:
            self._put(subject, version, None)

    def known(self, subjects: Subjects) -> KnownSchemas:
        """The schemas of these subjects as of now."""
        schemas = [schema for versions in self._of(subjects) for schema in versions.values()]
        return KnownSchemas(
            frozenset(ID_MAGIC + schema.schema_id for schema in schemas),
            frozenset(GUID_MAGIC + schema.guid for schema in schemas if schema.guid is not None),
        )

    def _of(self, subjects: Subjects) -> Iterator[dict[int, SchemaVersion]]:
        if not subjects.is_prefix:
            yield self._versions.get(subjects.name, {})
            return
        for name, versions in self._versions.items():
            if name.startswith(subjects.name):
                yield versions


def _schema_version(content: dict[str, Any]) -> SchemaVersion:
    """Old registries wrote no md5, and serializers of then no guids."""
    return SchemaVersion(int(content["id"]).to_bytes(ID_SIZE), _guid(content.get("md5")))


def _guid(md5: object) -> bytes | None:
    if not isinstance(md5, str):
        return None
    try:
        guid = base64.b64decode(md5, validate=True)
    except (binascii.Error, ValueError):
        return None
    return guid if len(guid) == GUID_SIZE else None
