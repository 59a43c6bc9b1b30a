"""ksqlDB's scalar functions and table functions, and what they are in Spark. The aggregates are in aggregate_functions.py.

A value that cannot be computed is null, as in ksqlDB, and does not stop a query, whether `spark.sql.ansi.enabled` or not.
The session has to be set as SPARK_SETTINGS says. Variables of lambdas that begin with two underscores are ours.
"""

from collections.abc import Mapping
from typing import Final

from stoker.streams.sql import special_functions as special
from stoker.streams.sql.aggregate_functions import AGGREGATES
from stoker.streams.sql.calls import Build, Call, Function, FunctionKind, Returns
from stoker.streams.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Map,
    SqlType,
)

SPARK_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.timeType.enabled": "true",
}
"""ksqlDB's timestamps are UTC's, the last of two entries of a map with one key counts, and there is a type TIME."""


def _first(call: Call) -> SqlType | None:
    return call.types[0]


def _last(call: Call) -> SqlType | None:
    return next((kind for kind in call.types if kind), None)


def _element(call: Call) -> SqlType | None:
    kind = call.types[0]
    return kind.element if isinstance(kind, Array) else None


def _keys(call: Call) -> SqlType | None:
    kind = call.types[0]
    return Array(kind.key) if isinstance(kind, Map) else None


def _values(call: Call) -> SqlType | None:
    kind = call.types[0]
    return Array(kind.value) if isinstance(kind, Map) else None


def _of(
    name: str,
    arguments: str,
    spark: str | tuple[str, ...],
    returns: Returns,
    description: str,
) -> Function:
    return Function(name=name, arguments=arguments, spark=spark, returns=returns, description=description)


def _built(
    name: str, arguments: str, spark: Build, counts: tuple[int, int | None], returns: Returns, description: str
) -> Function:
    return Function(
        name=name, arguments=arguments, spark=spark, counts=counts, returns=returns, description=description
    )


def _table(name: str, arguments: str, spark: str, description: str) -> Function:
    return Function(
        name=name, arguments=arguments, spark=spark, returns=_element, description=description, kind=FunctionKind.TABLE
    )


def _masked(template: str, first: int) -> tuple[str, str]:
    """`<text>` is what is masked: with the usual characters, or with those that are given from argument `first` on."""
    start, text, end = template.replace(">", "<").split("<")
    given = ", ".join(f"{{{first + number}}}" for number in range(4))
    return f"{start}mask({text}, 'X', 'x', 'n', '-'){end}", f"{start}mask({text}, {given}){end}"


