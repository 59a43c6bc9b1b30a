"""Functions whose Spark text depends on what their arguments are: their types, their values, their lambdas."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import Final

from sqlglot import exp

from stoker.streams.sql.calls import Build, Call, Variable, filled
from stoker.streams.sql.inference import INTEGRAL
from stoker.streams.sql.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    Array,
    Decimal,
    Map,
    SqlType,
    to_spark_type,
)

_WIDE: Final = "DECIMAL(38, 18)"
"""A double in digits, as people read it; one that does not fit has no fraction that counts."""
_ENCODINGS: Final = ("hex", "utf8", "ascii", "base64")
_UNITS: Final = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
_QUOTED: Final = re.compile(r"'[^']*'")
_ZONE_LETTERS: Final = frozenset("VzOXxZ")
_NO_LONGER_FRACTIONAL: Final = "9.0E15"


def quoted(text: str) -> str:
    """As a string of Spark's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def whole(function: str) -> Build:
    """CEIL and FLOOR, which keep the type in ksqlDB; Spark makes a BIGINT of a double."""

    def build(call: Call) -> str:
        text, kind = call.texts[0], call.types[0]
        if kind in INTEGRAL:
            return text
        if kind == DOUBLE:
            rounded = f"CAST({function}({text}) AS DOUBLE)"
            return f"CASE WHEN abs({text}) < {_NO_LONGER_FRACTIONAL} THEN {rounded} ELSE {text} END"
        if isinstance(kind, Decimal):
            return f"try_cast({function}({text}) AS {to_spark_type(kind)})"
        return f"{function}({text})"

    return build


def rounded(call: Call) -> str:
    """Half is rounded up, also below zero: -2.5 becomes -2."""
    digits = call.integer(1, "the number of digits") if len(call.arguments) > 1 else 0
    half = format(Number(5).scaleb(-digits - 1), "f")
    return _cut(call, digits, lambda text: f"floor({text} + {half}, {digits})")


def truncated(call: Call) -> str:
    digits = call.integer(1, "the number of digits") if len(call.arguments) > 1 else 0
    return _cut(
        call,
        digits,
        lambda text: f"CASE WHEN {text} < 0 THEN ceil({text}, {digits}) ELSE floor({text}, {digits}) END",
    )


def _cut(call: Call, digits: int, cut: Callable[[str], str]) -> str:
    text, kind = call.texts[0], call.types[0]
    if abs(digits) > 18:
        call.refuse("the number of digits must be from -18 to 18", 1)
    if kind in INTEGRAL and digits >= 0:
        return f"CAST({text} AS BIGINT)" if len(call.arguments) == 1 else text
    if isinstance(kind, Decimal):
        to = Decimal(max(1, kind.precision - kind.scale + 1), 0) if len(call.arguments) == 1 else kind
        return f"try_cast({cut(text)} AS {to_spark_type(to)})"
    found = cut(f"try_cast({text} AS {_WIDE})")
    if len(call.arguments) == 1:
        return f"try_cast({found} AS BIGINT)"
    return f"coalesce(CAST({found} AS DOUBLE), {text})"


def type_when_rounded(call: Call) -> SqlType | None:
    kind = call.types[0]
    if isinstance(kind, Decimal):
        return None
    return BIGINT if len(call.arguments) == 1 else kind


def concatenated(call: Call) -> str:
    """Nulls are left out."""
    if BYTES in call.types:
        pieces = [f"coalesce({text}, X'')" for text in call.texts]
        return f"concat({', '.join(pieces)})"
    return f"concat_ws('', {', '.join(call.texts)})"


def substring(call: Call) -> str:
    """From the end where the position is negative, but never from before the beginning."""
    text, position, *length = call.texts
    first = call.arguments[1]
    if not (isinstance(first, exp.Literal) and first.name.isdigit()):
        position = f"CASE WHEN {position} < 0 THEN greatest({position}, -length({text})) ELSE {position} END"
    return f"substring({', '.join([text, position, *length])})"


