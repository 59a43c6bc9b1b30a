"""What functions and operators give in Spark is what ksqlDB gives; most cases are those of its documentation.

All of them are computed by one query, over one row.
"""

import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from stoker.streams.sql import FUNCTIONS, SPARK_SETTINGS, parse_expression, parse_statement, to_spark, to_spark_type
from stoker.streams.sql.calls import FunctionKind
from stoker.streams.sql.statements import CreateSource
from stoker.streams.sql.types import SqlType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROW = parse_statement(
    """
    CREATE STREAM rows (
        i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), neg DOUBLE, zero INT, huge DOUBLE, s STRING, nothing STRING,
        phrase STRING, json STRING, b BYTES, four BYTES, ints ARRAY<INT>, gaps ARRAY<INT>, names ARRAY<STRING>,
        prices MAP<STRING, INT>, address STRUCT<city STRING, geo STRUCT<lat DOUBLE, lon DOUBLE>>,
        at TIMESTAMP, day DATE, noon TIME, no_ints ARRAY<INT>, no_map MAP<STRING, INT>, stamp BIGINT
    ) WITH (KAFKA_TOPIC = 'rows', VALUE_FORMAT = 'AVRO')
    """.replace("at TIMESTAMP", "`AT` TIMESTAMP")
)
assert isinstance(ROW, CreateSource)
TYPES: Mapping[str, SqlType] = {column.name: column.type for column in ROW.columns}
VALUES = {
    "I": 5,
    "L": 7,
    "D": 2.5,
    "M": Decimal("-12.35"),
    "NEG": -2.5,
    "ZERO": 0,
    "HUGE": 1e300,
    "S": "abc",
    "NOTHING": None,
    "PHRASE": "hello there nice day",
    "JSON": '{"log": {"cloud": "gcp", "instance": 4}, "tags": ["a", 1, null]}',
    "B": bytes.fromhex("000000012a05f200"),
    "FOUR": bytes.fromhex("fffffffe"),
    "INTS": [1, 2, 3],
    "GAPS": [3, None, 1],
    "NAMES": ["foo", "bar", "baz"],
    "PRICES": {"apple": 10, "banana": 20},
    "ADDRESS": {"CITY": "Prague", "GEO": {"LAT": 50.1, "LON": 14.4}},
    "AT": datetime(2021, 6, 30, 12, 18, 39, 446000),  # noqa: DTZ001 (Spark's are of its session's zone, which is UTC)
    "DAY": date(2021, 10, 11),
    "NOON": time(12, 0),
    "NO_INTS": None,
    "NO_MAP": None,
    "STAMP": 1625055519446,
}

