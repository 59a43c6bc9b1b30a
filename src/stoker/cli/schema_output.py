"""How schemas, their versions, and what a registry says of them are printed."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from stoker.cli.output import print_table
from stoker.registry.client import type_of
from stoker.registry.entities import Json
from stoker.registry.settings import Level

_CONFLICT: Final = re.compile(
    r"""\{errorType:\s*(['"])(?P<rule>\w+)\1,\s*description:\s*(['"])(?P<text>.*?)\3"""
    r"""(?:,\s*additionalInfo:\s*(['"])(?P<place>.*)\5)?\}""",
    re.DOTALL,
)
_OLD_VERSION: Final = re.compile(r"\{oldSchemaVersion:\s*(\d+)\}")
_CONTEXT: Final = re.compile(r"\{(oldSchema|validateFields|compatibility):.*\}", re.DOTALL)


class Verdict(NamedTuple):
    """What a registry answered to the question whether a schema may follow."""

    is_compatible: bool
    reasons: Sequence[Mapping[str, object]]
    """Each with `version`, `rule`, `message` and `path`; of a message in a form of its own, `message` alone."""

    @classmethod
    def of(cls, answer: Json) -> "Verdict":
        return cls(bool(answer.get("is_compatible")), list(_reasons(answer.get("messages") or [])))


def _reasons(messages: Iterable[object]) -> Iterable[Mapping[str, object]]:
    """Registries name the version after the reasons that belong to it."""
    waiting: list[dict[str, object]] = []
    for message in map(str, messages):
        if conflict := _CONFLICT.fullmatch(message):
            place = conflict["place"] or None
            waiting.append({"rule": conflict["rule"], "message": conflict["text"], "path": place})
        elif version := _OLD_VERSION.fullmatch(message):
            yield from ({"version": int(version[1]), **reason} for reason in waiting)
            waiting.clear()
        elif not _CONTEXT.fullmatch(message):
            waiting.append({"message": message})
    yield from waiting


def lines_of(reasons: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """One a line, below the version they are about."""
    about: object = None
    for reason in reasons:
        version = reason.get("version")
        if version != about:
            about = version
            yield f"version {version}:"
        rule, path = reason.get("rule"), reason.get("path")
        origin = " ".join(str(word) for word in (rule, f"at {path}" if path else None) if word)
        yield f"  - {reason['message']}{f' ({origin})' if origin else ''}"


def pretty(schema_type: str, text: str) -> str:
    """For people: JSON on many lines; what is no JSON as it is."""
    if schema_type == "PROTOBUF":
        return text.rstrip("\n")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def print_raw(text: str) -> None:
    """Character for character, as it is stored; a terminal gets a line break after it."""
    sys.stdout.write(text)
    if sys.stdout.isatty():
        print()


def print_version(schema: Json, level: str | None) -> None:
    print(
        f"Subject {schema['subject']} version {schema['version']}: {type_of(schema)}, id {schema['id']}, "
        f"compatibility {level or 'unknown'}"
    )
    _print_rest(schema)


def print_schema_of_id(schema_id: int, schema: Json, users: Iterable[Json]) -> None:
    known = ", ".join(f"{user['subject']} version {user['version']}" for user in users)
    print(f"Id {schema_id}: {type_of(schema)}, {f'known as {known}' if known else 'of no subject'}")
    _print_rest(schema)


def _print_rest(schema: Json) -> None:
    for reference in schema.get("references") or []:
        print(f"  {reference['name']} is {reference['subject']} version {reference['version']}")
    for name in ("metadata", "ruleSet"):
        if schema.get(name):
            print(f"  {name} {json.dumps(schema[name], ensure_ascii=False)}")
    print(pretty(type_of(schema), str(schema["schema"])))


def print_levels() -> None:
    """The table of all levels: what each checks and allows, and who upgrades first."""
    print_table(
        ("LEVEL", "CHECKED", "AGAINST", "ALLOWED CHANGES", "UPGRADE FIRST"),
        [(row["level"], row["checked"], row["against"], row["allowed"], row["upgrade_first"]) for row in levels()],
    )


def levels() -> list[dict[str, str]]:
    return [
        {
            "level": level.name,
            "checked": checked,
            "against": "-" if level is Level.NONE else "all versions" if level.is_transitive else "the latest version",
            "allowed": allowed,
            "upgrade_first": first,
        }
        for level in Level
        for checked, allowed, first in [_RULES[level.new_reads_old, level.old_reads_new]]
    ]


_RULES: Final = {
    (False, False): ("nothing", "any change", "up to you"),
    (True, False): ("the new schema reads old data", "remove fields, add fields with a default", "consumers"),
    (False, True): ("the old schema reads new data", "add fields, remove fields with a default", "producers"),
    (True, True): ("each reads the other's data", "add and remove fields with a default", "either"),
}
"""By whether the new schema must read old data, and the old one new data."""