_VARIANT_ARRAY: Final = "try_variant_get(try_parse_json({0}), '$', 'array<variant>')"
_VARIANT_MAP: Final = "try_variant_get(try_parse_json({0}), '$', 'map<string, variant>')"
_JSON_OPTIONS: Final = "map('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSS', 'ignoreNullFields', 'false')"
_JSON: Final = f"regexp_replace(to_json(array({{0}}), {_JSON_OPTIONS}), '^\\\\[|\\\\]$', '')"
_ENTRIES: Final = "transform(map_entries({0}), __e -> named_struct('K', __e.key, 'V', __e.value))"
_BY_KEY: Final = "(__a, __b) -> CASE WHEN __a.K < __b.K THEN -1 WHEN __a.K > __b.K THEN 1 ELSE 0 END"
_FOUND: Final = "filter(sequence(1, length({0})), __i -> substring({0}, __i, length({1})) = {1} AND "
_FROM_LEFT: Final = f"{_FOUND}__i >= {{2}})"
_FROM_RIGHT: Final = f"reverse({_FOUND}__i + length({{1}}) - 1 <= length({{0}}) + {{2}} + 1))"
_NTH_FOUND: Final = f"coalesce(get(CASE WHEN {{2}} < 0 THEN {_FROM_RIGHT} ELSE {_FROM_LEFT} END, "
_CODE_POINT: Final = "decode(unhex(lpad({code}, 8, '0')), 'UTF-32')"
_CHARACTER: Final = (
    "CASE WHEN CAST({0} AS STRING) RLIKE '^[0-9]{1,6}$' THEN "
    + _CODE_POINT.replace("{code}", "conv(CAST({0} AS STRING), 10, 16)")
    + " WHEN CAST({0} AS STRING) RLIKE '^\\\\\\\\u[0-9A-Fa-f]{4,4}$' THEN "
    + _CODE_POINT.replace("{code}", "substring(CAST({0} AS STRING), 3)")
    + " END"
)
_HAVERSINE: Final = (
    "2 * asin(sqrt(power(sin(radians({2} - {0}) / 2), 2)"
    " + power(sin(radians({3} - {1}) / 2), 2) * cos(radians({0})) * cos(radians({2}))))"
)
_RADIUS: Final = (
    "CASE WHEN lower(trim({4})) IN ('mi', 'mile', 'miles') THEN 3959 "
    "WHEN lower(trim({4})) IN ('km', 'kilometer', 'kilometers', 'kilometre', 'kilometres') THEN 6371 END"
)
_DECODED: Final = "try_url_decode(replace({part}, '+', '%2B'))"
_BYTES_REVERSED: Final = "array_join(reverse(regexp_extract_all(hex({0}), '..', 0)), '')"
_ORDERED_HEX: Final = (
    "CASE upper({1}) WHEN 'BIG_ENDIAN' THEN hex({0}) WHEN 'LITTLE_ENDIAN' THEN " + _BYTES_REVERSED + " END"
)
_BITS: Final = "CAST(conv({hexadecimal}, 16, -10) AS BIGINT)"
_DOUBLE: Final = (
    "CASE WHEN length({0}) = 8 THEN (CASE WHEN {bits} < 0 THEN -1 ELSE 1 END) * CASE shiftrightunsigned({bits}, 52) & 2047"
    " WHEN 0 THEN ({bits} & 4503599627370495) * power(2, -1074)"
    " WHEN 2047 THEN CASE WHEN {bits} & 4503599627370495 = 0 THEN DOUBLE('Infinity') ELSE DOUBLE('NaN') END"
    " ELSE (1 + ({bits} & 4503599627370495) / power(2, 52)) * power(2, (shiftrightunsigned({bits}, 52) & 2047) - 1023)"
    " END END"
)
_TIME_ADDED: Final = (
    "CAST(time_from_millis(pmod(time_to_millis({2}) + unix_millis(timestampadd({0}, {1}, timestamp_millis(0))), 86400000))"
    " AS TIME(3))"
)


def _number_from(hexadecimal: str, digits: int, kind: str, bits: int) -> str:
    value = f"CAST(conv({hexadecimal}, 16, 10) AS DECIMAL(20, 0))"
    signed = f"CASE WHEN {value} >= {2 ** (bits - 1)} THEN {value} - {2**bits} ELSE {value} END"
    return f"CASE WHEN length({{0}}) = {digits} THEN CAST({signed} AS {kind}) END"


def _double_from(hexadecimal: str) -> str:
    return _DOUBLE.replace("{bits}", _BITS.replace("{hexadecimal}", hexadecimal))


def _decoded(part: str) -> str:
    return _DECODED.replace("{part}", f"try_parse_url({{0}}, '{part}')")