NUMERIC: list[tuple[str, Any]] = [
    ("ABS(-5)", 5),
    ("ABS(m)", Decimal("12.35")),
    ("ACOS(1)", 0.0),
    ("ASIN(0)", 0.0),
    ("ATAN(0)", 0.0),
    ("ATAN2(0, 1)", 0.0),
    ("CBRT(27)", pytest.approx(3.0)),
    ("CEIL(d)", 3.0),
    ("CEIL(huge)", 1e300),
    ("CEIL(i)", 5),
    ("CEIL(m)", Decimal("-12.00")),
    ("COS(0)", 1.0),
    ("COSH(0)", 1.0),
    ("COT(1)", pytest.approx(0.6420926)),
    ("DEGREES(PI())", pytest.approx(180)),
    ("EXP(0)", 1.0),
    ("FLOOR(neg)", -3.0),
    ("FLOOR(m)", Decimal("-13.00")),
    ("GENERATE_SERIES(1, 5, 2)", [1, 3, 5]),
    ("GENERATE_SERIES(3, 1)", [3, 2, 1]),
    ("GENERATE_SERIES(1, 5, -2)", None),
    ("GENERATE_SERIES(1, 5, zero)", None),
    ("GEO_DISTANCE(37.4439, -122.1663, 51.5257, -0.1122)", pytest.approx(8634.6, abs=0.1)),
    ("GEO_DISTANCE(37.4439, -122.1663, 51.5257, -0.1122, 'miles')", pytest.approx(5365.7, abs=0.1)),
    ("GREATEST(1, NULL, 3)", 3),
    ("GREATEST(i)", 5),
    ("LEAST(s, NULL, 'abd')", "abc"),
    ("LN(1)", 0.0),
    ("LOG(100)", pytest.approx(2)),
    ("LOG(3, 9)", pytest.approx(2)),
    ("PI()", math.pi),
    ("POWER(2, 10)", 1024.0),
    ("RADIANS(180)", math.pi),
    ("RANDOM() < 1", True),
    ("ROUND(d)", 3),
    ("ROUND(neg)", -2),
    ("ROUND(i)", 5),
    ("ROUND(huge)", None),
    ("ROUND(neg, 0)", -2.0),
    ("ROUND(CAST('1.005' AS DOUBLE), 2)", 1.01),
    ("ROUND(CAST('-1.005' AS DOUBLE), 2)", -1.0),
    ("ROUND(CAST('1234.5' AS DOUBLE), -2)", 1200.0),
    ("ROUND(huge, 2)", 1e300),
    ("ROUND(m)", Decimal(-12)),
    ("ROUND(m, 1)", Decimal("-12.30")),
    ("SIGN(neg)", -1),
    ("SIN(0)", 0.0),
    ("SINH(0)", 0.0),
    ("SQRT(16)", 4.0),
    ("TAN(0)", 0.0),
    ("TANH(0)", 0.0),
    ("TRUNC(neg)", -2),
    ("TRUNC(CAST('12345.67' AS DOUBLE), -3)", 12000.0),
    ("TRUNC(CAST('-1.239' AS DOUBLE), 2)", -1.23),
    ("TRUNC(m, 1)", Decimal("-12.30")),
]
OPERATORS: list[tuple[str, Any]] = [
    ("5 / 2", 2),
    ("-5 / 2", -2),
    ("l / i", 1),
    ("i / zero", None),
    ("d / 2", 1.25),
    ("d / zero", None),
    ("i % 3", 2),
    ("i % zero", None),
    ("2147483647 + 1", None),
    ("i + l * 2 - 1", 18),
    ("s + 'def' + s", "abcdefabc"),
    ("s || 'def'", "abcdef"),
    ("-(-i)", 5),
    ("ints[1]", 1),
    ("ints[-1]", 3),
    ("ints[4]", None),
    ("ints[0]", None),
    ("ints[zero]", None),
    ("ints[i - 4]", 1),
    ("prices['apple']", 10),
    ("prices['pear']", None),
    ("address->city", "Prague"),
    ("address->geo->lat + 1", pytest.approx(51.1)),
    ("STRUCT(a := 1, `b c` := s)", {"A": 1, "b c": "abc"}),
    ("STRUCT(a := ARRAY[1, 2])->a[2]", 2),
    ("MAP('k' := 1, 'k' := 2)", {"k": 2}),
    ("ARRAY[1, NULL, 3]", [1, None, 3]),
    ("s LIKE 'a%'", True),
    ("s NOT LIKE '_b_'", False),
    ("'a%c' LIKE 'a!%c' ESCAPE '!'", True),
    ("s LIKE 'a!%c' ESCAPE '!'", False),
    ("'a!c' LIKE 'a!!!c' ESCAPE '!'", True),
    (r"'a\c' LIKE 'a\c'", True),
    (r"'a\c' LIKE 'a\' || 'c'", True),
    (r"'a%' LIKE 'a\%' ESCAPE '\'", True),
    ("'it''s'", "it's"),
    (r"'back\slash\n'", r"back\slash\n"),
    ("i BETWEEN 1 AND 5 AND NOT i BETWEEN 6 AND 7", True),
    ("i IN (1, 5) OR i NOT IN (1, 5)", True),
    ("i NOT IN (1, 5)", False),
    ("nothing IS NULL AND s IS NOT NULL", True),
    ("nothing IS DISTINCT FROM s", True),
    ("nothing IS NOT DISTINCT FROM nothing", True),
    ("NOT i = 5 OR i <> 4 AND i != 3", True),
    ("CASE WHEN i > 3 THEN 'big' ELSE 'small' END", "big"),
    ("CASE i WHEN 4 THEN 'four' WHEN 5 THEN 'five' END", "five"),
    ("CAST('12' AS INT) + 1", 13),
    ("CAST('x' AS INT)", None),
    ("CAST(i AS STRING) + '!'", "5!"),
    ("CAST(m AS DOUBLE)", -12.35),
    ("CAST(d AS DECIMAL(4, 2))", Decimal("2.50")),
    ("CAST('aGk=' AS BYTES)", b"hi"),
    ("CAST('2021-10-11' AS DATE) = day", True),
    ("CAST(`AT` AS TIME)", time(12, 18, 39, 446000)),
    ("CAST(ints AS ARRAY<STRING>)", ["1", "2", "3"]),
    ("DATE '2021-10-11' = day", True),
    ("`AT` > '2021-01-01T00:00:00'", True),
    ("(1 + 2) * 3", 9),
    (".5 + 1E0", 1.5),
    ("TRUE AND NOT FALSE", True),
]
COLLECTIONS: list[tuple[str, Any]] = [
    ("ARRAY_CONCAT(ARRAY[1, 2, 3, 1, 2], ARRAY[4, 1])", [1, 2, 3, 1, 2, 4, 1]),
    ("ARRAY_CONCAT(ints, no_ints)", [1, 2, 3]),
    ("ARRAY_CONTAINS(ints, 3)", True),
    ("ARRAY_CONTAINS(gaps, NULL)", True),
    ("ARRAY_CONTAINS(gaps, 2)", False),
    ("ARRAY_CONTAINS(no_ints, 2)", False),
    ("ARRAY_DISTINCT(ARRAY['apple', 'apple', NULL, 'cherry'])", ["apple", None, "cherry"]),
    ("ARRAY_EXCEPT(ARRAY[1, 2, 3, 1, 2], ARRAY[2, 3])", [1]),
    ("ARRAY_INTERSECT(ARRAY[1, 2, 3, 1, 2], ARRAY[2, 1])", [1, 2]),
    ("ARRAY_JOIN(gaps)", "3,null,1"),
    ("ARRAY_JOIN(names, ' - ')", "foo - bar - baz"),
    ("ARRAY_LENGTH(ints)", 3),
    ("ARRAY_LENGTH(no_ints)", None),
    ("ARRAY_MAX(ARRAY['Foo', 'Bar', NULL, 'baz'])", "baz"),
    ("ARRAY_MIN(ARRAY[-1, 2, NULL, 0])", -1),
    ("ARRAY_REMOVE(ARRAY[1, 2, 3, 2, 1], 2)", [1, 3, 1]),
    ("ARRAY_REMOVE(ARRAY['Foo', NULL, 'baz'], NULL)", ["Foo", "baz"]),
    ("ARRAY_SORT(gaps)", [1, 3, None]),
    ("ARRAY_SORT(gaps, 'desc')", [3, 1, None]),
    ("ARRAY_UNION(ARRAY[1, 2, 3, 1, 2], ARRAY[4, 1])", [1, 2, 3, 4]),
    ("AS_MAP(names, ints)", {"foo": 1, "bar": 2, "baz": 3}),
    ("AS_MAP(ARRAY['a', NULL, 'a'], ARRAY[1, 2])", {"a": None}),
    ("AS_VALUE(s)", "abc"),
    ("ELT(2, 'a', 'b')", "b"),
    ("ELT(3, 'a', 'b')", None),
    ("ENTRIES(MAP('b' := 1, 'a' := 2), true)", [{"K": "a", "V": 2}, {"K": "b", "V": 1}]),
    ("FIELD('b', 'a', 'b')", 2),
    ("FIELD(nothing, 'a', 'b')", 0),
    ("FILTER(ints, x => x > 1 AND x < i)", [2, 3]),
    ("FILTER(prices, (k, v) => INSTR(k, 'nan') > 0 AND v != 0)", {"banana": 20}),
    ("MAP_KEYS(MAP('apple' := 10, 'banana' := 20))", ["apple", "banana"]),
    ("MAP_UNION(prices, MAP('apple' := 50))", {"apple": 50, "banana": 20}),
    ("MAP_UNION(prices, no_map)", {"apple": 10, "banana": 20}),
    ("MAP_VALUES(MAP('apple' := 10, 'banana' := 20))", [10, 20]),
    ("REDUCE(ARRAY[2, 3, 4, 5], 2, (s, x) => CEIL(x / s))", 5),
    ("REDUCE(prices, 2, (s, k, v) => s + v + LEN(k))", 43),
    ("REDUCE(ints, '', (s, x) => s + CAST(x AS STRING))", "123"),
    ("REDUCE(ints, CAST(0 AS BIGINT), (s, x) => s + x)", 6),
    ("SLICE(names, 2, 3)", ["bar", "baz"]),
    ("SLICE(names, 2, 9)", None),
    ("TRANSFORM(ints, x => x * i / 2)", [2, 5, 7]),
    ("TRANSFORM(names, x => x + s)", ["fooabc", "barabc", "bazabc"]),
    ("TRANSFORM(prices, (k, v) => UCASE(k), (k, v) => v + 5)", {"APPLE": 15, "BANANA": 25}),
    ("TRANSFORM(MAP('a' := ints), (k, v) => k + '_new', (k, v) => TRANSFORM(v, v => v + 1))", {"a_new": [2, 3, 4]}),
    ("COALESCE(nothing, s, 'z')", "abc"),
    ("IFNULL(nothing, 'z')", "z"),
    ("NULLIF(i, 5)", None),
]
TEXT: list[tuple[str, Any]] = [
    ("CHR(75)", "K"),
    ("CHR(22909)", "好"),
    (r"CHR('\u004b')", "K"),
    ("CHR('x')", None),
    ("CONCAT(s, nothing, 'x')", "abcx"),
    ("CONCAT(four, NULL, four)", bytes.fromhex("fffffffefffffffe")),
    ("CONCAT_WS(', ', 'apple', 'banana', NULL, 'date')", "apple, banana, date"),
    ("ENCODE('4578616d706C6521', 'hex', 'ascii')", "Example!"),
    ("ENCODE('0x4578', 'hex', 'utf8')", "Ex"),
    ("ENCODE('Example!', 'utf8', 'base64')", "RXhhbXBsZSE="),
    ("ENCODE('RXhhbXBsZSE=', 'base64', 'hex')", "4578616d706c6521"),
    ("ENCODE('zz', 'hex', 'utf8')", None),
    ("ENCODE('é', 'ascii', 'utf8')", "?"),
    ("INITCAP('the QUICK fox')", "The Quick Fox"),
    ("INSTR('CORPORATE FLOOR', 'OR')", 2),
    ("INSTR('CORPORATE FLOOR', 'OR', 3)", 5),
    ("INSTR('CORPORATE FLOOR', 'OR', 3, 2)", 14),
    ("INSTR('CORPORATE FLOOR', 'OR', -3)", 5),
    ("INSTR('CORPORATE FLOOR', 'OR', -3, 2)", 2),
    ("INSTR('CORPORATE FLOOR', 'MISSING')", 0),
    ("INSTR(nothing, 'x', 2)", 0),
    ("LCASE('ABC')", "abc"),
    ("LEN(s)", 3),
    ("LEN(b)", 8),
    ("LPAD('Foo', 7, 'Bar')", "BarBFoo"),
    ("LPAD('Foo', 2, 'Bar')", "Fo"),
    ("LPAD('Foo', 7, '')", None),
    ("MASK('My Test $123')", "Xx-Xxxx--nnn"),
    ("MASK('My Test $123', '*', NULL, '1', NULL)", "*y *est $111"),
    ("MASK_KEEP_LEFT('My Test $123', 4)", "My Txxx--nnn"),
    ("MASK_KEEP_RIGHT('My Test $123', 4)", "Xx-Xxxx-$123"),
    ("MASK_LEFT('My Test $123', 4)", "Xx-Xest $123"),
    ("MASK_RIGHT('My Test $123', 4)", "My Test -nnn"),
    ("MASK_RIGHT('My Test $123', 4, '*', '*', '*', '*')", "My Test ****"),
    ("MD5('hash me')", "17b31dce96b9d6c6d0a6ba95f47796fb"),
    ("REGEXP_EXTRACT('(.*) (.*)', 'hello there', 2)", "there"),
    ("REGEXP_EXTRACT('h[a-z]+', phrase)", "hello"),
    ("REGEXP_EXTRACT('z+', phrase)", None),
    (r"REGEXP_EXTRACT_ALL('(\w+) (\w+)', phrase, 2)", ["there", "day"]),
    ("REGEXP_EXTRACT_ALL('a', 'banana')", ["a", "a", "a"]),
    ("REGEXP_REPLACE('a1b22', '[0-9]+', '#')", "a#b#"),
    ("REGEXP_SPLIT_TO_ARRAY('xaaby', 'a+b?')", ["x", "y"]),
    ("REPLACE('foo bar foo', 'foo', 'x')", "x bar x"),
    ("RPAD('Foo', 7, 'Bar')", "FooBarB"),
    ("SPLIT('a.b.', '.')", ["a", "b", ""]),
    ("SPLIT('abc', '')", ["a", "b", "c"]),
    ("SPLIT(phrase, SUBSTRING(phrase, 6, 1))", ["hello", "there", "nice", "day"]),
    ("SPLIT_TO_MAP('apple:=green/cherry:=red/x', '/', ':=')", {"apple": "green", "cherry": "red"}),
    ("SUBSTRING('stream', 1, 4)", "stre"),
    ("SUBSTRING('stream', 3)", "ream"),
    ("SUBSTRING('stream', -3)", "eam"),
    ("SUBSTRING('stream', -9, 2)", "st"),
    ("SUBSTRING('stream', i)", "am"),
    ("TRIM('  a b ')", "a b"),
    ("UCASE(address->city)", "PRAGUE"),
    ("LEN(UUID())", 36),
    ("UUID(TO_BYTES('237e9877e79b12d4a765321741963000', 'hex'))", "237e9877-e79b-12d4-a765-321741963000"),
    ("BIGINT_FROM_BYTES(b)", 5000000000),
    ("BIGINT_FROM_BYTES(b, 'LITTLE_ENDIAN')", 68122622327521280),
    ("BIGINT_FROM_BYTES(four)", None),
    ("DOUBLE_FROM_BYTES(TO_BYTES('QICm/ZvJ9YI=', 'base64'))", 532.8738323),
    ("DOUBLE_FROM_BYTES(TO_BYTES('BFC00000000000', 'hex'))", None),
    ("DOUBLE_FROM_BYTES(TO_BYTES('00000000000004C0', 'hex'), 'little_endian')", -2.5),
    ("DOUBLE_FROM_BYTES(TO_BYTES('7FF0000000000000', 'hex'))", math.inf),
    ("DOUBLE_FROM_BYTES(TO_BYTES('0000000000000001', 'hex'))", 5e-324),
    ("INT_FROM_BYTES(four)", -2),
    ("INT_FROM_BYTES(four, 'LITTLE_ENDIAN')", -16777217),
    ("FROM_BYTES(four, 'hex')", "fffffffe"),
    ("FROM_BYTES(TO_BYTES('hé', 'utf8'), 'utf8')", "hé"),
    ("TO_BYTES('aGk=', 'base64')", b"hi"),
]
JSON: list[tuple[str, Any]] = [
    ("EXTRACTJSONFIELD(json, '$.log.cloud')", "gcp"),
    ("CAST(EXTRACTJSONFIELD(json, '$.log.instance') AS INT)", 4),
    ("EXTRACTJSONFIELD(json, '$.tags[0]')", "a"),
    ("EXTRACTJSONFIELD(json, '$.nope')", None),
    ("IS_JSON_STRING('[1, 2, 3]')", True),
    ("IS_JSON_STRING('null')", True),
    ("IS_JSON_STRING('')", False),
    ("IS_JSON_STRING('abc')", False),
    ("IS_JSON_STRING(nothing)", False),
    ("JSON_ARRAY_CONTAINS('[1, 2, 3]', 3)", True),
    ("JSON_ARRAY_CONTAINS('[\"3\"]', 3)", False),
    ("JSON_ARRAY_CONTAINS('[\"3\"]', '3')", True),
    ("JSON_ARRAY_CONTAINS('{}', 3)", False),
    ("JSON_ARRAY_LENGTH('[1, [1, [2]], 3]')", 3),
    ("JSON_ARRAY_LENGTH('{}')", None),
    ('JSON_CONCAT(\'{"a": {"5": 6}}\', \'{"a": {"3": 4}}\')', '{"a":{"3":4}}'),
    ("JSON_CONCAT('[1, 2]', '{\"a\": 1}')", '[1,2,{"a":1}]'),
    ("JSON_CONCAT('1', '2')", "[1,2]"),
    ("JSON_CONCAT('abc', '[1]')", None),
    ("JSON_ITEMS('[{\"a\": 1}, 2]')", ['{"a":1}', "2"]),
    ("JSON_ITEMS('abc')", None),
    ("JSON_KEYS(json)", ["log", "tags"]),
    ("JSON_KEYS('[]')", None),
    ('JSON_RECORDS(\'{"a": "abc", "b": {"c": "a"}, "d": 1}\')', {"a": "abc", "b": '{"c":"a"}', "d": "1"}),
    ("JSON_RECORDS('[]')", None),
    ("TO_JSON_STRING(i)", "5"),
    ("TO_JSON_STRING(s)", '"abc"'),
    ("TO_JSON_STRING(NULL)", "null"),
    ("TO_JSON_STRING(day)", '"2021-10-11"'),
    ("TO_JSON_STRING(`AT`)", '"2021-06-30T12:18:39.446"'),
    ("TO_JSON_STRING(ints)", "[1,2,3]"),
    ("TO_JSON_STRING(STRUCT(id := 1, name := NULL))", '{"ID":1,"NAME":null}'),
]
TIMES: list[tuple[str, Any]] = [
    ("FORMAT_TIMESTAMP(CONVERT_TZ(`AT`, 'UTC', 'America/Los_Angeles'), 'HH:mm')", "05:18"),
    ("DATEADD(DAYS, 3, day)", date(2021, 10, 14)),
    ("DATESUB(HOURS, 25, day)", date(2021, 10, 9)),
    ("DATETOSTRING(18911, 'yyyy-MM-dd')", "2021-10-11"),
    ("FORMAT_DATE(day, 'dd.MM.yyyy')", "11.10.2021"),
    ("FORMAT_TIME(noon, 'HH:mm:ss.SSS')", "12:00:00.000"),
    ("FORMAT_TIMESTAMP(`AT`, 'yyyy-MM-dd''T''HH:mm:ss.SSS')", "2021-06-30T12:18:39.446"),
    ("FORMAT_TIMESTAMP(`AT`, 'yyyy-MM-dd HH:mm', 'Europe/Prague')", "2021-06-30 14:18"),
    ("FROM_DAYS(18911)", date(2021, 10, 11)),
    ("FROM_UNIXTIME(stamp)", datetime(2021, 6, 30, 12, 18, 39, 446000)),  # noqa: DTZ001
    ("PARSE_DATE('11/10/2021', 'dd/MM/yyyy')", date(2021, 10, 11)),
    ("PARSE_DATE('x', 'dd/MM/yyyy')", None),
    ("PARSE_TIME('13:25', 'HH:mm')", time(13, 25)),
    ("PARSE_TIMESTAMP('2021-06-30 12:18', 'yyyy-MM-dd HH:mm')", datetime(2021, 6, 30, 12, 18)),  # noqa: DTZ001
    ("PARSE_TIMESTAMP('30.06.2021', 'dd.MM.yyyy', 'Europe/Prague')", datetime(2021, 6, 29, 22)),  # noqa: DTZ001
    ("PARSE_TIMESTAMP('2021-06-30T12+0200', 'yyyy-MM-dd''T''HHZ', 'UTC')", datetime(2021, 6, 30, 10)),  # noqa: DTZ001
    ("STRINGTODATE('2021-10-11', 'yyyy-MM-dd')", 18911),
    ("STRINGTOTIMESTAMP('2021-06-30 12:18:39.446', 'yyyy-MM-dd HH:mm:ss.SSS')", 1625055519446),
    ("STRINGTOTIMESTAMP('x', 'yyyy-MM-dd')", None),
    ("TIMEADD(MINUTES, 10, noon)", time(12, 10)),
    ("TIMESUB(HOURS, 13, noon)", time(23, 0)),
    ("TIMESTAMPADD(MILLISECONDS, 554, `AT`)", datetime(2021, 6, 30, 12, 18, 40)),  # noqa: DTZ001
    ("TIMESTAMPSUB(DAY, i, `AT`)", datetime(2021, 6, 25, 12, 18, 39, 446000)),  # noqa: DTZ001
    ("TIMESTAMPTOSTRING(stamp, 'yyyy-MM-dd HH:mm:ss.SSS')", "2021-06-30 12:18:39.446"),
    ("TIMESTAMPTOSTRING(stamp, 'HH:mm', 'America/Los_Angeles')", "05:18"),
    ("UNIX_DATE(day)", 18911),
    ("UNIX_DATE() > 20000", True),
    ("UNIX_TIMESTAMP(`AT`)", 1625055519446),
    ("UNIX_TIMESTAMP() > 1700000000000", True),
]
URLS: list[tuple[str, Any]] = [
    ("URL_DECODE_PARAM('url%20encoded')", "url encoded"),
    ("URL_DECODE_PARAM('%zz')", None),
    ("URL_ENCODE_PARAM('url encoded')", "url+encoded"),
    ("URL_EXTRACT_FRAGMENT('http://test.com#frag%20space')", "frag space"),
    ("URL_EXTRACT_HOST('http://test.com:8080/path')", "test.com"),
    ("URL_EXTRACT_HOST('no url at all')", None),
    ("URL_EXTRACT_PARAMETER('http://test.com?a%20b=c%20d', 'a b')", "c d"),
    ("URL_EXTRACT_PARAMETER('http://test.com?a=foo&b=bar', 'b')", "bar"),
    ("URL_EXTRACT_PATH('http://test.com/path/to#a')", "/path/to"),
    ("URL_EXTRACT_PORT('http://localhost:8080/path')", 8080),
    ("URL_EXTRACT_PORT('http://localhost/path')", None),
    ("URL_EXTRACT_PROTOCOL('http://test.com?a=foo')", "http"),
    ("URL_EXTRACT_QUERY('http://test.com?a=foo%20bar&b=baz')", "a=foo bar&b=baz"),
]
CASES = [*NUMERIC, *OPERATORS, *COLLECTIONS, *TEXT, *JSON, *TIMES, *URLS]

