"""What the registry stores: schemas, and under which subject and version each is known."""

import hashlib
from functools import cached_property
from typing import Any, NamedTuple, Self
from uuid import UUID

AVRO = "AVRO"
SCHEMA_TYPES = ("JSON", "PROTOBUF", AVRO)

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

    def __init__(
        self,
        *,
        schema_type: str,
        text: str,
        references: tuple[Reference, ...] = (),
        metadata: Json | None = None,
        rule_set: Json | None = None,
    ) -> None:
        self.schema_type = schema_type
        self.text = text
        self.references = references
        self.metadata = metadata
        self.rule_set = rule_set

    @cached_property
    def fingerprint(self) -> bytes:
        """The MD5 that Confluent's registry has for it, which its guid is made of; the type of the schema is not in it."""
        digest = hashlib.md5(self.text.encode(), usedforsecurity=False)
        for name, subject, version in self.references:
            digest.update(name.encode() + subject.encode() + version.to_bytes(4, "big", signed=True))
        if self.metadata is not None:
            digest.update(b"\1")
            _hash_metadata(digest, self.metadata)
        if self.rule_set is not None:
            digest.update(b"\1")
            _hash_rule_set(digest, self.rule_set)
        return digest.digest()

    @property
    def identity(self) -> tuple[str, bytes]:
        """What equal schemas have in common."""
        return self.schema_type, self.fingerprint

    @property
    def guid(self) -> str:
        return str(UUID(bytes=self.fingerprint))

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
    def from_json(cls, value: Json) -> Self:
        """Of a record or a request. Raises KeyError, TypeError or ValueError for what cannot be one."""
        return cls(
            schema_type=str(value.get("schemaType") or AVRO),
            text=str(value["schema"]),
            references=tuple(
                Reference(str(each["name"]), str(each["subject"]), int(each["version"]))
                for each in value.get("references") or ()
            ),
            metadata=value.get("metadata"),
            rule_set=value.get("ruleSet"),
        )


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


def _hash_metadata(digest: "hashlib._Hash", metadata: Json) -> None:
    for key, values in sorted((metadata.get("tags") or {}).items()):
        digest.update(key.encode() + "".join(sorted(values)).encode())
    for key, value in sorted((metadata.get("properties") or {}).items()):
        digest.update(key.encode() + str(value).encode())
    for name in sorted(metadata.get("sensitive") or ()):
        digest.update(name.encode())


def _hash_rule_set(digest: "hashlib._Hash", rule_set: Json) -> None:
    for rules in ("migrationRules", "domainRules", "encodingRules"):
        for rule in rule_set.get(rules) or ():
            _hash_rule(digest, rule)
    digest.update(str(rule_set.get("enableAt") or "").encode())


def _hash_rule(digest: "hashlib._Hash", rule: Json) -> None:
    for field in ("name", "doc", "kind", "mode", "type"):
        digest.update(str(rule.get(field) or "").encode())
    for tag in sorted(rule.get("tags") or ()):
        digest.update(tag.encode())
    for key, value in sorted((rule.get("params") or {}).items()):
        digest.update(key.encode() + str(value).encode())
    for field in ("expr", "onSuccess", "onFailure"):
        digest.update(str(rule.get(field) or "").encode())
    if rule.get("disabled"):
        digest.update(b"\1")
