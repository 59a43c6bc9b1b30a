"""A value of one type as a value of another, in Spark SQL: fields are matched by name, whose case does not matter."""

from typing import Final

from stoker.streams.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    to_spark_type,
)

_WIDER: Final = {(INTEGER, BIGINT), (INTEGER, DOUBLE), (BIGINT, DOUBLE)}


def quoted_name(name: str) -> str:
    """As Spark writes a name."""
    return f"`{name.replace('`', '``')}`"


def in_upper_case(kind: SqlType) -> SqlType:
    """The type with the names of its fields as SQL has them."""
    match kind:
        case Struct(fields):
            return Struct(tuple(Field(each.name.upper(), in_upper_case(each.type)) for each in fields))
        case Array(element):
            return Array(in_upper_case(element))
        case Map(key, value):
            return Map(in_upper_case(key), in_upper_case(value))
    return kind


def field_named(kind: Struct, name: str) -> Field | None:
    """The one of this very name, else one that is spelled otherwise."""
    exact = next((each for each in kind.fields if each.name == name), None)
    return exact or next((each for each in kind.fields if each.name.upper() == name.upper()), None)


def fits(have: SqlType, want: SqlType) -> bool:
    """Whether each value of a type is one of the other, after a conversion that loses nothing."""
    if have == want or (have, want) in _WIDER:
        return True
    match have, want:
        case Struct(), Struct(fields):
            found = [(field_named(have, each.name), each) for each in fields]
            return all(inner is not None and fits(inner.type, each.type) for inner, each in found)
        case Array(element), Array(other):
            return fits(element, other)
        case Map(key, value), Map(other_key, other_value):
            return fits(key, other_key) and fits(value, other_value)
        case Decimal(precision, scale), Decimal(other, other_scale):
            return scale <= other_scale and precision - scale <= other - other_scale
    return (have, want) == (TIMESTAMP, BIGINT)


def converted(text: str, have: SqlType, want: SqlType, depth: int = 0) -> str:
    """The Spark SQL of a value as another type. What the wanted struct has more is null."""
    if have == want:
        return text
    variable = f"__c{depth}"
    match have, want:
        case Struct(), Struct(fields):
            parts = []
            for each in fields:
                found = field_named(have, each.name)
                inner = (
                    f"CAST(NULL AS {to_spark_type(each.type)})"
                    if found is None
                    else converted(f"{text}.{quoted_name(found.name)}", found.type, each.type, depth)
                )
                parts.append(f"'{each.name}', {inner}")
            return f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case Array(element), Array(other):
            return f"transform({text}, {variable} -> {converted(variable, element, other, depth + 1)})"
        case Map(_, value), Map(_, other):
            changed = converted(variable, value, other, depth + 1)
            return f"transform_values({text}, (__k{depth}, {variable}) -> {changed})"
    if (have, want) == (TIMESTAMP, BIGINT):
        return f"unix_millis({text})"
    if (have, want) == (BIGINT, TIMESTAMP):
        return f"timestamp_millis({text})"
    return f"CAST({text} AS {to_spark_type(want)})"
