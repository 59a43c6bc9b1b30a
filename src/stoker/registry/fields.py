"""Names of fields that a schema may not have: what `validateFields` asks for."""

import json

from stoker.registry.data_contracts import RESERVED_PROPERTY, Json, property_of
from stoker.registry.errors import invalid_schema
from stoker.registry.formats.schema import ParsedSchema

_RESTRICTED = "$$"


def reserved_fields(metadata: Json | None) -> set[str]:
    """Which the metadata keeps free."""
    names = (property_of(metadata, RESERVED_PROPERTY) or "").split(",")
    return {name.strip() for name in names} - {""}


def refuse_restricted_fields(parsed: ParsedSchema) -> None:
    """Raises Unprocessable."""
    name = next((name for name in sorted(top_level_fields(parsed)) if name.startswith(_RESTRICTED)), None)
    if name is not None:
        raise invalid_schema(
            f"Invalid schema of type {parsed.schema_type}, details: "
            f"Field names cannot start with {_RESTRICTED} prefix: '{name}'"
        )


def conflicts_with_reserved(parsed: ParsedSchema, metadata: Json | None, before: Json | None) -> list[str]:
    """`before` is the metadata of the latest version."""
    reserved = reserved_fields(metadata)
    fields = top_level_fields(parsed) if reserved else frozenset()
    return [
        *(
            f"The new schema has reserved field {name} removed from its metadata which is present in the old schema's "
            "metadata."
            for name in sorted(reserved_fields(before) - reserved)
        ),
        *(
            f"The new schema has field that conflicts with the reserved field {name}."
            for name in sorted(reserved & fields)
        ),
    ]


def top_level_fields(parsed: ParsedSchema) -> frozenset[str]:
    if parsed.schema_type == "PROTOBUF":
        from stoker.registry.formats.protobuf.elements import Message
        from stoker.registry.formats.protobuf.schema import ProtobufSchema

        assert isinstance(parsed, ProtobufSchema)
        messages = [each for each in parsed.file.types if isinstance(each, Message)]
        fields = [field for message in messages for field in message.fields]
        fields += [field for message in messages for oneof in message.oneofs for field in oneof.fields]
        return frozenset(field.name for field in fields)
    document = json.loads(parsed.text)
    if not isinstance(document, dict):
        return frozenset()
    if parsed.schema_type == "JSON":
        properties = document.get("properties")
        return frozenset(properties) if isinstance(properties, dict) else frozenset()
    if document.get("type") != "record":
        return frozenset()
    return frozenset(field["name"] for field in document["fields"])