def split(call: Call) -> str:
    text, delimiter = call.texts
    if isinstance(call.arguments[1], exp.Literal):
        return f"split({text}, {quoted(_as_pattern(call.string(1, 'the delimiter')))}, -1)"
    return f"split({text}, CASE WHEN {delimiter} = '' THEN '' ELSE concat('\\\\Q', {delimiter}, '\\\\E') END, -1)"


def _as_pattern(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_ ]", lambda each: f"\\{each[0]}" if each[0].isascii() else each[0], text)


def encoded(call: Call) -> str:
    """ENCODE(text, from, to)."""
    return _written(_read(call.texts[0], _encoding(call, 1)), _encoding(call, 2))


def from_bytes(call: Call) -> str:
    return _written(call.texts[0], _encoding(call, 1))


def to_bytes(call: Call) -> str:
    return _read(call.texts[0], _encoding(call, 1))


def _encoding(call: Call, number: int) -> str:
    found = call.string(number, "the encoding").lower()
    if found not in _ENCODINGS:
        call.refuse(f"the encoding must be {', '.join(_ENCODINGS[:-1])} or {_ENCODINGS[-1]}", number)
    return found


def _read(text: str, encoding: str) -> str:
    match encoding:
        case "hex":
            digits = f"regexp_replace({text}, '^0x|^[xX]\\'|\\'$', '')"
            return f"try_to_binary({digits}, 'hex')"
        case "base64":
            return f"try_to_binary({text}, 'base64')"
        case "ascii":
            return f"encode(regexp_replace({text}, '[^\\\\x00-\\\\x7F]', '?'), 'UTF-8')"
    return f"encode({text}, 'UTF-8')"


def _written(text: str, encoding: str) -> str:
    match encoding:
        case "hex":
            return f"lower(hex({text}))"
        case "base64":
            return f"base64({text})"
        case "ascii":
            return f"regexp_replace(make_valid_utf8(CAST({text} AS STRING)), '[^\\\\x00-\\\\x7F]', '\\uFFFD')"
    return f"make_valid_utf8(CAST({text} AS STRING))"


def added(template: str, *, sign: int = 1) -> Build:
    """DATEADD(unit, number, date) and its like: `{0}` is the unit, `{1}` the number of it, `{2}` what it is added to."""

    def build(call: Call) -> str:
        unit = call.arguments[0]
        name = unit.name.removesuffix("S") if isinstance(unit, exp.Var) else ""
        if name not in _UNITS:
            call.refuse(f"the unit must be {', '.join(f'{each}S' for each in _UNITS)}", 0)
        number = call.texts[1] if sign > 0 else f"(-{call.texts[1]})"
        return filled(template, [name, number, call.texts[2]])

    return build


def formatted_timestamp(template: str) -> Build:
    """`{0}` is made a timestamp by the template; a third argument is the time zone."""

    def build(call: Call) -> str:
        timestamp = filled(template, call.texts)
        if len(call.arguments) > 2:
            timestamp = f"from_utc_timestamp({timestamp}, {call.texts[2]})"
        return f"date_format({timestamp}, {call.texts[1]})"

    return build


def parsed_timestamp(template: str) -> Build:
    """The template says what becomes of the timestamp. A zone in the text is stronger than the third argument."""

    def build(call: Call) -> str:
        timestamp = f"try_to_timestamp({call.texts[0]}, {call.texts[1]})"
        if len(call.arguments) > 2 and not _has_zone(call.arguments[1]):
            timestamp = f"to_utc_timestamp({timestamp}, {call.texts[2]})"
        return filled(template, [timestamp])

    return build


def _has_zone(pattern: exp.Expr) -> bool:
    return isinstance(pattern, exp.Literal) and not _ZONE_LETTERS.isdisjoint(_QUOTED.sub("", pattern.name))


