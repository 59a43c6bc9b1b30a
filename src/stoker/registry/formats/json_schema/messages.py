"""The rules in words: which property, what each side has, and where the content model decides, that it does."""

from typing import Final

from stoker.registry.formats.json_schema.comparison import Difference
from stoker.registry.formats.json_schema.rules import Rule
from stoker.registry.formats.schema import Incompatibility

_LIMIT_ADDED: Final = "{place} has {keyword} {reader} in the reader's schema and no {keyword} in the writer's"
_LIMIT_RAISED: Final = "{place} has {keyword} {reader} in the reader's schema, more than {writer} in the writer's"
_LIMIT_LOWERED: Final = "{place} has {keyword} {reader} in the reader's schema, less than {writer} in the writer's"
_KEYWORD_ADDED: Final = "{place} has {keyword} in the reader's schema and not in the writer's"
_VALUE_CHANGED: Final = "{place} has {keyword} {reader} in the reader's schema and {writer} in the writer's"
_OPEN: Final = (
    "and the writer's content model is open ({writer}), so that data may already hold any other value under this name"
)
_CLOSE_FIRST: Final = "; close it first (additionalProperties: false), or let the property be any value ({{}})"

_SENTENCES: Final[dict[Rule, str]] = {
    Rule.SCHEMA_ADDED: "{place} must be {reader} for the reader; the writer's schema says nothing about it",
    Rule.TYPE_NARROWED: "{place} is {reader} in the reader's schema, and any {writer} in the writer's",
    Rule.TYPE_CHANGED: "{place} is {reader} in the reader's schema and {writer} in the writer's",
    Rule.PATTERN_ADDED: _LIMIT_ADDED,
    Rule.PATTERN_CHANGED: _VALUE_CHANGED,
    Rule.MULTIPLE_OF_ADDED: _LIMIT_ADDED,
    Rule.MULTIPLE_OF_EXPANDED: _VALUE_CHANGED,
    Rule.MULTIPLE_OF_CHANGED: _VALUE_CHANGED,
    Rule.REQUIRED_ATTRIBUTE_ADDED: (
        "property {name!r} is required in the reader's schema and optional in the writer's, and has no default"
    ),
    Rule.ADDITIONAL_PROPERTIES_REMOVED: (
        "{place} has a closed content model in the reader's schema (additionalProperties is false); "
        "the writer's lets other properties through"
    ),
    Rule.ADDITIONAL_PROPERTIES_NARROWED: (
        "{place} has a partially open content model in the reader's schema (additionalProperties is a schema: {reader}); "
        "the writer's is open"
    ),
    Rule.UNEVALUATED_PROPERTIES_REMOVED: (
        "{place} has a closed content model in the reader's schema (unevaluatedProperties is false); "
        "the writer's lets other properties through"
    ),
    Rule.UNEVALUATED_PROPERTIES_NARROWED: (
        "{place} has a partially open content model in the reader's schema (unevaluatedProperties is a schema); "
        "the writer's is open"
    ),
    Rule.DEPENDENCY_ARRAY_ADDED: (
        "with property {name!r}, the reader's schema also requires {reader}; the writer's requires nothing"
    ),
    Rule.DEPENDENCY_ARRAY_EXTENDED: (
        "with property {name!r}, the reader's schema also requires {reader}; the writer's only {writer}"
    ),
    Rule.DEPENDENCY_ARRAY_CHANGED: (
        "with property {name!r}, the reader's schema also requires {reader}; the writer's, {writer}"
    ),
    Rule.DEPENDENCY_SCHEMA_ADDED: "with property {name!r}, the reader's schema holds the object to one more schema",
    Rule.REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL: (
        "property {name!r} is required in the reader's schema and not declared in the writer's, "
        "whose content model is open ({writer})"
    ),
    Rule.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL: (
        "property {name!r} ({reader}, with a default) is in the reader's schema only, " + _OPEN + _CLOSE_FIRST
    ),
    Rule.OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL: (
        "optional property {name!r} ({reader}) is in the reader's schema only, " + _OPEN + _CLOSE_FIRST
    ),
    Rule.REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL: (
        "property {name!r} is required in the reader's schema, has no default, and is not declared in the writer's ({writer})"
    ),
    Rule.PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: (
        "property {name!r} is in the reader's schema only, and does not accept all that the writer's partially open "
        "content model lets through under this name ({writer})"
    ),
    Rule.PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL: (
        "property {name!r} is in the writer's schema only, and the reader's content model is closed to it ({reader})"
    ),
    Rule.PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: (
        "property {name!r} is in the writer's schema only, and the reader's partially open content model does not "
        "accept all its values ({reader})"
    ),
    Rule.UNIQUE_ITEMS_ADDED: "the items of {place} must be unique for the reader, and need not be for the writer",
    Rule.ADDITIONAL_ITEMS_REMOVED: "{place} has no further items for the reader; the writer's schema lets more through",
    Rule.ADDITIONAL_ITEMS_NARROWED: "the further items of {place} must be {reader} for the reader; the writer's may be any",
    Rule.UNEVALUATED_ITEMS_REMOVED: (
        "{place} has no further items for the reader (unevaluatedItems is false); the writer's schema lets more through"
    ),
    Rule.UNEVALUATED_ITEMS_NARROWED: (
        "the further items of {place} must match unevaluatedItems for the reader; the writer's may be any"
    ),
    Rule.ITEM_ADDED_TO_OPEN_CONTENT_MODEL: (
        "item {name} ({reader}) is in the reader's schema only, and the writer's content model is open: it may be any value"
    ),
    Rule.ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: (
        "item {name} ({reader}) is in the reader's schema only, and does not accept all that the writer's partially open "
        "content model lets through there"
    ),
    Rule.ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL: (
        "item {name} is in the writer's schema only, and the reader's content model is closed: it has no further items"
    ),
    Rule.ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: (
        "item {name} is in the writer's schema only, and the reader's partially open content model does not accept all "
        "its values"
    ),
    Rule.ENUM_ARRAY_NARROWED: "{place} lacks values in the reader's schema, {reader}, that are in the writer's, {writer}",
    Rule.ENUM_ARRAY_CHANGED: _VALUE_CHANGED,
    Rule.COMBINED_TYPE_CHANGED: "{place} is {reader} in the reader's schema and {writer} in the writer's",
    Rule.COMBINED_TYPE_SUBSCHEMAS_CHANGED: (
        "{place}: the alternatives cannot be paired off, the reader's ({reader}) with the writer's ({writer})"
    ),
    Rule.PRODUCT_TYPE_EXTENDED: "{place} must match more in the reader's schema, {reader}, than in the writer's, {writer}",
    Rule.SUM_TYPE_NARROWED: "{place} has fewer alternatives in the reader's schema, {reader}, than in the writer's, {writer}",
    Rule.NOT_TYPE_EXTENDED: "{place} must not be {reader} for the reader, which refuses more than the writer's ({writer})",
}
_LIMIT_SENTENCES: Final = {"ADDED": _LIMIT_ADDED, "INCREASED": _LIMIT_RAISED, "DECREASED": _LIMIT_LOWERED}


