"""The rules for objects: their properties, and what their content model lets through besides.

The content model is open if any other property may come along (`additionalProperties` is not there, or true), closed if
none may (false), and partially open if those may that match a schema or whose name matches a pattern.
"""

from typing import Final

from stoker.registry.formats.json_schema import patterns
from stoker.registry.formats.json_schema.findings import Findings, compare_limit, limit_rules
from stoker.registry.formats.json_schema.nodes import Anything, Node, Nothing, Object
from stoker.registry.formats.json_schema.rules import Rule

_MAX_PROPERTIES: Final = limit_rules("maxProperties", "MAX_PROPERTIES")
_MIN_PROPERTIES: Final = limit_rules("minProperties", "MIN_PROPERTIES")


def compare_objects(findings: Findings, writer: Object, reader: Object) -> None:
    _compare_required(findings, writer, reader)
    _compare_properties(findings, writer, reader)
    _compare_dependent_required(findings, writer, reader)
    _compare_dependent_schemas(findings, writer, reader)
    _compare_additional(findings, writer, reader)
    _compare_unevaluated(findings, writer, reader)
    compare_limit(findings, _MAX_PROPERTIES, writer.max_properties, reader.max_properties)
    compare_limit(findings, _MIN_PROPERTIES, writer.min_properties, reader.min_properties)


def _compare_required(findings: Findings, writer: Object, reader: Object) -> None:
    """Only of properties that both declare; those that one of them lacks are judged with the content model."""
    if writer.required == reader.required:
        return
    for name in writer.properties:
        if name not in reader.properties:
            continue
        if name in writer.required and name not in reader.required:
            findings.add(Rule.REQUIRED_ATTRIBUTE_REMOVED, "required", name, name=name)
        elif name in reader.required and name not in writer.required:
            has_default = reader.properties[name].has_default
            rule = Rule.REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED if has_default else Rule.REQUIRED_ATTRIBUTE_ADDED
            findings.add(rule, "required", name, name=name)


def _compare_properties(findings: Findings, writer: Object, reader: Object) -> None:
    for name, written in writer.properties.items():
        read = reader.properties.get(name)
        if read is not None:
            findings.compare(written, read, "properties", name)
        else:
            _property_removed(findings, name, written, reader)
    for name, read in reader.properties.items():
        if name not in writer.properties:
            _property_added(findings, name, read, writer, reader)


def _property_removed(findings: Findings, name: str, written: Node, reader: Object) -> None:
    place = ("properties", name)
    if is_open(reader):
        findings.add(Rule.PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL, *place, name=name)
        return
    covering = _covering_schema(reader, name)
    if covering is not None:
        findings.compare(written, covering, *place)
        if findings.accepts(written, covering):
            rule = Rule.PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        else:
            rule = Rule.PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    elif isinstance(written, Nothing):
        rule = Rule.PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL
    else:
        rule = Rule.PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL
    findings.add(rule, *place, name=name, reader=_content_model(reader))


def _property_added(findings: Findings, name: str, read: Node, writer: Object, reader: Object) -> None:
    if is_open(writer):
        _property_added_to_open(findings, name, read, writer, reader)
        return
    place = ("properties", name)
    covering = _covering_schema(writer, name)
    if covering is not None:
        findings.compare(covering, read, *place)
        if findings.accepts(covering, read):
            rule = Rule.PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        else:
            rule = Rule.PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        findings.add(rule, *place, name=name, writer=_content_model(writer))
    if name not in reader.required:
        rule = Rule.OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL
    elif read.has_default:
        rule = Rule.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL
    else:
        rule = Rule.REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL
    findings.add(rule, *place, name=name, writer=_content_model(writer))


def _property_added_to_open(findings: Findings, name: str, read: Node, writer: Object, reader: Object) -> None:
    if isinstance(read, Anything):
        rule = Rule.PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL
    elif name not in reader.required:
        rule = Rule.OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL
    elif read.has_default:
        rule = Rule.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL
    else:
        rule = Rule.REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL
    findings.add(rule, "properties", name, name=name, writer=_content_model(writer), reader=read.describe())


