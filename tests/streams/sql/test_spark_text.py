"""Expressions as Spark SQL, as far as it can be judged without Spark."""

from collections.abc import Mapping

import pytest
from sqlglot import exp

from stoker.streams.aggregates import aggregation
from stoker.streams.sql import FUNCTIONS, SqlError, UnsupportedExpression, parse_expression, to_spark
from stoker.streams.sql.calls import Function, FunctionKind
from stoker.streams.sql.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Array, Decimal, Field, Map, SqlType, Struct

TYPES: Mapping[str, SqlType] = {
    "I": INTEGER,
    "L": BIGINT,
    "D": DOUBLE,
    "M": Decimal(6, 2),
    "S": STRING,
    "B": BYTES,
    "IS_": Array(INTEGER),
    "SS": Array(STRING),
    "MAP_": Map(STRING, INTEGER),
    "ST": Struct((Field("X", INTEGER), Field("Y", STRING))),
}


def type_of(column: exp.Column) -> SqlType | None:
    return TYPES.get(column.name)


CASES: list[tuple[str, str]] = [
    ("a", "`A`"),
    ("s.`a``b`", "`S`.`a``b`"),
    ("a->b->c", "`A`['B']['C']"),
    ("unknown[1]", "try_element_at(`UNKNOWN`, 1)"),
    ("is_[i]", "try_element_at(`IS_`, nullif(`I`, 0))"),
    ("map_[s]", "try_element_at(`MAP_`, `S`)"),
    ("a + b", "try_add(`A`, `B`)"),
    ("s + a", "concat(`S`, `A`)"),
    ("st->y + a", "concat(`ST`['Y'], `A`)"),
    ("ss[1] + a", "concat(try_element_at(`SS`, 1), `A`)"),
    ("a / b", "try_divide(`A`, `B`)"),
    ("i / 2", "CAST((`I` div nullif(2, 0)) AS INT)"),
    ("i / l", "(`I` div nullif(`L`, 0))"),
    ("st->x / (i + 1)", "CAST((`ST`['X'] div nullif((try_add(`I`, 1)), 0)) AS INT)"),
    ("LEN(s) / 2", "CAST((length(`S`) div nullif(2, 0)) AS INT)"),
    ("d / 2", "try_divide(`D`, 2)"),
    ("m / 2", "try_divide(`M`, 2)"),
    ("a AND (b OR NOT c)", "`A` AND (`B` OR (NOT `C`))"),
    ("a = 1 OR a = 2 OR b", "(`A` = 1) OR (`A` = 2) OR `B`"),
    ("NOT a IS NOT NULL", "NOT (`A` IS NOT NULL)"),
    ("a LIKE 'x'", "`A` LIKE 'x'"),
    ("a LIKE b", "`A` LIKE replace(`B`, '\\\\', '\\\\\\\\')"),
    ("a LIKE b ESCAPE '!'", "`A` LIKE `B` ESCAPE '!'"),
    ("'a' LIKE '!!!_' ESCAPE '!'", "'a' LIKE '!\\\\_'"),
    ("'it''s \\'", "'it\\'s \\\\'"),
    ("CAST(a AS ARRAY<INT>)", "try_cast(`A` AS ARRAY<INT>)"),
    ("CAST(a AS BYTES)", "try_cast(`A` AS BINARY)"),
    ("CAST(s AS BYTES)", "try_to_binary(`S`, 'base64')"),
    ("CAST(a AS point)", "try_cast(`A` AS STRUCT<`LAT`: DOUBLE>)"),
    ("STRUCT(a := 1)", "named_struct('A', 1)"),
    ("MAP('a' := 1)", "map('a', 1)"),
    ("ARRAY[1, a = 2]", "array(1, `A` = 2)"),
    ("UCASE(a || b)", "upper((`A` || `B`))"),
    ("CEIL(a)", "ceil(`A`)"),
    ("CEIL(l)", "`L`"),
    ("CEIL(m)", "try_cast(ceil(`M`) AS DECIMAL(6, 2))"),
    ("ROUND(l)", "CAST(`L` AS BIGINT)"),
    ("CONCAT(b, a)", "concat(coalesce(`B`, X''), coalesce(`A`, X''))"),
    ("TRANSFORM(is_, x => x / 2)", "transform(`IS_`, `X` -> CAST((`X` div nullif(2, 0)) AS INT))"),
    ("TRANSFORM(a, x => x / 2)", "transform(`A`, `X` -> try_divide(`X`, 2))"),
    ("FILTER(map_, (k, v) => k + 'x' = s)", "map_filter(`MAP_`, (`K`, `V`) -> (concat(`K`, 'x') = `S`))"),
    ("TRANSFORM(is_, x => x)[1] / 2", "CAST((try_element_at(transform(`IS_`, `X` -> `X`), 1) div nullif(2, 0)) AS INT)"),
    ("CASE WHEN a THEN s ELSE b END + c", "concat(CASE WHEN `A` THEN `S` ELSE `B` END, `C`)"),
    ("DATESUB(DAYS, -1, a)", "CAST(timestampadd(DAY, (-(-1)), `A`) AS DATE)"),
    ("COUNT()", "count(*)"),
    ("LATEST_BY_OFFSET(a)", "max_by(`A`, ROWOFFSET) FILTER (WHERE `A` IS NOT NULL)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_texts(text: str, expected: str) -> None:
    custom = {"POINT": Struct((Field("LAT", DOUBLE),))}
    assert to_spark(parse_expression(text), type_of=type_of, custom_types=custom) == expected


STREAMS: list[tuple[str, str]] = [
    ("COUNT(*) + SUM(a)", "try_add(count(*), sum(`A`))"),
    ("LATEST_BY_OFFSET(a, true)", "latest(`A`)"),
    ("EARLIEST_BY_OFFSET(UCASE(a))", "earliest(upper(`A`))"),
    ("TOPK(a, 3)[1]", "try_element_at(topk(`A`, 3), 1)"),
    ("COUNT_DISTINCT(a)", "count_distinct(`A`)"),
]


@pytest.mark.parametrize(("text", "expected"), STREAMS, ids=[text for text, _ in STREAMS])
def test_aggregates_of_streams(text: str, expected: str) -> None:
    assert to_spark(parse_expression(text), for_streams=True) == expected


@pytest.mark.parametrize("function", [each for each in FUNCTIONS.values() if each.streams], ids=lambda each: each.name)
def test_the_streams_have_these_aggregates(function: Function) -> None:
    arguments = "a, 2" if function.arguments.endswith(", count") else "a"
    text = to_spark(parse_expression(f"{function.name}({arguments})"), for_streams=True)
    assert len(aggregation({"x": text}).calls) == 1


@pytest.mark.parametrize(
    "text", ["HISTOGRAM(a)", "CORRELATION(a, b)", "LATEST_BY_OFFSET(a, 2)", "LATEST_BY_OFFSET(a, false)"]
)
def test_aggregates_that_no_running_query_can_keep(text: str) -> None:
    to_spark(parse_expression(text))
    with pytest.raises(UnsupportedExpression, match="a running query can"):
        to_spark(parse_expression(text), for_streams=True)


def test_which_record_came_later_is_the_callers_to_say() -> None:
    text = to_spark(parse_expression("EARLIEST_BY_OFFSET(a)"), record_order="`_order`")
    assert text == "min_by(`A`, `_order`) FILTER (WHERE `A` IS NOT NULL)"


REFUSED: list[tuple[str, str, int]] = [
    ("1 + UCASE(a, b)", "UCASE: there is no such function of 2 arguments, but UCASE(text)", 5),
    ("PI(1)", "PI: there is no such function of 1 arguments, but PI()", 1),
    ("CONCAT()", "CONCAT: there is no such function of 0 arguments, but CONCAT(text, ...)", 1),
    ("ROUND(a, b)", "ROUND: the number of digits must be a whole number, written out", 10),
    ("ROUND(a, 19)", "ROUND: the number of digits must be from -18 to 18", 10),
    ("ENCODE(a, 'x', 'hex')", "ENCODE: the encoding must be hex, utf8, ascii or base64", 11),
    ("ENCODE(a, b, 'hex')", "ENCODE: the encoding must be a string in quotes", 11),
    ("DATEADD(a, 1, b)", "DATEADD: the unit must be DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS", 9),
    ("TRANSFORM(a, b)", "TRANSFORM: this must be a lambda with 1 parameters, such as x => x + 1", 14),
    ("TRANSFORM(a, (x, y) => x)", "TRANSFORM: this lambda must have 1 parameters, not 2", 15),
    ("REDUCE(a, 0, x => x)", "REDUCE: this lambda must have 2 or 3 parameters, not 1", 14),
    ("UCASE(x => x)", "a lambda can only be an argument of FILTER, REDUCE or TRANSFORM", 7),
    ("DATEADD(DAYS, DATEADD(DAYS), a)", "DATEADD: there is no such function of 1 arguments, but DATEADD(unit, number, date)", 15),
    ("a LIKE 'x!' ESCAPE '!'", "the pattern ends with the character that escapes", 8),
    ("a LIKE 'x' ESCAPE '!!'", "what escapes must be one character, not '!!'", 19),
    ("CAST(a AS nope)", "there is no type NOPE", 11),
    ("TOPK(a, b)", "TOPK: the count must be a whole number, written out", 9),
    ("LATEST_BY_OFFSET(a, 0)", "LATEST_BY_OFFSET: the count must be at least 1", 21),
    ("LATEST_BY_OFFSET(a, 1, 2)", "LATEST_BY_OFFSET: what is after the count must be TRUE or FALSE", 24),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "column"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_spark_cannot_do_is_refused_with_its_place(text: str, message: str, column: int) -> None:
    with pytest.raises(SqlError) as refused:
        to_spark(parse_expression(text))
    assert refused.value.message.startswith(message)
    assert (refused.value.line, refused.value.column) == (1, column)


def test_what_is_no_expression_of_ksqldb_is_refused() -> None:
    with pytest.raises(UnsupportedExpression, match="there is no Window in ksqlDB's expressions"):
        to_spark(exp.Window(this=exp.column("A")))


def test_thousands_of_conditions_are_no_problem() -> None:
    text = to_spark(parse_expression(" OR ".join(f"a = {number}" for number in range(3000))))
    assert text.count(" OR ") == 2999
    assert text.count("(") == 3000


def test_too_long_a_sum_is_refused() -> None:
    with pytest.raises(UnsupportedExpression, match="too many parts"):
        to_spark(parse_expression(" + ".join(["a"] * 5000)))


def test_what_is_nested_takes_no_longer_for_it() -> None:
    text = "a"
    for _ in range(19):
        text = f"ABS(ROUND({text} / 2))"
    assert to_spark(parse_expression(text), type_of=lambda column: INTEGER).startswith("abs(")


def test_every_function_says_what_it_is() -> None:
    assert all(name == function.name == name.upper() for name, function in FUNCTIONS.items())
    assert all(function.description.endswith(".") for function in FUNCTIONS.values())
    assert list(FUNCTIONS) == sorted(FUNCTIONS)
    assert {kind: sum(each.kind is kind for each in FUNCTIONS.values()) > 1 for kind in FunctionKind} == dict.fromkeys(
        FunctionKind, True
    )
    assert FUNCTIONS["SUBSTRING"].signature == "SUBSTRING(text or bytes, position[, length])"
