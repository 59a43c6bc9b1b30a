"""The rules for strings, numbers and values that are listed."""

from decimal import Decimal
from fractions import Fraction
from typing import Final

from stoker.registry.formats.json_schema.findings import Findings, compare_limit, limit_rules
from stoker.registry.formats.json_schema.json_text import Json, write
from stoker.registry.formats.json_schema.nodes import Constant, Enumeration, MetaSchema, Number, String, shortened
from stoker.registry.formats.json_schema.rules import Rule

_MAX_LENGTH: Final = limit_rules("maxLength", "MAX_LENGTH")
_MIN_LENGTH: Final = limit_rules("minLength", "MIN_LENGTH")
_MAXIMUM: Final = limit_rules("maximum", "MAXIMUM")
_MINIMUM: Final = limit_rules("minimum", "MINIMUM")
_EXCLUSIVE_MAXIMUM: Final = limit_rules("exclusiveMaximum", "EXCLUSIVE_MAXIMUM")
_EXCLUSIVE_MINIMUM: Final = limit_rules("exclusiveMinimum", "EXCLUSIVE_MINIMUM")
_MAX_MAGNITUDE: Final = 400
"""Powers of ten up to which two multiples are divided; a double has 308."""


def compare_strings(findings: Findings, writer: String, reader: String) -> None:
    compare_limit(findings, _MAX_LENGTH, writer.max_length, reader.max_length)
    compare_limit(findings, _MIN_LENGTH, writer.min_length, reader.min_length)
    _compare_patterns(findings, writer.pattern, reader.pattern)


def compare_numbers(findings: Findings, writer: Number, reader: Number) -> None:
    compare_limit(findings, _MAXIMUM, writer.maximum, reader.maximum)
    compare_limit(findings, _MINIMUM, writer.minimum, reader.minimum)
    compare_limit(findings, _EXCLUSIVE_MAXIMUM, writer.exclusive_maximum, reader.exclusive_maximum)
    compare_limit(findings, _EXCLUSIVE_MINIMUM, writer.exclusive_minimum, reader.exclusive_minimum)
    _compare_multiples(findings, writer.multiple_of, reader.multiple_of)
    if writer.is_integer is not reader.is_integer:
        rule = Rule.TYPE_EXTENDED if writer.is_integer else Rule.TYPE_NARROWED
        findings.add(rule, writer=writer.describe(), reader=reader.describe())


def compare_enumerations(findings: Findings, writer: Enumeration, reader: Enumeration) -> None:
    if writer.values == reader.values:
        return
    if writer.values < reader.values:
        rule = Rule.ENUM_ARRAY_EXTENDED
    elif writer.values > reader.values:
        rule = Rule.ENUM_ARRAY_NARROWED
    else:
        rule = Rule.ENUM_ARRAY_CHANGED
    findings.add(rule, "enum", writer=shortened(write(writer.raw)), reader=shortened(write(reader.raw)))


def compare_constants(findings: Findings, writer: Constant, reader: Constant) -> None:
    if writer.value != reader.value:
        both = {"writer": shortened(write(writer.raw)), "reader": shortened(write(reader.raw))}
        findings.add(Rule.ENUM_ARRAY_CHANGED, "const", **both)


def compare_meta_schemas(findings: Findings, writer: MetaSchema, reader: MetaSchema) -> None:
    if writer.uri != reader.uri:
        findings.add(Rule.TYPE_CHANGED, writer=writer.describe(), reader=reader.describe())


def _compare_patterns(findings: Findings, writer: str | None, reader: str | None) -> None:
    if writer == reader:
        return
    if writer is None:
        rule = Rule.PATTERN_ADDED
    elif reader is None:
        rule = Rule.PATTERN_REMOVED
    else:
        rule = Rule.PATTERN_CHANGED
    findings.add(rule, "pattern", writer=writer, reader=reader)


def _compare_multiples(findings: Findings, writer: Json, reader: Json) -> None:
    if writer == reader:
        return
    if writer is None:
        rule = Rule.MULTIPLE_OF_ADDED
    elif reader is None:
        rule = Rule.MULTIPLE_OF_REMOVED
    elif _divides(writer, reader):
        rule = Rule.MULTIPLE_OF_EXPANDED
    elif _divides(reader, writer):
        rule = Rule.MULTIPLE_OF_REDUCED
    else:
        rule = Rule.MULTIPLE_OF_CHANGED
    findings.add(rule, "multipleOf", writer=writer, reader=reader)


def _divides(divisor: Json, number: Json) -> bool:
    if max(abs(Decimal(divisor).adjusted()), abs(Decimal(number).adjusted())) > _MAX_MAGNITUDE:
        return False
    return (Fraction(number) / Fraction(divisor)).denominator == 1
