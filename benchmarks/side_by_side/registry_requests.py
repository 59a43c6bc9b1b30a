"""What is asked of a registry, as bytes: HTTP requests, and schemas of one size that all differ."""

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

JSON = "application/vnd.schemaregistry.v1+json"


def subject_name(number: int) -> str:
    return f"orders-{number:07d}-value"


def schema(number: int, *extra_fields: str) -> str:
    """An Avro record of about 600 characters, written as registries store it; each extra field may be left out."""
    fields: list[dict[str, Any]] = [
        {"name": "order_id", "type": "long"},
        {"name": f"customer_{number:07d}", "type": "string", "doc": "Who ordered it"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {
            "name": "status",
            "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"]},
            "default": "NEW",
        },
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": _LINE}},
        {"name": "created_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        *({"name": name, "type": ["null", "string"], "default": None} for name in extra_fields),
    ]
    record = {"type": "record", "name": "Order", "namespace": f"shop.number_{number:07d}", "fields": fields}
    return json.dumps(record, separators=(",", ":"))


_LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "article", "type": "string"}, {"name": "count", "type": "int"}],
}


def fetch(schema_id: int) -> bytes:
    return get(f"/schemas/ids/{schema_id}")


def look_up(number: int) -> bytes:
    """The schema as it is stored."""
    return _with_schema("POST", f"/subjects/{subject_name(number)}", schema(number))


def look_up_spelled_otherwise(number: int) -> bytes:
    """The same schema with spaces in it, so that it must be read to be known."""
    return _with_schema("POST", f"/subjects/{subject_name(number)}", json.dumps(json.loads(schema(number))))


def check(number: int, field: str) -> bytes:
    """Whether a subject may have one field more."""
    path = f"/compatibility/subjects/{subject_name(number)}/versions/latest"
    return _with_schema("POST", path, schema(number, field))


def register(number: int) -> bytes:
    return _with_schema("POST", f"/subjects/{subject_name(number)}/versions", schema(number))


def delete(number: int, *, permanent: bool) -> bytes:
    query = "?permanent=true" if permanent else ""
    return _request("DELETE", f"/subjects/{subject_name(number)}{query}")


def get(path: str) -> bytes:
    return _request("GET", path)


def _with_schema(method: str, path: str, text: str) -> bytes:
    return _request(method, path, json.dumps({"schema": text}).encode())


def _request(method: str, path: str, body: bytes = b"") -> bytes:
    """With the headers that clients of registries send."""
    described = f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {JSON}\r\n{described}\r\n"
    return head.encode() + body


def write(path: Path, requests: Iterable[bytes]) -> Path:
    """A list for `ask_http.c`."""
    with path.open("wb") as file:
        for request in requests:
            file.write(struct.pack(">i", len(request)) + request)
    return path
