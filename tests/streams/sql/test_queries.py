"""The clauses of SELECT."""

from datetime import timedelta
from typing import Any

import pytest

from stoker.streams.sql import SqlError, parse_expression, parse_statement
from stoker.streams.sql import statements as s
from stoker.streams.sql.script import Name

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def query(text: str) -> s.Query:
    statement = parse_statement(text)
    assert isinstance(statement, s.SelectStatement)
    return statement.query


def expression(text: str) -> s.Projection:
    return s.Projection(expression=parse_expression(text))


ITEMS: list[tuple[str, s.SelectItem]] = [
    ("*", s.AllColumns()),
    ("s.*", s.AllColumns(source=Name("S"))),
    ("a->*", s.AllFields(struct=parse_expression("a"))),
    ("s.a[1]->b->*", s.AllFields(struct=parse_expression("s.a[1]->b"))),
    ("a", expression("a")),
    ("a + 1 AS b", s.Projection(expression=parse_expression("a + 1"), alias=Name("B"))),
    ("a `b c`", s.Projection(expression=parse_expression("a"), alias=Name("b c"))),
    ("a AS emit", s.Projection(expression=parse_expression("a"), alias=Name("EMIT"))),
    ("ROWTIME", expression("ROWTIME")),
    ("a * 2", expression("a * 2")),
]


@pytest.mark.parametrize(("text", "expected"), ITEMS, ids=[text for text, _ in ITEMS])
def test_what_is_selected(text: str, expected: s.SelectItem) -> None:
    assert query(f"SELECT {text} FROM s").items == (expected,)
    assert query(f"SELECT {text}, x FROM s").items == (expected, expression("x"))


WINDOWS: list[tuple[str, s.Window]] = [
    ("TUMBLING (SIZE 1 HOUR)", s.Window(kind=s.WindowKind.TUMBLING, size=HOUR)),
    (
        "TUMBLING (SIZE 1 HOUR, RETENTION 7 DAYS, GRACE PERIOD 5 MINUTES)",
        s.Window(kind=s.WindowKind.TUMBLING, size=HOUR, retention=timedelta(days=7), grace=5 * MINUTE),
    ),
    (
        "HOPPING (SIZE 5 MINUTES, ADVANCE BY 1 MINUTE, GRACE PERIOD 0 SECONDS)",
        s.Window(kind=s.WindowKind.HOPPING, size=5 * MINUTE, advance=MINUTE, grace=timedelta()),
    ),
    (
        "SESSION (30 MINUTES, GRACE PERIOD 10 MILLISECONDS)",
        s.Window(kind=s.WindowKind.SESSION, size=30 * MINUTE, grace=timedelta(milliseconds=10)),
    ),
    ("SESSION (60 SECONDS, RETENTION 1 DAY)", s.Window(kind=s.WindowKind.SESSION, size=MINUTE, retention=24 * HOUR)),
]


@pytest.mark.parametrize(("text", "expected"), WINDOWS, ids=[text for text, _ in WINDOWS])
def test_windows(text: str, expected: s.Window) -> None:
    assert query(f"SELECT a FROM s WINDOW {text} GROUP BY a EMIT CHANGES").window == expected


JOINS: list[tuple[str, dict[str, Any]]] = [
    ("JOIN b ON x = y", {"kind": s.JoinKind.INNER}),
    ("INNER JOIN b ON x = y", {"kind": s.JoinKind.INNER}),
    ("LEFT JOIN b ON x = y", {"kind": s.JoinKind.LEFT}),
    ("LEFT OUTER JOIN b ON x = y", {"kind": s.JoinKind.LEFT}),
    ("RIGHT JOIN b ON x = y", {"kind": s.JoinKind.RIGHT}),
    ("FULL OUTER JOIN b ON x = y", {"kind": s.JoinKind.FULL}),
    ("FULL JOIN b ON x = y", {"kind": s.JoinKind.FULL}),
    ("JOIN b WITHIN 5 MINUTES ON x = y", {"within": s.Within(before=5 * MINUTE, after=5 * MINUTE)}),
    (
        "JOIN b WITHIN 5 MINUTES GRACE PERIOD 1 MINUTE ON x = y",
        {"within": s.Within(before=5 * MINUTE, after=5 * MINUTE, grace=MINUTE)},
    ),
    ("JOIN b WITHIN (1 HOUR, 2 HOURS) ON x = y", {"within": s.Within(before=HOUR, after=2 * HOUR)}),
    (
        "JOIN b WITHIN (0 SECONDS, 2 HOURS) GRACE PERIOD 1 MINUTE ON x = y",
        {"within": s.Within(before=timedelta(), after=2 * HOUR, grace=MINUTE)},
    ),
]