AGGREGATES: list[tuple[str, Any]] = [
    ("AVG(x)", pytest.approx(2.0)),
    ("COLLECT_LIST(x)", [2, None, 1, 3, 2]),
    ("ARRAY_SORT(COLLECT_SET(x))", [1, 2, 3, None]),
    ("CORRELATION(x, x)", pytest.approx(1.0)),
    ("COUNT(*) + COUNT()", 10),
    ("COUNT(x)", 4),
    ("COUNT_DISTINCT(x)", 3),
    ("EARLIEST_BY_OFFSET(x)", 2),
    ("EARLIEST_BY_OFFSET(x, 2)", [2, 1]),
    ("LATEST_BY_OFFSET(x)", 2),
    ("LATEST_BY_OFFSET(x, 2)", [3, 2]),
    ("EARLIEST_BY_OFFSET(x, 2, false)", [2, None]),
    ("LATEST_BY_OFFSET(CASE WHEN x = 2 THEN NULL ELSE x END, FALSE)", None),
    ("LATEST_BY_OFFSET(CASE WHEN x = 2 THEN NULL ELSE x END, TRUE)", 3),
    ("HISTOGRAM(CAST(x AS STRING))", {"2": 2, "1": 1, "3": 1}),
    ("MAX(x) - MIN(x)", 2),
    ("ROUND(STDDEV_SAMP(x), 3)", 0.816),
    ("STDDEV_SAMPLE(x) = STDDEV_SAMP(x)", True),
    ("SUM(x * 10) / COUNT(*)", 16),
    ("TOPK(x, 3)", [3, 2, 2]),
    ("TOPK(x, x + 1, 'a', 1)", [{"sort_col": 3, "col0": 4, "col1": "a"}]),
    ("TOPKDISTINCT(x, 2)", [3, 2]),
]


