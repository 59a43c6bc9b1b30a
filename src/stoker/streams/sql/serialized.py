"""Streams and tables of the catalogue as JSON, for the log of statements."""

from typing import Any

from stoker.streams.sql.catalogue import Column, Source, WindowedBy
from stoker.streams.sql.parser import parse_type
from stoker.streams.sql.statements import ColumnRole, SourceKind, WindowKind

_PLAIN = (
    "name", "topic", "key_format", "value_format", "delimiter", "timestamp", "is_registered", "is_wrapped", "is_source", "query_id", "text",
)  # fmt: skip


def source_to_json(source: Source) -> dict[str, Any]:
    made: dict[str, Any] = {name: getattr(source, name) for name in _PLAIN}
    made["kind"] = source.kind.value
    made["columns"] = [
        {
            "name": each.name, "type": str(each.type), "role": each.role.value, "spelling": each.spelling,
            "stored": str(each.stored), "header": each.header,
        }
        for each in source.columns
    ]  # fmt: skip
    if source.window is not None:
        made["window"] = {"kind": source.window.kind.value, "size": source.window.size}
    return made


def source_from_json(given: dict[str, Any]) -> Source:
    columns = tuple(
        Column(
            name=each["name"],
            type=parse_type(each["type"]),
            role=ColumnRole(each["role"]),
            spelling=each["spelling"],
            stored=parse_type(each["stored"]),
            header=each["header"],
        )
        for each in given["columns"]
    )
    window = given.get("window")
    return Source(
        kind=SourceKind(given["kind"]),
        columns=columns,
        window=None if window is None else WindowedBy(kind=WindowKind(window["kind"]), size=window["size"]),
        **{name: given[name] for name in _PLAIN},
    )