_NUMERIC: Final = (
    _of("ABS", "number", "abs({0})", _first, "The number without its sign."),
    _of("ACOS", "number", "acos({0})", DOUBLE, "The inverse cosine, in radians."),
    _of("ASIN", "number", "asin({0})", DOUBLE, "The inverse sine, in radians."),
    _of("ATAN", "number", "atan({0})", DOUBLE, "The inverse tangent, in radians."),
    _of("ATAN2", "y, x", "atan2({0}, {1})", DOUBLE, "The angle of the point (x, y), in radians."),
    _of("CBRT", "number", "cbrt({0})", DOUBLE, "The cube root."),
    _built("CEIL", "number", special.whole("ceil"), (1, 1), _first, "The smallest whole number that is not below this one."),
    _of("COS", "radians", "cos({0})", DOUBLE, "The cosine."),
    _of("COSH", "number", "cosh({0})", DOUBLE, "The hyperbolic cosine."),
    _of("COT", "radians", "cot({0})", DOUBLE, "The cotangent."),
    _of("DEGREES", "radians", "degrees({0})", DOUBLE, "Radians in degrees."),
    _of("EXP", "number", "exp({0})", DOUBLE, "e to the power of the number."),
    _built("FLOOR", "number", special.whole("floor"), (1, 1), _first, "The largest whole number that is not above this one."),
    _of("GENERATE_SERIES", "start, end[, step]", ("sequence({0}, {1})", "CASE WHEN ({1} - {0}) * {2} >= 0 AND {2} <> 0 THEN sequence({0}, {1}, {2}) END"), None, "An array of the numbers from start to end."),
    _of("GEO_DISTANCE", "lat1, lon1, lat2, lon2[, unit]", (f"({_HAVERSINE} * 6371)", f"({_HAVERSINE} * {_RADIUS})"), DOUBLE, "The distance of two points on earth, in 'KM' or 'MILES'."),
    _of("GREATEST", "value, ...", ("{0}", "greatest({*})"), _last, "The largest of the values that are not null."),
    _of("LEAST", "value, ...", ("{0}", "least({*})"), _last, "The smallest of the values that are not null."),
    _of("LN", "number", "ln({0})", DOUBLE, "The natural logarithm."),
    _of("LOG", "[base, ]number", ("log10({0})", "log({0}, {1})"), DOUBLE, "The logarithm, to the base of 10 or the given one."),
    _of("PI", "", "pi()", DOUBLE, "The number pi."),
    _of("POWER", "base, exponent", "power({0}, {1})", DOUBLE, "The base to the power of the exponent."),
    _of("RADIANS", "degrees", "radians({0})", DOUBLE, "Degrees in radians."),
    _of("RANDOM", "", "rand()", DOUBLE, "A random number from 0 to 1."),
    _built("ROUND", "number[, digits]", special.rounded, (1, 2), special.type_when_rounded, "The number rounded to so many digits, a half upwards."),
    _of("SIGN", "number", "CAST(sign({0}) AS INT)", INTEGER, "-1, 0 or 1."),
    _of("SIN", "radians", "sin({0})", DOUBLE, "The sine."),
    _of("SINH", "number", "sinh({0})", DOUBLE, "The hyperbolic sine."),
    _of("SQRT", "number", "sqrt({0})", DOUBLE, "The square root."),
    _of("TAN", "radians", "tan({0})", DOUBLE, "The tangent."),
    _of("TANH", "number", "tanh({0})", DOUBLE, "The hyperbolic tangent."),
    _built("TRUNC", "number[, digits]", special.truncated, (1, 2), special.type_when_rounded, "The number without the digits after so many."),
)  # fmt: skip