def json_concatenated(call: Call) -> str:
    """Objects become one object; otherwise what is no array becomes an array of one, and they are put together."""
    values = [f"try_parse_json({text})" for text in call.texts]
    objects = [f"try_variant_get({value}, '$', 'map<string, variant>')" for value in values]
    arrays = [f"coalesce(try_variant_get({value}, '$', 'array<variant>'), array({value}))" for value in values]
    readable = " AND ".join(f"{value} IS NOT NULL" for value in values)
    joined = f"coalesce(to_json(map_concat({', '.join(objects)})), to_json(concat({', '.join(arrays)})))"
    return f"CASE WHEN {readable} THEN {joined} END"


def transformed(call: Call) -> str:
    """TRANSFORM(array, x => ...), or of a map with a lambda for its keys and one for its values."""
    if len(call.arguments) == 2:
        function = call.lambda_of(1, 1)
        return f"transform({call.texts[0]}, {_lambda(call, function, [_element(call)])})"
    keys, values = (_of_entry(call, call.lambda_of(number, 2)) for number in (1, 2))
    return f"map_from_entries(transform(map_entries({call.texts[0]}), __e -> named_struct('k', {keys}, 'v', {values})))"


def filtered(call: Call) -> str:
    """FILTER(array, x => ...) or FILTER(map, (k, v) => ...)."""
    function = call.lambda_of(1, 1, 2)
    if len(function.expressions) == 1:
        return f"filter({call.texts[0]}, {_lambda(call, function, [_element(call)])})"
    return f"map_filter({call.texts[0]}, {_lambda(call, function, _key_and_value(call))})"


def reduced(call: Call) -> str:
    """REDUCE(array, state, (s, x) => ...) or REDUCE(map, state, (s, k, v) => ...); Spark wants the state's own type back."""
    function = call.lambda_of(2, 2, 3)
    state, *names = (each.name for each in function.expressions)
    scope = {state: Variable(_variable(state), call.types[1])}
    if len(names) == 1:
        item, items = _variable(names[0]), call.texts[0]
        scope[names[0]] = Variable(item, _element(call))
    else:
        item, items = "__e", f"map_entries({call.texts[0]})"
        scope.update(_entry_scope(call, names))
    body = call.translate(function.this, scope)
    if call.types[1] is not None:
        body = f"try_cast({body} AS {to_spark_type(call.types[1])})"
    return f"aggregate({items}, {call.texts[1]}, ({_variable(state)}, {item}) -> {body})"


def _lambda(call: Call, function: exp.Lambda, types: Sequence[SqlType | None]) -> str:
    names = [each.name for each in function.expressions]
    scope = {name: Variable(_variable(name), kind) for name, kind in zip(names, types, strict=True)}
    parameters = ", ".join(each.text for each in scope.values())
    return f"{parameters if len(names) == 1 else f'({parameters})'} -> {call.translate(function.this, scope)}"


def _of_entry(call: Call, function: exp.Lambda) -> str:
    """The body of a lambda of key and value, for an entry `__e` of a map."""
    return call.translate(function.this, _entry_scope(call, [each.name for each in function.expressions]))


def _entry_scope(call: Call, names: Sequence[str]) -> dict[str, Variable]:
    key, value = _key_and_value(call)
    return {names[0]: Variable("__e.key", key), names[1]: Variable("__e.value", value)}


def _key_and_value(call: Call) -> tuple[SqlType | None, SqlType | None]:
    kind = call.types[0]
    return (kind.key, kind.value) if isinstance(kind, Map) else (None, None)


def _element(call: Call) -> SqlType | None:
    kind = call.types[0]
    return kind.element if isinstance(kind, Array) else None


def _variable(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def type_when_transformed(call: Call) -> SqlType | None:
    if len(call.arguments) != 2 or not isinstance(call.arguments[1], exp.Lambda):
        return None
    function = call.arguments[1]
    name = function.expressions[0].name
    element = call.infer(function.this, {name: Variable(_variable(name), _element(call))})
    return Array(element) if element else None
