"""What is wrong, where, and what could have been there instead."""

from textwrap import dedent

import pytest

from stoker.streams.sql import (
    SqlError,
    SqlSyntaxError,
    UnknownFunction,
    parse,
    parse_expression,
    parse_statement,
    to_spark,
)
from stoker.streams.sql.errors import near
from stoker.streams.sql.statements import CreateSource

REFUSED: list[tuple[str, str]] = [
    (
        "SELECT a\nFORM orders;",
        """
        line 2, column 6: found 'orders', expected ',' or FROM: did you mean FROM in place of FORM?
          FORM orders;
               ^^^^^^
        """,
    ),
    (
        "SELECT a, FROM s",
        """
        line 1, column 11: found 'FROM', expected an expression or '*'
          SELECT a, FROM s
                    ^^^^
        """,
    ),
    (
        "SELECT a FROM s WHERE",
        """
        line 1, column 22: found the end of the statement, expected an expression
          SELECT a FROM s WHERE
                               ^
        """,
    ),
    (
        "SELECT a FROM s EMIT CHANGE",
        """
        line 1, column 22: found 'CHANGE', expected CHANGES or FINAL: did you mean CHANGES in place of CHANGE?
          SELECT a FROM s EMIT CHANGE
                               ^^^^^^
        """,
    ),
    (
        "CREATE STREAM s (id INT, size INT)",
        """
        line 1, column 26: found 'size', expected the name of a column: SIZE is a reserved word; as a name it is written `SIZE`
          CREATE STREAM s (id INT, size INT)
                                   ^^^^
        """,
    ),
    (
        "CREATE STREAM s (id INT PRIMARY KEY)",
        """
        line 1, column 25: found 'PRIMARY', expected KEY: tables have a PRIMARY KEY, streams a KEY
          CREATE STREAM s (id INT PRIMARY KEY)
                                  ^^^^^^^
        """,
    ),
    (
        "CREATE TABLE t (id INT KEY)",
        """
        line 1, column 24: found 'KEY', expected PRIMARY KEY: tables have a PRIMARY KEY, streams a KEY
          CREATE TABLE t (id INT KEY)
                                 ^^^
        """,
    ),
    (
        "CREATE STREAM s (id INT, Id INT)",
        """
        line 1, column 26: there are two columns ID
          CREATE STREAM s (id INT, Id INT)
                                   ^^
        """,
    ),
    (
        "CREATE STREAM s (a DECIMAL(4, 5))",
        """
        line 1, column 31: found '5', expected the number of digits after the point from 0 to 4
          CREATE STREAM s (a DECIMAL(4, 5))
                                        ^
        """,
    ),
    (
        "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='a', kafka_topic='b')",
        """
        line 1, column 48: KAFKA_TOPIC is there twice
          CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='a', kafka_topic='b')
                                                         ^^^^^^^^^^^
        """,
    ),
    (
        "CREATE STREAM s WITH (KAFKA_TOPIC=orders)",
        """
        line 1, column 35: found 'orders', expected a value: a string in quotes, a number, TRUE, FALSE or NULL
          CREATE STREAM s WITH (KAFKA_TOPIC=orders)
                                            ^^^^^^
        """,
    ),
    (
        "SELECT a FROM s WINDOW TUMBLING (SIZE 1 FORTNIGHT) GROUP BY a",
        """
        line 1, column 41: found 'FORTNIGHT', expected MILLISECOND, MILLISECONDS, SECOND, SECONDS, MINUTE, MINUTES, HOUR, HOURS, DAY or DAYS
          SELECT a FROM s WINDOW TUMBLING (SIZE 1 FORTNIGHT) GROUP BY a
                                                  ^^^^^^^^^
        """,
    ),
    (
        "SELECT * FROM a JOIN b WITHIN 5 MINUTES",
        """
        line 1, column 40: found the end of the statement, expected GRACE PERIOD or ON
          SELECT * FROM a JOIN b WITHIN 5 MINUTES
                                                 ^
        """,
    ),
    (
        "SELECT a FROM s ORDER BY a",
        """
        line 1, column 17: found 'ORDER', expected the end of the statement, AS, INNER, LEFT, RIGHT, FULL, JOIN, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, EMIT or LIMIT
          SELECT a FROM s ORDER BY a
                          ^^^^^
        """,
    ),
    (
        "INSERT INTO s (a, b) VALUES (1)",
        """
        line 1, column 30: there are 2 columns and 1 values
          INSERT INTO s (a, b) VALUES (1)
                                       ^
        """,
    ),
    (
        "SHOW STREAM",
        """
        line 1, column 6: found 'STREAM', expected STREAMS, TABLES, TOPICS, ALL, QUERIES, FUNCTIONS, PROPERTIES, TYPES, VARIABLES, CONNECTORS, SOURCE, SINK or CONNECTOR: did you mean STREAMS in place of STREAM?
          SHOW STREAM
               ^^^^^^
        """,
    ),
    (
        "SELECT 1 FROM s WHERE a = 99999999999999999999",
        """
        line 1, column 27: found '99999999999999999999', expected a number with fewer digits
          SELECT 1 FROM s WHERE a = 99999999999999999999
                                    ^^^^^^^^^^^^^^^^^^^^
        """,
    ),
    (
        "DEFINE t = 'b'; SELECT a FROM s WHERE x = ${t} y",
        """
        line 1, column 48: found 'y', expected the end of the statement, GROUP BY, PARTITION BY, HAVING, EMIT or LIMIT
          DEFINE t = 'b'; SELECT a FROM s WHERE x = ${t} y
                                                         ^
        """,
    ),
    (
        "DEFINE v = 'from'; SELECT a, ${v} FROM s",
        """
        line 1, column 30, in the value of ${v}: found 'from', expected an expression or '*'
          DEFINE v = 'from'; SELECT a, ${v} FROM s
                                       ^^^^
        """,
    ),
    (
        "SELECT\ta\tb\tc FROM s",
        """
        line 1, column 12: found 'c', expected ',' or FROM
          SELECT\ta\tb\tc FROM s
                \t \t \t^
        """,
    ),
    (
        "ASSERT TOPIC x",
        """
        line 1, column 1: found 'ASSERT', expected SELECT, CREATE, INSERT, DROP, SHOW, LIST, DESCRIBE, PRINT, EXPLAIN, TERMINATE, PAUSE, RESUME, SET, UNSET, ALTER, DEFINE, UNDEFINE or RUN
          ASSERT TOPIC x
          ^^^^^^
        """,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_errors_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse(text)
    assert str(refused.value) == dedent(message).strip()


def test_an_error_of_syntax_can_be_read_by_programs() -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        parse("SHOW TABLES;\nSELECT a FROM s EMIT NOTHING")
    error = refused.value
    assert (error.line, error.column, error.found, error.expected) == (2, 22, "NOTHING", ("CHANGES", "FINAL"))
    assert error.statement == "SELECT a FROM s EMIT NOTHING"
    assert error.message == "found 'NOTHING', expected CHANGES or FINAL"


def test_a_later_refusal_points_at_what_it_means() -> None:
    statement = parse_statement("CREATE STREAM s (a INT)\n  WITH (VALUE_FORMAT = 'XML')")
    assert isinstance(statement, CreateSource)
    key = next(iter(statement.properties))
    assert str(SqlError("there is no format XML", key)) == (
        "line 2, column 9: there is no format XML\n    WITH (VALUE_FORMAT = 'XML')\n          ^^^^^^^^^^^^"
    )
    assert str(SqlError("it exists", statement.name)).startswith("line 1, column 15: it exists\n")
    assert str(SqlError("not now", statement)).splitlines()[2] == "  " + "^" * 23


def test_of_a_long_line_the_part_around_is_shown() -> None:
    text = "SELECT " + ", ".join(f"column_{number}" for number in range(100)) + " FROM s WHERE ) AND " + "x" * 200
    with pytest.raises(SqlError) as refused:
        parse(text)
    _, line, mark = str(refused.value).splitlines()
    assert line.startswith("  ...")
    assert line.endswith("...")
    assert line[mark.index("^")] == ")"


def test_an_unknown_function_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(UnknownFunction) as refused:
        to_spark(parse_expression("1 + SUBSTRNG(a, 1)"))
    assert refused.value.near == ("SUBSTRING",)
    assert str(refused.value) == (
        "line 1, column 5: there is no function SUBSTRNG: did you mean SUBSTRING?\n  1 + SUBSTRNG(a, 1)\n      ^^^^^^^^"
    )
    with pytest.raises(UnknownFunction, match="SHOW FUNCTIONS lists those there are"):
        to_spark(parse_expression("zzzzzz()"))


def test_near_names() -> None:
    assert near("TOTL", ["TOTAL", "ID", "TOTALS"]) == ("TOTAL", "TOTALS")
    assert near("X", ["TOTAL"]) == ()