_COLLECTIONS: Final = (
    _of("ARRAY_CONCAT", "array, array", "coalesce(concat({0}, {1}), {0}, {1})", _last, "Both arrays in one."),
    _of("ARRAY_CONTAINS", "array, value", "coalesce(exists({0}, __x -> __x <=> {1}), false)", BOOLEAN, "Whether the array has the value."),
    _of("ARRAY_DISTINCT", "array", "array_distinct({0})", _first, "The array with each value once."),
    _of("ARRAY_EXCEPT", "array, array", "array_except({0}, {1})", _first, "The values of the first array that are not in the second, each once."),
    _of("ARRAY_INTERSECT", "array, array", "array_intersect({0}, {1})", _first, "The values that are in both arrays, each once."),
    _of("ARRAY_JOIN", "array[, delimiter]", ("array_join(transform({0}, __x -> CAST(__x AS STRING)), ',', 'null')", "array_join(transform({0}, __x -> CAST(__x AS STRING)), {1}, 'null')"), STRING, "The elements as one text, with the delimiter between them."),
    _of("ARRAY_LENGTH", "array", "array_size({0})", INTEGER, "How many elements the array has."),
    _of("ARRAY_MAX", "array", "array_max({0})", _element, "The largest element that is not null."),
    _of("ARRAY_MIN", "array", "array_min({0})", _element, "The smallest element that is not null."),
    _of("ARRAY_REMOVE", "array, value", "filter({0}, __x -> NOT (__x <=> {1}))", _first, "The array without the elements that are the value."),
    _of("ARRAY_SORT", "array[, 'ASC' or 'DESC']", ("array_sort({0})", "CASE WHEN upper({1}) IN ('ASC', 'ASCENDING') THEN array_sort({0}) WHEN upper({1}) IN ('DESC', 'DESCENDING') THEN sort_array({0}, false) END"), _first, "The array in order, nulls last."),
    _of("ARRAY_UNION", "array, array", "array_union({0}, {1})", _first, "The values of both arrays, each once."),
    _of("AS_MAP", "keys, values", "CASE WHEN {1} IS NOT NULL THEN map_from_entries(filter(transform({0}, (__k, __i) -> named_struct('k', __k, 'v', get({1}, __i))), __e -> __e.k IS NOT NULL)) END", None, "A map of an array of keys and one of values."),
    _of("ELT", "number, text, ...", "get(array({1*}), {0} - 1)", STRING, "The text with that number, counted from 1."),
    _of("ENTRIES", "map, sorted", f"CASE WHEN {{1}} THEN array_sort({_ENTRIES}, {_BY_KEY}) ELSE {_ENTRIES} END", None, "The entries of a map as structs with the fields K and V, sorted by key or not."),
    _of("FIELD", "text, text, ...", "CAST(coalesce(array_position(array({1*}), {0}), 0) AS INT)", INTEGER, "The number of the text among the others, counted from 1; 0 if it is not there."),
    _built("FILTER", "array or map, lambda", special.filtered, (2, 2), _first, "The elements, or entries, for which the lambda is true."),
    _of("MAP_KEYS", "map", "map_keys({0})", _keys, "The keys, as an array."),
    _of("MAP_UNION", "map, map", "coalesce(map_concat({0}, {1}), {0}, {1})", _last, "The entries of both maps; of two with one key, that of the second."),
    _of("MAP_VALUES", "map", "map_values({0})", _values, "The values, as an array."),
    _built("REDUCE", "array or map, state, lambda", special.reduced, (3, 3), lambda call: call.types[1], "What the lambda makes of the state and one element, or entry, after the other."),
    _of("SLICE", "array, from, to", "CASE WHEN coalesce({1}, 1) >= 1 AND coalesce({2}, array_size({0})) <= array_size({0}) AND coalesce({1}, 1) <= coalesce({2}, array_size({0})) + 1 THEN slice({0}, coalesce({1}, 1), coalesce({2}, array_size({0})) - coalesce({1}, 1) + 1) END", _first, "The elements from one number to another, counted from 1."),
    _built("TRANSFORM", "array or map, lambda[, lambda]", special.transformed, (2, 3), special.type_when_transformed, "What the lambda makes of each element; for a map, one makes the keys and one the values."),
)  # fmt: skip

_NULLS: Final = (
    _of("AS_VALUE", "key", "{0}", _first, "The key, to be kept in the value too."),
    _of("COALESCE", "value, ...", "coalesce({*})", _last, "The first of the values that is not null."),
    _of("IFNULL", "value, other", "coalesce({0}, {1})", _last, "The value, or the other one if it is null."),
    _of("NULLIF", "value, other", "nullif({0}, {1})", _first, "The value, or null if it is the same as the other one."),
)  # fmt: skip

