"""The rules for arrays: of one schema for every item, or of one for each of the first ones and something after them.

What may come after the first items is the content model, open, closed or partially open as that of objects.
"""

from typing import Final

from stoker.registry.formats.json_schema.findings import Findings, compare_limit, limit_rules
from stoker.registry.formats.json_schema.nodes import Anything, Array, Node, Nothing
from stoker.registry.formats.json_schema.rules import Rule

_MAX_ITEMS: Final = limit_rules("maxItems", "MAX_ITEMS")
_MIN_ITEMS: Final = limit_rules("minItems", "MIN_ITEMS")
_MAX_CONTAINS: Final = limit_rules("maxContains", "MAX_CONTAINS")
_MIN_CONTAINS: Final = limit_rules("minContains", "MIN_CONTAINS")


def compare_arrays(findings: Findings, writer: Array, reader: Array) -> None:
    findings.compare(writer.every_item, reader.every_item, "items")
    _compare_first_items(findings, writer, reader)
    _compare_additional(findings, writer, reader)
    _compare_unevaluated(findings, writer, reader)
    compare_limit(findings, _MAX_ITEMS, writer.max_items, reader.max_items)
    compare_limit(findings, _MIN_ITEMS, writer.min_items, reader.min_items)
    if writer.has_unique_items is not reader.has_unique_items:
        rule = Rule.UNIQUE_ITEMS_REMOVED if writer.has_unique_items else Rule.UNIQUE_ITEMS_ADDED
        findings.add(rule, "uniqueItems")
    compare_limit(findings, _MAX_CONTAINS, writer.max_contains, reader.max_contains)
    compare_limit(findings, _MIN_CONTAINS, writer.min_contains, reader.min_contains)


def _compare_first_items(findings: Findings, writer: Array, reader: Array) -> None:
    shared = min(len(writer.first_items), len(reader.first_items))
    for index in range(shared):
        findings.compare(writer.first_items[index], reader.first_items[index], f"items/{index}")
    for index, written in enumerate(writer.first_items[shared:], shared):
        _item_removed(findings, index, written, reader)
    for index, read in enumerate(reader.first_items[shared:], shared):
        _item_added(findings, index, read, writer)


def _item_removed(findings: Findings, index: int, written: Node, reader: Array) -> None:
    place = f"items/{index}"
    covering = None if is_open(reader) else _covering_schema(reader)
    if is_open(reader):
        rule = Rule.ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL
    elif covering is not None:
        findings.compare(written, covering, place)
        if findings.accepts(written, covering):
            rule = Rule.ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        else:
            rule = Rule.ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    elif isinstance(written, Nothing):
        rule = Rule.ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL
    else:
        rule = Rule.ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL
    findings.add(rule, place, name=str(index))


def _item_added(findings: Findings, index: int, read: Node, writer: Array) -> None:
    place = f"items/{index}"
    covering = None if is_open(writer) else _covering_schema(writer)
    if is_open(writer):
        is_anything = isinstance(read, Anything)
        added = Rule.ITEM_ADDED_TO_OPEN_CONTENT_MODEL
        rule = Rule.ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL if is_anything else added
    elif covering is not None:
        findings.compare(covering, read, place)
        if findings.accepts(covering, read):
            rule = Rule.ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        else:
            rule = Rule.ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    else:
        rule = Rule.ITEM_ADDED_TO_CLOSED_CONTENT_MODEL
    findings.add(rule, place, name=str(index), reader=read.describe())


def _compare_additional(findings: Findings, writer: Array, reader: Array) -> None:
    keyword = "additionalItems"
    if writer.permits_additional is not reader.permits_additional:
        findings.add(
            Rule.ADDITIONAL_ITEMS_ADDED if reader.permits_additional else Rule.ADDITIONAL_ITEMS_REMOVED, keyword
        )
    elif writer.additional is None and reader.additional is not None:
        findings.add(Rule.ADDITIONAL_ITEMS_NARROWED, keyword, reader=reader.additional.describe())
    elif reader.additional is None and writer.additional is not None:
        findings.add(Rule.ADDITIONAL_ITEMS_EXTENDED, keyword, writer=writer.additional.describe())
    else:
        findings.compare(writer.additional, reader.additional, keyword)


def _compare_unevaluated(findings: Findings, writer: Array, reader: Array) -> None:
    written, read = writer.unevaluated, reader.unevaluated
    keyword = "unevaluatedItems"
    if written is None and read is None:
        return
    if isinstance(written, Nothing) is not isinstance(read, Nothing):
        added = isinstance(written, Nothing)
        findings.add(Rule.UNEVALUATED_ITEMS_ADDED if added else Rule.UNEVALUATED_ITEMS_REMOVED, keyword)
    elif read is None or (isinstance(read, Anything) and written is not None and not isinstance(written, Anything)):
        findings.add(Rule.UNEVALUATED_ITEMS_EXTENDED, keyword)
    elif written is None or (isinstance(written, Anything) and not isinstance(read, Anything)):
        findings.add(Rule.UNEVALUATED_ITEMS_NARROWED, keyword)
    else:
        findings.compare(written, read, keyword)


def is_open(schema: Array) -> bool:
    """Whether any item may come after the first ones."""
    return (
        schema.permits_additional
        and schema.additional is None
        and (schema.unevaluated is None or isinstance(schema.unevaluated, Anything))
    )


def _covering_schema(schema: Array) -> Node | None:
    """Of an item after the first ones, in a content model that is not open; None if none may come."""
    if schema.additional is not None:
        return schema.additional
    if schema.permits_additional and not isinstance(schema.unevaluated, Nothing | Anything):
        return schema.unevaluated
    return None
