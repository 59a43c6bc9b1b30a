"""The file of `stoker schemas export` and `import`: one JSON object a line, in the order in which a registry takes them.

{"kind": "schema", "subject": ..., "version": ..., "id": ..., "schema": ...}    and what else the registry says of it
{"kind": "config", "subject": null, "config": {"compatibility": "FULL"}}        of all subjects, a context or a subject
{"kind": "mode", "subject": "orders-value", "mode": "READONLY"}
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from stoker.cli.failure import CommandFailed
from stoker.registry.client import ALL_CONTEXTS, RegistryClient, level_of
from stoker.registry.entities import Json
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of, in_context, prefix_of

Answer = TypeVar("Answer")

CONCURRENCY: Final = 8
"""Questions that are asked at once where every subject must be asked about."""
_STANDARD_STREAM: Final = Path("-")
_LONGEST_LINE: Final = 16 * 1024 * 1024
_FIELDS: Final = ("schemaType", "references", "metadata", "ruleSet", "schema")
"""Of a schema, as requests carry them."""


class Key(NamedTuple):
    subject: str
    version: int


class Stored(NamedTuple):
    """A version of a subject as the file has it; `line` is where."""

    key: Key
    schema_id: int
    schema: Json
    deleted: bool
    line: int = 0

    @property
    def request(self) -> Json:
        """What registers it again, in the mode IMPORT."""
        return self.schema | {"id": self.schema_id, "version": self.key.version}

    def references(self) -> Iterator[Key]:
        context = context_of(self.key.subject)
        for each in self.schema.get("references") or []:
            yield Key(in_context(str(each["subject"]), context), int(each["version"]))


@dataclass(kw_only=True, slots=True)
class Archive:
    """All that a registry holds. Schemas come after those they refer to; None stands for all subjects."""

    schemas: list[Stored] = field(default_factory=list)
    configs: dict[str | None, Json] = field(default_factory=dict)
    modes: dict[str | None, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        for stored in self.schemas:
            told: Json = {"kind": "schema", **stored.key._asdict(), "id": stored.schema_id, **stored.schema}
            yield _line(told | {"deleted": True} if stored.deleted else told)
        for subject, config in self.configs.items():
            yield _line({"kind": "config", "subject": subject, "config": config})
        for subject, mode in self.modes.items():
            yield _line({"kind": "mode", "subject": subject, "mode": mode})


def archive_of(registry: RegistryClient, *, deleted: bool) -> Archive:
    """All that is there now; with `deleted`, the softly deleted versions too."""
    schemas = in_order(stored_in(registry, deleted=deleted).values())
    subjects = list(dict.fromkeys(stored.key.subject for stored in schemas))
    contexts = [prefix_of(context) for context in registry.contexts() if context != DEFAULT_CONTEXT]
    scopes: list[str | None] = [None, *contexts, *subjects]
    configs = for_each(registry.config, scopes)
    modes = for_each(registry.mode, scopes)
    return Archive(
        schemas=schemas,
        configs={scope: _as_request(config) for scope, config in configs.items() if config},
        modes={scope: mode for scope, mode in modes.items() if mode is not None},
    )


def stored_in(registry: RegistryClient, *, deleted: bool) -> dict[Key, Stored]:
    live = [_stored(schema, deleted=False) for schema in registry.schemas(ALL_CONTEXTS)]
    found = {stored.key: stored for stored in live}
    if deleted:
        for schema in registry.schemas(ALL_CONTEXTS, deleted=True):
            stored = _stored(schema, deleted=True)
            found.setdefault(stored.key, stored)
    return found


def for_each(question: Callable[[str | None], Answer], scopes: Iterable[str | None]) -> dict[str | None, Answer]:
    """The answer for each, in their order; several are asked for at once."""
    listed = list(scopes)
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return dict(zip(listed, pool.map(question, listed), strict=True))


def in_order(schemas: Iterable[Stored]) -> list[Stored]:
    """By id, and each after those it refers to. Raises CommandFailed for references that go in a circle."""
    by_key = {stored.key: stored for stored in sorted(schemas, key=lambda each: (each.schema_id, each.key))}
    sorter: TopologicalSorter[Key] = TopologicalSorter()
    for stored in by_key.values():
        sorter.add(stored.key, *(key for key in stored.references() if key in by_key))
    try:
        return [by_key[key] for key in sorter.static_order()]
    except CycleError as error:
        circle = " -> ".join(f"{subject} version {version}" for subject, version in error.args[1])
        raise CommandFailed(f"schemas refer to each other in a circle: {circle}") from error


def read_archive(path: Path) -> Archive:
    """`-` is standard input. Raises CommandFailed with the number of the line."""
    archive = Archive()
    seen: dict[Key, int] = {}
    try:
        with nullcontext(sys.stdin.buffer) if path == _STANDARD_STREAM else path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise CommandFailed(f"{path} line {number} is longer than {_LONGEST_LINE} bytes")
                if line.strip():
                    _take(archive, f"{path} line {number}", number, line, seen)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
    archive.schemas = in_order(archive.schemas)
    return archive


def write_archive(archive: Archive, path: Path) -> None:
    """`-` is standard output. Raises CommandFailed."""
    if path == _STANDARD_STREAM:
        for line in archive.lines():
            print(line)
        return
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in archive.lines())
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error


def _take(archive: Archive, place: str, number: int, line: bytes, seen: dict[Key, int]) -> None:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise CommandFailed(f"{place} is no JSON: {error}") from error
    kind = value.get("kind") if isinstance(value, dict) else None
    try:
        if kind == "schema":
            stored = _stored(value, deleted=value.get("deleted") is True)._replace(line=number)
            if stored.key in seen:
                subject, version = stored.key
                raise CommandFailed(
                    f"{place}: line {seen[stored.key]} has subject {subject!r} version {version} already"
                )
            seen[stored.key] = number
            list(stored.references())  # raises for what are none
            archive.schemas.append(stored)
        elif kind == "config":
            archive.configs[_scope(value)] = dict(value["config"])
        elif kind == "mode":
            archive.modes[_scope(value)] = str(value["mode"])
        else:
            raise CommandFailed(f'{place}: "kind" must be schema, config or mode; is this a file of `schemas export`?')
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CommandFailed(f"{place}: a {kind} with {error!r} cannot be imported") from error


def _scope(value: Json) -> str | None:
    return None if value["subject"] is None else str(value["subject"])


def _stored(schema: Json, *, deleted: bool) -> Stored:
    told = {name: schema[name] for name in _FIELDS if schema.get(name)}
    if not isinstance(told["schema"], str):
        raise TypeError("a schema that is no string")
    return Stored(Key(str(schema["subject"]), int(schema["version"])), int(schema["id"]), told, deleted)


def _as_request(config: Json) -> Json:
    """Answers call the level otherwise than requests."""
    rest = {name: value for name, value in config.items() if name != "compatibilityLevel"}
    level = level_of(config)
    return rest if level is None else {"compatibility": level, **rest}


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
