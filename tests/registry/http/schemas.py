"""Schemas that the tests register, and the bodies to do it with."""

import json
from typing import Any


def record(name: str = "Order", /, *fields: str | dict[str, Any]) -> str:
    """An Avro record; a field that is only named is a string."""
    return json.dumps(
        {
            "type": "record",
            "name": name,
            "fields": [{"name": each, "type": "string"} if isinstance(each, str) else each for each in fields],
        },
        separators=(",", ":"),
    )


def optional(name: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", "string"], "default": None}


def body(schema: str, **others: Any) -> dict[str, Any]:
    return {"schema": schema, **others}


V1 = record("Order", "id")
V2 = record("Order", "id", optional("region"))
BROKEN = record("Order", "id", "region")
"""Nothing written with the others has a region."""
PROTO = 'syntax = "proto3";\n\nmessage Order {\n  string id = 1;\n}\n'
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "string"}}}, separators=(",", ":"))