def type_of(column: exp.Column) -> SqlType | None:
    return TYPES.get(column.name)


@pytest.fixture(scope="module")
def computed(spark: "SparkSession") -> Mapping[str, Any]:
    return _computed(spark)


def _computed(spark: "SparkSession") -> Mapping[str, Any]:
    schema = ", ".join(f"`{name}` {to_spark_type(kind)}" for name, kind in TYPES.items())
    row = spark.createDataFrame([tuple(VALUES.values())], schema)
    texts = [to_spark(parse_expression(each), type_of=type_of) for each, _ in CASES]
    found = row.selectExpr(*(f"{text} AS `{number}`" for number, text in enumerate(texts))).collect()[0]
    return {each: _plain(found[number]) for number, (each, _) in enumerate(CASES)}


@pytest.fixture(scope="module")
def aggregated(spark: "SparkSession") -> Mapping[str, Any]:
    rows = spark.createDataFrame(
        list(enumerate([2, None, 1, 3, 2])), "ROWOFFSET BIGINT, X INT"
    ).coalesce(1)  # fmt: skip
    texts = [to_spark(parse_expression(each), type_of=lambda column: TYPES["I"]) for each, _ in AGGREGATES]
    found = rows.selectExpr(*(f"{text} AS `{number}`" for number, text in enumerate(texts))).collect()[0]
    return {each: _plain(found[number]) for number, (each, _) in enumerate(AGGREGATES)}


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[each for each, _ in CASES])
def test_expressions_give_in_spark_what_they_give_in_ksqldb(
    computed: Mapping[str, Any], expression: str, expected: Any
) -> None:
    assert computed[expression] == expected
    assert isinstance(computed[expression], type(expected)) or not isinstance(expected, (bool, int, float, str))


