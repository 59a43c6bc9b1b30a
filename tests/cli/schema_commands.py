"""`stoker schemas` run in this process, against a registry."""

import json
from pathlib import Path
from typing import Any

from tests.cli.command_line import CommandLine


class SchemasCommandLine(CommandLine):
    """`run("list")` is `stoker schemas list`."""

    def __init__(self, url: str, directory: Path) -> None:
        super().__init__(url)
        self.directory = directory

    def __call__(
        self, *arguments: str, code: int = 0, env: dict[str, str | None] | None = None, stdin: bytes | None = None
    ) -> str:
        environment: dict[str, str | None] = {"STOKER_REGISTRY_URL": self.address}
        return super().__call__("schemas", *arguments, code=code, env=environment | (env or {}), stdin=stdin)

    def file(self, name: str, content: Any) -> str:
        """The path of a file with this schema."""
        path = self.directory / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)


def record(*fields: dict[str, Any], name: str = "shop.Order") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, type_: Any = "int", **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **rest}


ORDER = record(field("id", "long"))
WITH_DEFAULT = record(field("id", "long"), field("coupon", ["null", "string"], default=None))
WITHOUT_DEFAULT = record(field("id", "long"), field("currency", "string"))
PROTO = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n'
JSON_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