def _compare_dependent_required(findings: Findings, writer: Object, reader: Object) -> None:
    for name in writer.dependent_required | reader.dependent_required:
        written, read = writer.dependent_required.get(name), reader.dependent_required.get(name)
        if written == read:
            continue
        if read is None:
            rule = Rule.DEPENDENCY_ARRAY_REMOVED
        elif written is None:
            rule = Rule.DEPENDENCY_ARRAY_ADDED
        elif written < read:
            rule = Rule.DEPENDENCY_ARRAY_EXTENDED
        elif written > read:
            rule = Rule.DEPENDENCY_ARRAY_NARROWED
        else:
            rule = Rule.DEPENDENCY_ARRAY_CHANGED
        both = {"writer": ", ".join(sorted(written or ())), "reader": ", ".join(sorted(read or ()))}
        findings.add(rule, "dependencies", name, name=name, **both)


def _compare_dependent_schemas(findings: Findings, writer: Object, reader: Object) -> None:
    for name in writer.dependent_schemas | reader.dependent_schemas:
        written, read = writer.dependent_schemas.get(name), reader.dependent_schemas.get(name)
        if read is None:
            findings.add(Rule.DEPENDENCY_SCHEMA_REMOVED, "dependencies", name, name=name)
        elif written is None:
            findings.add(Rule.DEPENDENCY_SCHEMA_ADDED, "dependencies", name, name=name)
        else:
            findings.compare(written, read, "dependencies", name)


def _compare_additional(findings: Findings, writer: Object, reader: Object) -> None:
    keyword = "additionalProperties"
    if writer.permits_additional is not reader.permits_additional:
        added = reader.permits_additional
        findings.add(Rule.ADDITIONAL_PROPERTIES_ADDED if added else Rule.ADDITIONAL_PROPERTIES_REMOVED, keyword)
    elif writer.additional is None and reader.additional is not None:
        findings.add(Rule.ADDITIONAL_PROPERTIES_NARROWED, keyword, reader=reader.additional.describe())
    elif reader.additional is None and writer.additional is not None:
        findings.add(Rule.ADDITIONAL_PROPERTIES_EXTENDED, keyword, writer=writer.additional.describe())
    else:
        findings.compare(writer.additional, reader.additional, keyword)


def _compare_unevaluated(findings: Findings, writer: Object, reader: Object) -> None:
    written, read = writer.unevaluated, reader.unevaluated
    keyword = "unevaluatedProperties"
    if written is None and read is None:
        return
    if isinstance(written, Nothing) is not isinstance(read, Nothing):
        added = isinstance(written, Nothing)
        findings.add(Rule.UNEVALUATED_PROPERTIES_ADDED if added else Rule.UNEVALUATED_PROPERTIES_REMOVED, keyword)
    elif read is None or (isinstance(read, Anything) and written is not None and not isinstance(written, Anything)):
        findings.add(Rule.UNEVALUATED_PROPERTIES_EXTENDED, keyword)
    elif written is None or (isinstance(written, Anything) and not isinstance(read, Anything)):
        findings.add(Rule.UNEVALUATED_PROPERTIES_NARROWED, keyword)
    else:
        findings.compare(written, read, keyword)


def is_open(schema: Object) -> bool:
    """Whether any property may come along that is not declared."""
    return (
        schema.permits_additional
        and schema.additional is None
        and not schema.pattern_properties
        and (schema.unevaluated is None or isinstance(schema.unevaluated, Anything))
    )


def _covering_schema(schema: Object, name: str) -> Node | None:
    """Of a property that is not declared in a partially open content model; None if it may not be there."""
    for pattern, covering in schema.pattern_properties:
        if patterns.finds(pattern, name):
            return covering
    if schema.additional is not None:
        return schema.additional
    if schema.permits_additional and not isinstance(schema.unevaluated, Nothing | Anything):
        return schema.unevaluated
    return None


def _content_model(schema: Object) -> str:
    """In the words of its keywords."""
    if not schema.permits_additional:
        keyword = "additionalProperties is false"
    elif schema.additional is not None:
        keyword = f"additionalProperties is a schema ({schema.additional.describe()})"
    elif isinstance(schema.unevaluated, Nothing):
        keyword = "unevaluatedProperties is false"
    elif schema.unevaluated is not None and not isinstance(schema.unevaluated, Anything):
        keyword = f"unevaluatedProperties is a schema ({schema.unevaluated.describe()})"
    else:
        keyword = "additionalProperties is not false"
    return f"{keyword}, with patternProperties" if schema.pattern_properties else keyword