_TEXT: Final = (
    _of("CHR", "code", _CHARACTER, STRING, "The character of a code point, given as number or as '\\uXXXX'."),
    _built("CONCAT", "text, ...", special.concatenated, (1, None), _first, "The texts, or bytes, one after the other; nulls are left out."),
    _of("CONCAT_WS", "separator, text, ...", "concat_ws({0}, {1*})", STRING, "The texts with the separator between them; nulls are left out."),
    _built("ENCODE", "text, from, to", special.encoded, (3, 3), STRING, "The text in another encoding: 'hex', 'utf8', 'ascii', 'base64'."),
    _of("INITCAP", "text", "initcap({0})", STRING, "The text with each word's first letter in upper case, the others in lower."),
    _of("INSTR", "text, part[, position[, occurrence]]", ("coalesce(instr({0}, {1}), 0)", f"{_NTH_FOUND}0), 0)", f"{_NTH_FOUND}{{3}} - 1), 0)"), INTEGER, "Where the part is in the text, counted from 1; 0 if it is not. A negative position searches from the end."),
    _of("LCASE", "text", "lower({0})", STRING, "The text in lower case."),
    _of("LEN", "text or bytes", "length({0})", INTEGER, "How many characters, or bytes, there are."),
    _of("LPAD", "text, length, padding", "CASE WHEN {1} >= 0 AND length({2}) > 0 THEN lpad({0}, {1}, {2}) END", _first, "The text filled up on the left, or cut, to that length."),
    _of("MASK", "text[, upper, lower, digit, other]", _masked("<{0}>", 1), STRING, "The text with its characters replaced by 'X', 'x', 'n' and '-', or by those given."),
    _of("MASK_KEEP_LEFT", "text, count[, upper, lower, digit, other]", _masked("concat(left({0}, {1}), <substring({0}, {1} + 1)>)", 2), STRING, "As MASK, but so many characters on the left stay."),
    _of("MASK_KEEP_RIGHT", "text, count[, upper, lower, digit, other]", _masked("concat(<left({0}, length({0}) - {1})>, right({0}, {1}))", 2), STRING, "As MASK, but so many characters on the right stay."),
    _of("MASK_LEFT", "text, count[, upper, lower, digit, other]", _masked("concat(<left({0}, {1})>, substring({0}, {1} + 1))", 2), STRING, "As MASK, but only so many characters on the left."),
    _of("MASK_RIGHT", "text, count[, upper, lower, digit, other]", _masked("concat(left({0}, length({0}) - {1}), <right({0}, {1})>)", 2), STRING, "As MASK, but only so many characters on the right."),
    _of("MD5", "text", "md5({0})", STRING, "The MD5 hash, in hexadecimal digits."),
    _of("REGEXP_EXTRACT", "pattern, text[, group]", ("regexp_substr({1}, {0})", "CASE WHEN {1} RLIKE {0} THEN regexp_extract({1}, {0}, {2}) END"), STRING, "The first part of the text that the pattern matches, or a group of it."),
    _of("REGEXP_EXTRACT_ALL", "pattern, text[, group]", ("regexp_extract_all({1}, {0}, 0)", "regexp_extract_all({1}, {0}, {2})"), Array(STRING), "All parts of the text that the pattern matches, or a group of them."),
    _of("REGEXP_REPLACE", "text, pattern, new", "regexp_replace({0}, {1}, {2})", STRING, "The text with all that the pattern matches replaced."),
    _of("REGEXP_SPLIT_TO_ARRAY", "text, pattern", "split({0}, {1}, -1)", Array(STRING), "The parts of the text between what the pattern matches."),
    _of("REPLACE", "text, old, new", "replace({0}, {1}, {2})", STRING, "The text with all of the old replaced by the new."),
    _of("RPAD", "text, length, padding", "CASE WHEN {1} >= 0 AND length({2}) > 0 THEN rpad({0}, {1}, {2}) END", _first, "The text filled up on the right, or cut, to that length."),
    _built("SPLIT", "text, delimiter", special.split, (2, 2), Array(STRING), "The parts of the text between the delimiters."),
    _of("SPLIT_TO_MAP", "text, between entries, between key and value", "CASE WHEN {1} <> '' AND {2} <> '' AND {1} <> {2} THEN map_from_entries(transform(filter(split({0}, concat('\\\\Q', {1}, '\\\\E'), -1), __e -> contains(__e, {2})), __e -> named_struct('k', substring_index(__e, {2}, 1), 'v', get(split(__e, concat('\\\\Q', {2}, '\\\\E'), -1), 1)))) END", Map(STRING, STRING), "A map of the entries that are written in the text."),
    _built("SUBSTRING", "text or bytes, position[, length]", special.substring, (2, 3), _first, "The part from that position, counted from 1, or from the end if it is negative."),
    _of("TRIM", "text", "trim({0})", STRING, "The text without the spaces around it."),
    _of("UCASE", "text", "upper({0})", STRING, "The text in upper case."),
    _of("UUID", "[bytes]", ("uuid()", "CASE WHEN length({0}) = 16 THEN regexp_replace(lower(hex({0})), '^(.{8,8})(.{4,4})(.{4,4})(.{4,4})', '$1-$2-$3-$4-') END"), STRING, "A random UUID, or the one that these bytes are."),
)  # fmt: skip

