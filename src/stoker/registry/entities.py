"""What the registry stores: schemas, and under which subject and version each is known."""

import hashlib
from typing import Any, NamedTuple, Self, TypeGuard

from stoker.registry.data_contracts import hash_metadata, hash_rule_set, metadata_of, rule_set_of

AVRO = "AVRO"
SCHEMA_TYPES = ("JSON", "PROTOBUF", AVRO)
HIGHEST_NUMBER = 2**31 - 1
"""Of ids and versions."""
LATEST = -1

Json = dict[str, Any]


class Reference(NamedTuple):
    """By `name` a schema refers to another one, which is known under this subject and version."""

    name: str
    subject: str
    version: int

    def to_json(self) -> Json:
        return {"name": self.name, "subject": self.subject, "version": self.version}


class SchemaEntity:
    """A schema and all that tells it from others: equal ones have one id. Never changed."""

    __slots__ = ("_identity", "metadata", "references", "rule_set", "schema_type", "text")

    def __init__(
        self,
        *,
        schema_type: str,
        text: str,
        references: tuple[Reference, ...] = (),
        metadata: Json | None = None,
        rule_set: Json | None = None,
        fingerprint: bytes | None = None,
    ) -> None:
        """The fingerprint is given where it cannot be computed. Raises ValueError if metadata or rules are none."""
        self.schema_type = schema_type
        self.text = text
        self.references = references
        self.metadata = metadata_of(metadata)
        self.rule_set = rule_set_of(rule_set)
        self._identity = None if fingerprint is None else schema_type.encode() + fingerprint

    @property
    def identity(self) -> bytes:
        """What equal schemas have in common, and no others. Raises UnicodeEncodeError for text that cannot be written."""
        if self._identity is None:
            digest = hashlib.md5(self.text.encode(), usedforsecurity=False)
            for name, subject, version in self.references:
                digest.update(name.encode() + subject.encode() + version.to_bytes(4, "big", signed=True))
            if self.metadata is not None:
                digest.update(b"\1")
                hash_metadata(digest.update, self.metadata)
            if self.rule_set is not None:
                digest.update(b"\1")
                hash_rule_set(digest.update, self.rule_set)
            self._identity = self.schema_type.encode() + digest.digest()
        return self._identity

    @property
    def fingerprint(self) -> bytes:
        """The MD5 that Confluent's registry has for it, which its guid is made of; the type of the schema is not in it."""
        return self.identity[-16:]

    @property
    def guid(self) -> str:
        digits = self.fingerprint.hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def with_text(self, text: str, references: tuple[Reference, ...]) -> "SchemaEntity":
        if text == self.text and references == self.references:
            return self
        return SchemaEntity(
            schema_type=self.schema_type,
            text=text,
            references=references,
            metadata=self.metadata,
            rule_set=self.rule_set,
        )

    def with_contract(self, metadata: Json | None, rule_set: Json | None) -> "SchemaEntity":
        if metadata == self.metadata and rule_set == self.rule_set:
            return self
        return SchemaEntity(
            schema_type=self.schema_type,
            text=self.text,
            references=self.references,
            metadata=metadata,
            rule_set=rule_set,
        )

    def to_json(self) -> Json:
        """The part of an answer that tells of the schema. What is not there is left out, and so is the type of Avro."""
        told: Json = {}
        if self.schema_type != AVRO:
            told["schemaType"] = self.schema_type
        if self.references:
            told["references"] = [reference.to_json() for reference in self.references]
        if self.metadata is not None:
            told["metadata"] = self.metadata
        if self.rule_set is not None:
            told["ruleSet"] = self.rule_set
        told["schema"] = self.text
        return told

    @classmethod
    def from_json(cls, value: Json, *, fingerprint: bytes | None = None) -> Self:
        """Of a record or a request, where the text may be missing. Raises ValueError for what cannot be one."""
        text = value.get("schema")
        schema_type = value.get("schemaType")
        references = value.get("references")
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"schema must be a text, it is {text!r:.100}")
        if not (schema_type is None or isinstance(schema_type, str)):
            raise ValueError(f"schemaType must be a text, it is {schema_type!r:.100}")
        if not (references is None or isinstance(references, list)):
            raise ValueError(f"references must be a list, it is {references!r:.100}")
        return cls(
            schema_type=schema_type or AVRO,
            text=text or "",
            references=tuple(_reference(each) for each in references) if references else (),
            metadata=value.get("metadata"),
            rule_set=value.get("ruleSet"),
            fingerprint=fingerprint,
        )


def _reference(value: object) -> Reference:
    if isinstance(value, dict):
        name, subject, version = value.get("name"), value.get("subject"), value.get("version")
        if isinstance(name, str) and isinstance(subject, str) and is_number(version, 1, LATEST):
            return Reference(name, subject, version)
    raise ValueError(f"Invalid reference: {value!r:.200}; it needs a name, a subject and a version (-1 is the latest)")


def is_number(value: object, lowest: int, other: int | None = None) -> TypeGuard[int]:
    """An integer that an id or a version may be."""
    return type(value) is int and (lowest <= value <= HIGHEST_NUMBER or value == other)


class SubjectVersion(NamedTuple):
    """A schema as it is known under a subject."""

    subject: str
    version: int
    schema_id: int
    entity: SchemaEntity
    deleted: bool = False

    def to_json(self) -> Json:
        return {
            "subject": self.subject,
            "version": self.version,
            "id": self.schema_id,
            "guid": self.entity.guid,
            **self.entity.to_json(),
        }
