"""`stoker schemas diff`: what changed, who can read whom, who upgrades first."""

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from stoker.cli.colours import Colour, painted
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.schema_files import read_schema
from stoker.cli.schema_output import pretty
from stoker.cli.schema_versions import existing_version, existing_versions
from stoker.registry.client import LATEST, RegistryClient, type_of
from stoker.registry.entities import Json
from stoker.registry.evolution import Change, Difference, Evolution, UpgradeOrder, evolution
from stoker.registry.formats import avro, json_schema, protobuf
from stoker.registry.formats.schema import Incompatibility, InvalidSchema, ParsedSchema

_COLOURS: Final = {Change.ADDED: Colour.GREEN, Change.REMOVED: Colour.RED, Change.CHANGED: Colour.YELLOW}
_FIRST: Final = {
    UpgradeOrder.ANY: "any",
    UpgradeOrder.CONSUMERS_FIRST: "consumers",
    UpgradeOrder.PRODUCERS_FIRST: "producers",
    UpgradeOrder.NEITHER: "neither",
}


class Side(NamedTuple):
    """One of the two schemas. `title` is how it is spoken of: `version 2`, or the name of a file."""

    title: str
    schema: Json
    parsed: ParsedSchema


class Sides:
    """Finds the two schemas that the arguments mean."""

    def __init__(self, registry: RegistryClient, subject: str, type_: str | None, references: Sequence[str]) -> None:
        self._registry = registry
        self._subject = subject
        self._type = type_
        self._references = references

    def found(self, old: str | None, new: str | None) -> tuple[Side, Side]:
        """Without arguments the two latest versions; of one, that with the latest. Raises CommandFailed, WrongUsage."""
        if old is None:
            versions = existing_versions(self._registry, self._subject)
            if len(versions) < 2:
                raise CommandFailed(
                    f"subject {self._subject!r} has one version: name a file to compare it with, or another version"
                )
            return self._version(str(versions[-2])), self._version(str(versions[-1]))
        if new is None and not _is_version(old):
            return self._version(LATEST), self._file(Path(old))
        if not _is_version(old):
            wrong_usage(f"{old} is no version: a file comes after the version that it is compared with")
        new = LATEST if new is None else new
        return self._version(old), self._version(new) if _is_version(new) else self._file(Path(new))

    def _version(self, version: str) -> Side:
        schema = existing_version(self._registry, self._subject, version)
        return Side(f"version {schema['version']}", schema, self._parsed(schema, is_new=False))

    def _file(self, path: Path) -> Side:
        schema = read_schema(path, self._type, self._references)
        try:
            return Side(str(path), schema, self._parsed(schema, is_new=True))
        except InvalidSchema as error:
            raise CommandFailed(f"{path} is no schema of type {type_of(schema)}: {error}") from error

    def _parsed(self, schema: Json, *, is_new: bool) -> ParsedSchema:
        text, dependencies = str(schema["schema"]), self._registry.dependencies(schema.get("references") or [])
        match type_of(schema):
            case "AVRO":
                return avro.parse(text, dependencies, is_new=is_new)
            case "PROTOBUF":
                return protobuf.parse(text, dependencies)
            case "JSON":
                return json_schema.parse(text, dependencies)
        raise CommandFailed(f"a schema of type {type_of(schema)} cannot be compared here")


def _is_version(text: str) -> bool:
    return text.isdecimal() or text.lower() == LATEST


def compare(old: Side, new: Side) -> Evolution:
    return evolution(old.parsed, new.parsed)


def as_json(subject: str, old: Side, new: Side, found: Evolution) -> dict[str, Any]:
    return {
        "subject": subject,
        "old": old.schema,
        "new": new.schema,
        "differences": [each._asdict() | {"change": each.change.name.lower()} for each in found.differences],
        "new_reads_old": not found.new_reads_old,
        "old_reads_new": not found.old_reads_new,
        "reasons": {
            "new_reads_old": [reason._asdict() for reason in found.new_reads_old],
            "old_reads_new": [reason._asdict() for reason in found.old_reads_new],
        },
        "upgrade_first": _FIRST[found.order],
        "levels": [level.name for level in found.levels],
    }


def print_diff(subject: str, old: Side, new: Side, found: Evolution) -> None:
    print(painted(f"{subject}: {old.title} -> {new.title}", Colour.BOLD, sys.stdout))
    if found.differences:
        _print_differences(found.differences)
    else:
        _print_lines(old, new)
    print()
    _print_direction("The new schema reads old data", found.new_reads_old)
    _print_direction("The old schema reads new data", found.old_reads_new)
    print()
    print(painted(found.order.value, Colour.BOLD, sys.stdout))
    names = [level.name for level in found.levels if not level.is_transitive]
    print(f"Levels that allow this step: {', '.join(names)}.")


def _print_differences(differences: Sequence[Difference]) -> None:
    group = None
    width = min(40, max(len(each.name) for each in differences))
    for each in differences:
        if each.group != group:
            group = each.group
            if each.name:
                print(f"\n  {each.group}")
        colour = _COLOURS[each.change]
        if not each.name:
            print("\n" + painted(f"{each.change.value} {each.group}", colour, sys.stdout))
            continue
        if each.old == each.new or each.old is None or each.new is None:
            text = each.old or each.new or ""
        else:
            text = f"{each.old}  ->  {each.new}"
        print(painted(f"{each.change.value}   {each.name.ljust(width)}  {text}".rstrip(), colour, sys.stdout))


def _print_lines(old: Side, new: Side) -> None:
    """For schemas that say the same of the data, and differ in comments, order or spelling."""
    before, after = (pretty(type_of(side.schema), side.parsed.text).splitlines() for side in (old, new))
    colours = {"+": Colour.GREEN, "-": Colour.RED}
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    print("\n  nothing that readers feel" + (":" if lines else ""))
    for line in lines:
        print(painted(line, colours[line[0]], sys.stdout) if line[0] in colours else line)


def _print_direction(question: str, reasons: Sequence[Incompatibility]) -> None:
    answer = painted("no", Colour.RED, sys.stdout) if reasons else painted("yes", Colour.GREEN, sys.stdout)
    print(f"{question}: {answer}")
    for rule, path, message in reasons:
        print(f"  - {message} ({rule} at {path})")