_BYTES: Final = (
    _of("BIGINT_FROM_BYTES", "bytes[, 'BIG_ENDIAN' or 'LITTLE_ENDIAN']", (_number_from("hex({0})", 8, "BIGINT", 64), _number_from(_ORDERED_HEX, 8, "BIGINT", 64)), BIGINT, "The number that these eight bytes are."),
    _of("DOUBLE_FROM_BYTES", "bytes[, 'BIG_ENDIAN' or 'LITTLE_ENDIAN']", (_double_from("hex({0})"), _double_from(_ORDERED_HEX)), DOUBLE, "The number that these eight bytes are."),
    _built("FROM_BYTES", "bytes, encoding", special.from_bytes, (2, 2), STRING, "The bytes as text, in 'hex', 'utf8', 'ascii' or 'base64'."),
    _of("INT_FROM_BYTES", "bytes[, 'BIG_ENDIAN' or 'LITTLE_ENDIAN']", (_number_from("hex({0})", 4, "INT", 32), _number_from(_ORDERED_HEX, 4, "INT", 32)), INTEGER, "The number that these four bytes are."),
    _built("TO_BYTES", "text, encoding", special.to_bytes, (2, 2), BYTES, "The bytes that a text in 'hex', 'utf8', 'ascii' or 'base64' means."),
)  # fmt: skip

_JSON_FUNCTIONS: Final = (
    _of("EXTRACTJSONFIELD", "json, path", "get_json_object({0}, {1})", STRING, "What is at a path of the JSON, such as '$.log.cloud', as text."),
    _of("IS_JSON_STRING", "text", "(try_parse_json({0}) IS NOT NULL)", BOOLEAN, "Whether the text is JSON."),
    _of("JSON_ARRAY_CONTAINS", "json, value", f"coalesce(exists({_VARIANT_ARRAY}, __v -> to_json(__v) = {_JSON.replace('{0}', '{1}')}), false)", BOOLEAN, "Whether the array has the value."),
    _of("JSON_ARRAY_LENGTH", "json", "json_array_length({0})", INTEGER, "How many elements the array has; null if it is none."),
    _built("JSON_CONCAT", "json, ...", special.json_concatenated, (1, None), STRING, "The objects in one object, or all as one array."),
    _of("JSON_ITEMS", "json", f"transform({_VARIANT_ARRAY}, __v -> to_json(__v))", Array(STRING), "The elements of the array, each as JSON."),
    _of("JSON_KEYS", "json", "json_object_keys({0})", Array(STRING), "The keys of the object."),
    _of("JSON_RECORDS", "json", f"transform_values({_VARIANT_MAP}, (__k, __v) -> coalesce(try_variant_get(__v, '$', 'string'), to_json(__v)))", Map(STRING, STRING), "The object as a map of texts."),
    _of("TO_JSON_STRING", "value", _JSON, STRING, "The value as JSON."),
)  # fmt: skip