@pytest.mark.parametrize(("text", "parts"), JOINS, ids=[text for text, _ in JOINS])
def test_joins(text: str, parts: dict[str, Any]) -> None:
    expected = s.Join(
        **{"kind": s.JoinKind.INNER, "right": s.Relation(name=Name("B")), "on": parse_expression("x = y"), **parts}
    )
    assert query(f"SELECT * FROM a {text} WHERE z").joins == (expected,)


def test_aliases_and_several_joins() -> None:
    found = query(
        "SELECT * FROM orders AS o JOIN customers c ON o.c = c.id LEFT JOIN items i ON i.id = o.i EMIT CHANGES"
    )
    assert found.source == s.Relation(name=Name("ORDERS"), alias=Name("O"))
    assert [join.right for join in found.joins] == [
        s.Relation(name=Name("CUSTOMERS"), alias=Name("C")),
        s.Relation(name=Name("ITEMS"), alias=Name("I")),
    ]


def test_all_clauses_in_their_order() -> None:
    found = query(
        "SELECT a FROM s WINDOW TUMBLING (SIZE 1 HOUR) WHERE b GROUP BY a, c + 1 PARTITION BY d HAVING COUNT(*) > 1 "
        "EMIT CHANGES LIMIT 10"
    )
    assert found == s.Query(
        items=(expression("a"),),
        source=s.Relation(name=Name("S")),
        window=s.Window(kind=s.WindowKind.TUMBLING, size=HOUR),
        where=parse_expression("b"),
        group_by=(parse_expression("a"), parse_expression("c + 1")),
        partition_by=(parse_expression("d"),),
        having=parse_expression("COUNT(*) > 1"),
        emit=s.Emit.CHANGES,
        limit=10,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a, b", ("a", "b")), ("(a, b)", ("a", "b")), ("(a)", ("(a)",)), ("(a + b) * c, d", ("(a + b) * c", "d"))],
)
def test_what_is_grouped_by_may_be_in_parentheses(text: str, expected: tuple[str, ...]) -> None:
    assert query(f"SELECT a FROM s GROUP BY {text}").group_by == tuple(map(parse_expression, expected))
    assert query(f"SELECT a FROM s PARTITION BY {text}").partition_by == tuple(map(parse_expression, expected))


@pytest.mark.parametrize(
    ("text", "is_push"),
    [
        ("SELECT * FROM t WHERE k = 1", False),
        ("SELECT * FROM t WHERE k = 1 EMIT CHANGES", True),
        ("SELECT * FROM t EMIT FINAL", True),
    ],
)
def test_what_emits_is_a_push_query(text: str, is_push: bool) -> None:
    assert query(text).is_push is is_push


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM s WHERE b WINDOW TUMBLING (SIZE 1 HOUR)",
        "SELECT a FROM s GROUP BY a WHERE b",
        "SELECT a FROM s LIMIT 1 EMIT CHANGES",
        "SELECT a FROM s ORDER BY a",
        "SELECT a FROM s UNION ALL SELECT b FROM t",
        "SELECT DISTINCT a FROM s",
        "SELECT a FROM (SELECT b FROM s)",
        "SELECT (SELECT b FROM s) FROM t",
        "SELECT a FROM s, t",
        "SELECT a FROM s CROSS JOIN t",
        "SELECT a FROM s JOIN t USING (a)",
        "SELECT a",
        "SELECT COUNT(DISTINCT a) FROM s",
        "SELECT SUM(a) OVER (PARTITION BY b) FROM s",
        "SELECT a::INT FROM s",
        "SELECT a FROM s WINDOW TUMBLING (SIZE 0 HOURS) GROUP BY a",
        "SELECT a FROM s WINDOW TUMBLING (SIZE 1.5 HOURS) GROUP BY a",
        "SELECT a FROM s WINDOW TUMBLING (SIZE 99999999999 DAYS) GROUP BY a",
        "SELECT a FROM s WINDOW HOPPING (SIZE 1 HOUR) GROUP BY a",
        "SELECT a FROM s WINDOW SESSION (SIZE 1 HOUR) GROUP BY a",
        "SELECT a FROM s WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 HOUR, GRACE PERIOD 1 HOUR) GROUP BY a",
    ],
)
def test_what_ksqldb_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(SqlError, match=r"line 1, column \d+"):
        parse_statement(text)