def incompatibility(difference: Difference) -> Incompatibility:
    path, finding = difference
    sentence = _SENTENCES.get(finding.rule) or _LIMIT_SENTENCES[finding.rule.rsplit("_", 1)[1]]
    message = sentence.format(
        place=_place(path[: len(path) - len(finding.path)]),
        keyword=finding.path[-1] if finding.path else "",
        name=finding.name,
        writer=finding.writer,
        reader=finding.reader,
    )
    return Incompatibility(finding.rule.value, "#/" + "/".join(path), message)


def too_intricate() -> Incompatibility:
    """In the place of a verdict that would take too long."""
    rule = Rule.COMBINED_TYPE_SUBSCHEMAS_CHANGED
    message = (
        "the two schemas have too many alternatives that differ: comparing them was given up. Change them in smaller "
        "steps, or set the compatibility level to NONE for this version"
    )
    return Incompatibility(rule.value, "#/", message)


def _place(path: tuple[str, ...]) -> str:
    """The property that the path leads to, by the names of properties alone."""
    names = ""
    parts = iter(path)
    for part in parts:
        if part in ("properties", "dependencies", "required"):
            names += f".{next(parts, '')}"
        elif part.startswith("items/"):
            names += f"[{part.removeprefix('items/')}]"
        elif part in ("items", "additionalItems", "unevaluatedItems"):
            names += "[]"
        elif part in ("additionalProperties", "unevaluatedProperties"):
            names += ".*"
    return f"property {names.removeprefix('.')!r}" if names else "the value"