def test_they_give_the_same_whether_spark_keeps_to_ansi_or_not(
    spark: "SparkSession", computed: Mapping[str, Any]
) -> None:
    relaxed = spark.newSession()
    for name, value in {**SPARK_SETTINGS, "spark.sql.ansi.enabled": "false"}.items():
        relaxed.conf.set(name, value)
    varying = ("RANDOM", "UUID()", "UNIX_DATE()", "UNIX_TIMESTAMP()")
    again = {each: value for each, value in _computed(relaxed).items() if not any(word in each for word in varying)}
    assert {each: value for each, value in computed.items() if each in again} == again


@pytest.mark.parametrize(("expression", "expected"), AGGREGATES, ids=[each for each, _ in AGGREGATES])
def test_aggregates(aggregated: Mapping[str, Any], expression: str, expected: Any) -> None:
    assert aggregated[expression] == expected


def test_table_functions(spark: "SparkSession") -> None:
    exploded = spark.sql(f"SELECT {to_spark(parse_expression('EXPLODE(ARRAY[23, 56])'))} AS x").collect()
    assert [row.x for row in exploded] == [23, 56]
    cube = spark.sql(f"SELECT {to_spark(parse_expression('CUBE_EXPLODE(ARRAY[1, 2])'))} AS x").collect()
    assert [row.x for row in cube] == [[None, None], [None, 2], [1, None], [1, 2]]
    with_null = spark.sql(f"SELECT {to_spark(parse_expression('CUBE_EXPLODE(ARRAY[1, NULL])'))} AS x").collect()
    assert [row.x for row in with_null] == [[None, None], [1, None]]


def test_every_function_is_computed_here() -> None:
    trees = [parse_expression(each) for each, _ in (*CASES, *AGGREGATES)]
    called = {call.name for tree in trees for call in tree.find_all(exp.Anonymous)}
    tables = {name for name, function in FUNCTIONS.items() if function.kind is FunctionKind.TABLE}
    assert set(FUNCTIONS) - tables - called == set()


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return value.asDict(recursive=True)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else value