_TIMES: Final = (
    _of("CONVERT_TZ", "timestamp, from, to", "from_utc_timestamp(to_utc_timestamp({0}, {1}), {2})", TIMESTAMP, "The time on the clocks of one time zone when it is that time in another."),
    _built("DATEADD", "unit, number, date", special.added("CAST(timestampadd({0}, {1}, {2}) AS DATE)"), (3, 3), DATE, "The date so many units later."),
    _built("DATESUB", "unit, number, date", special.added("CAST(timestampadd({0}, {1}, {2}) AS DATE)", sign=-1), (3, 3), DATE, "The date so many units earlier."),
    _of("DATETOSTRING", "days, format", "date_format(date_from_unix_date({0}), {1})", STRING, "The day so many days after 1970-01-01 as text."),
    _of("FORMAT_DATE", "date, format", "date_format({0}, {1})", STRING, "The date as text, by a pattern of Java's DateTimeFormatter."),
    _of("FORMAT_TIME", "time, format", "date_format({0}, {1})", STRING, "The time as text."),
    _built("FORMAT_TIMESTAMP", "timestamp, format[, zone]", special.formatted_timestamp("{0}"), (2, 3), STRING, "The timestamp as text."),
    _of("FROM_DAYS", "days", "date_from_unix_date({0})", DATE, "The date so many days after 1970-01-01."),
    _of("FROM_UNIXTIME", "milliseconds", "timestamp_millis({0})", TIMESTAMP, "The timestamp so many milliseconds after 1970-01-01."),
    _of("PARSE_DATE", "text, format", "try_to_date({0}, {1})", DATE, "The date that the text says."),
    _of("PARSE_TIME", "text, format", "CAST(try_to_time({0}, {1}) AS TIME(3))", TIME, "The time that the text says."),
    _built("PARSE_TIMESTAMP", "text, format[, zone]", special.parsed_timestamp("{0}"), (2, 3), TIMESTAMP, "The timestamp that the text says."),
    _of("STRINGTODATE", "text, format", "unix_date(try_to_date({0}, {1}))", INTEGER, "The date that the text says, in days after 1970-01-01."),
    _built("STRINGTOTIMESTAMP", "text, format[, zone]", special.parsed_timestamp("unix_millis({0})"), (2, 3), BIGINT, "The timestamp that the text says, in milliseconds."),
    _built("TIMEADD", "unit, number, time", special.added(_TIME_ADDED), (3, 3), TIME, "The time so many units later."),
    _built("TIMESTAMPADD", "unit, number, timestamp", special.added("timestampadd({0}, {1}, {2})"), (3, 3), TIMESTAMP, "The timestamp so many units later."),
    _built("TIMESTAMPSUB", "unit, number, timestamp", special.added("timestampadd({0}, {1}, {2})", sign=-1), (3, 3), TIMESTAMP, "The timestamp so many units earlier."),
    _built("TIMESTAMPTOSTRING", "milliseconds, format[, zone]", special.formatted_timestamp("timestamp_millis({0})"), (2, 3), STRING, "The timestamp so many milliseconds after 1970-01-01 as text."),
    _built("TIMESUB", "unit, number, time", special.added(_TIME_ADDED, sign=-1), (3, 3), TIME, "The time so many units earlier."),
    _of("UNIX_DATE", "[date]", ("unix_date(current_date())", "unix_date({0})"), INTEGER, "The date, or today, in days after 1970-01-01."),
    _of("UNIX_TIMESTAMP", "[timestamp]", ("unix_millis(current_timestamp())", "unix_millis({0})"), BIGINT, "The timestamp, or now, in milliseconds after 1970-01-01."),
)  # fmt: skip

_URLS: Final = (
    _of("URL_DECODE_PARAM", "text", "try_url_decode({0})", STRING, "What the encoded text means."),
    _of("URL_ENCODE_PARAM", "text", "url_encode({0})", STRING, "The text as it can be in the parameters of a URL."),
    _of("URL_EXTRACT_FRAGMENT", "url", _decoded("REF"), STRING, "What is after the #."),
    _of("URL_EXTRACT_HOST", "url", "try_parse_url({0}, 'HOST')", STRING, "The name of the host."),
    _of("URL_EXTRACT_PARAMETER", "url, name", "try_url_decode(try_parse_url({0}, 'QUERY', replace(url_encode({1}), '+', '%20')))", STRING, "The value of a parameter."),
    _of("URL_EXTRACT_PATH", "url", _decoded("PATH"), STRING, "The path."),
    _of("URL_EXTRACT_PORT", "url", "try_cast(regexp_substr(try_parse_url({0}, 'AUTHORITY'), '(?<=:)[0-9]+$') AS INT)", INTEGER, "The port."),
    _of("URL_EXTRACT_PROTOCOL", "url", "try_parse_url({0}, 'PROTOCOL')", STRING, "The protocol."),
    _of("URL_EXTRACT_QUERY", "url", _decoded("QUERY"), STRING, "All parameters, as text."),
)  # fmt: skip

_TABLE_FUNCTIONS: Final = (
    _table("CUBE_EXPLODE", "array", "explode(array_distinct(transform(sequence(0, CAST(power(2, array_size({0})) AS INT) - 1), __i -> transform({0}, (__x, __j) -> CASE WHEN shiftright(__i, array_size({0}) - 1 - __j) % 2 = 1 THEN __x END))))", "A row for each combination of the elements and nulls."),
    _table("EXPLODE", "array", "explode({0})", "A row for each element."),
)  # fmt: skip

FUNCTIONS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in sorted(
        (*_NUMERIC, *_COLLECTIONS, *_NULLS, *_TEXT, *_BYTES, *_JSON_FUNCTIONS, *_TIMES, *_URLS, *_TABLE_FUNCTIONS, *AGGREGATES),
        key=lambda function: function.name,
    )
}  # fmt: skip
"""All functions, by name."""
