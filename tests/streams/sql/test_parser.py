"""Each kind of statement, and that no text at all makes the parser fail with anything but its own error."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.streams.errors import StreamsError
from stoker.streams.sql import SqlError, iterate, parse, parse_expression, parse_statement, parse_type
from stoker.streams.sql import statements as s
from stoker.streams.sql.script import Name, Origin
from stoker.streams.sql.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Custom,
    Field,
    Map,
    Struct,
)
from stoker.streams.sql.types import Decimal as DecimalType
from stoker.streams.sql.words import RESERVED

DOCUMENTS = """
-- Create a stream from a topic
CREATE STREAM orders (
    order_id VARCHAR,
    customer_id VARCHAR,
    total DOUBLE
) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='AVRO');

-- Continuous query: filter high-value orders into a new topic
CREATE STREAM high_value_orders AS
SELECT * FROM orders WHERE total > 1000;

-- Materialized view: running total per customer
CREATE TABLE customer_totals AS
SELECT customer_id, SUM(total) AS lifetime_value
FROM orders GROUP BY customer_id;
"""
HERE = Origin(script="", text="")
STREAM, TABLE = s.SourceKind.STREAM, s.SourceKind.TABLE


def name(text: str) -> Name:
    return Name(text)


def made(statement: type[s.Statement], /, **parts: Any) -> s.Statement:
    return statement(origin=HERE, **parts)


def properties(**items: s.Value) -> s.Properties:
    return s.Properties(tuple((name(key), value) for key, value in items.items()))


def column(
    text: str, kind: Any, role: s.ColumnRole = s.ColumnRole.VALUE, header: str | None = None
) -> s.ColumnDefinition:
    return s.ColumnDefinition(name=name(text), type=kind, role=role, header=header)


def query(items: str, source: str, **parts: Any) -> s.Query:
    """Of plain projections: `a, b`, or `*`."""
    listed = tuple(
        s.AllColumns() if each == "*" else s.Projection(expression=parse_expression(each)) for each in items.split(", ")
    )
    return s.Query(items=listed, source=s.Relation(name=name(source)), **parts)


CASES: list[tuple[str, s.Statement]] = [
    (
        "CREATE OR REPLACE STREAM s (k INT KEY, v BIGINT, h BYTES HEADER('id'), hs ARRAY<STRUCT<`key` STRING, x BYTES>> HEADERS)",
        made(
            s.CreateSource,
            kind=STREAM,
            name=name("S"),
            columns=(
                column("K", INTEGER, s.ColumnRole.KEY),
                column("V", BIGINT),
                column("H", BYTES, s.ColumnRole.HEADER, "id"),
                column("HS", Array(Struct((Field("key", STRING), Field("X", BYTES)))), s.ColumnRole.HEADERS),
            ),
            or_replace=True,
        ),
    ),
    (
        "create source table if not exists `Users` (id string primary key, tags map<string, array<decimal(4, 2)>>, at_ MY_TYPE) "
        "with (kafka_topic='u', value_format='JSON', partitions=3, replicas=-1, x=1.5, y=1e3, z=true, w=NULL, 'a.b'='c')",
        made(
            s.CreateSource,
            kind=TABLE,
            name=name("Users"),
            columns=(
                column("ID", STRING, s.ColumnRole.PRIMARY_KEY),
                column("TAGS", Map(STRING, Array(DecimalType(4, 2)))),
                column("AT_", Custom("MY_TYPE")),
            ),
            properties=properties(
                KAFKA_TOPIC="u", VALUE_FORMAT="JSON", PARTITIONS=3, REPLICAS=-1, X=Decimal("1.5"), Y=1e3, Z=True, W=None,
                **{"a.b": "c"},
            ),
            if_not_exists=True,
            is_source=True,
        ),
    ),
    ("CREATE STREAM s WITH (KAFKA_TOPIC='t')", made(s.CreateSource, kind=STREAM, name=name("S"), properties=properties(KAFKA_TOPIC="t"))),
    (
        "CREATE TABLE t WITH (FORMAT='AVRO') AS SELECT a FROM s GROUP BY a EMIT FINAL",
        made(
            s.CreateAsSelect,
            kind=TABLE,
            name=name("T"),
            properties=properties(FORMAT="AVRO"),
            query=query("a", "S", group_by=(parse_expression("a"),), emit=s.Emit.FINAL),
        ),
    ),
    (
        "CREATE OR REPLACE STREAM IF NOT EXISTS t AS SELECT * FROM s",
        made(s.CreateAsSelect, kind=STREAM, name=name("T"), query=query("*", "S"), or_replace=True, if_not_exists=True),
    ),
    ("INSERT INTO t SELECT * FROM s", made(s.InsertIntoSelect, name=name("T"), query=query("*", "S"))),
    (
        "INSERT INTO t WITH (QUERY_ID='q') SELECT a FROM s",
        made(s.InsertIntoSelect, name=name("T"), query=query("a", "S"), properties=properties(QUERY_ID="q")),
    ),
    (
        "INSERT INTO t (a, `b`) VALUES (1 + 2, MAP('k' := 'v'))",
        made(
            s.InsertValues,
            name=name("T"),
            columns=(name("A"), name("b")),
            values=(parse_expression("1 + 2"), parse_expression("MAP('k' := 'v')")),
        ),
    ),
    ("INSERT INTO t VALUES ('a', -1)", made(s.InsertValues, name=name("T"), values=(parse_expression("'a'"), parse_expression("-1")))),
    ("SELECT a FROM s EMIT CHANGES", made(s.SelectStatement, query=query("a", "S", emit=s.Emit.CHANGES))),
    (
        "ALTER STREAM s ADD COLUMN a INT, ADD b STRUCT<c TIMESTAMP>",
        made(
            s.AlterSource,
            kind=STREAM,
            name=name("S"),
            added=(s.AddedColumn(name=name("A"), type=INTEGER), s.AddedColumn(name=name("B"), type=Struct((Field("C", TIMESTAMP),)))),
        ),
    ),
    ("DROP STREAM s", made(s.DropSource, kind=STREAM, name=name("S"))),
    ("DROP TABLE IF EXISTS t DELETE TOPIC", made(s.DropSource, kind=TABLE, name=name("T"), if_exists=True, delete_topic=True)),
    ("CREATE TYPE a AS STRUCT<x DOUBLE>", made(s.CreateType, name=name("A"), type=Struct((Field("X", DOUBLE),)))),
    ("CREATE TYPE IF NOT EXISTS a AS INT", made(s.CreateType, name=name("A"), type=INTEGER, if_not_exists=True)),
    ("DROP TYPE IF EXISTS a", made(s.DropType, name=name("A"), if_exists=True)),
    (
        "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('connector.class'='x', tasks=1)",
        made(
            s.CreateConnector,
            kind=s.ConnectorKind.SINK,
            name=name("C"),
            properties=properties(**{"connector.class": "x"}, TASKS=1),
            if_not_exists=True,
        ),
    ),
    ("CREATE SOURCE CONNECTOR c WITH (a='b')", made(s.CreateConnector, kind=s.ConnectorKind.SOURCE, name=name("C"), properties=properties(A="b"))),
    ("DROP CONNECTOR IF EXISTS c", made(s.DropConnector, name=name("C"), if_exists=True)),
    *((f"SHOW {what.value}", made(s.Show, what=what)) for what in s.Shown),
    ("LIST ALL TOPICS EXTENDED", made(s.Show, what=s.Shown.ALL_TOPICS, extended=True)),
    ("list queries extended", made(s.Show, what=s.Shown.QUERIES, extended=True)),
    ("DESCRIBE s", made(s.Describe, name=name("S"))),
    ("DESCRIBE `s` EXTENDED", made(s.Describe, name=name("s"), extended=True)),
    ("DESCRIBE STREAMS EXTENDED", made(s.DescribeStreams, extended=True)),
    ("DESCRIBE TABLES", made(s.DescribeTables)),
    ("DESCRIBE FUNCTION ucase", made(s.DescribeFunction, name=name("UCASE"))),
    ("DESCRIBE CONNECTOR c", made(s.DescribeConnector, name=name("C"))),
    ("DESCRIBE function", made(s.Describe, name=name("FUNCTION"))),
    ("PRINT 'my-topic'", made(s.Print, topic=name("my-topic"))),
    ("PRINT myTopic FROM BEGINNING INTERVAL 2 LIMIT 3", made(s.Print, topic=name("myTopic"), from_beginning=True, interval=2, limit=3)),
    ("TERMINATE q_1", made(s.ControlQuery, action=s.QueryAction.TERMINATE, query_id=name("Q_1"))),
    ("TERMINATE ALL", made(s.ControlQuery, action=s.QueryAction.TERMINATE, query_id=None)),
    ("PAUSE q", made(s.ControlQuery, action=s.QueryAction.PAUSE, query_id=name("Q"))),
    ("resume all", made(s.ControlQuery, action=s.QueryAction.RESUME, query_id=None)),
    ("EXPLAIN q", made(s.Explain, query_id=name("Q"))),
    ("EXPLAIN SELECT a FROM s", made(s.Explain, statement=made(s.SelectStatement, query=query("a", "S")))),
    ("SET 'auto.offset.reset' = 'earliest'", made(s.SetProperty, name=name("auto.offset.reset"), value="earliest")),
    ("UNSET 'auto.offset.reset'", made(s.UnsetProperty, name=name("auto.offset.reset"))),
    ("ALTER SYSTEM 'a'='b'", made(s.AlterSystem, name=name("a"), value="b")),
    ("DEFINE topic = 'x'", made(s.Define, name=name("topic"), value="x")),
    ("UNDEFINE topic", made(s.Undefine, name=name("topic"))),
    ("RUN SCRIPT '/a/b.sql'", made(s.RunScript, path=name("/a/b.sql"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_statements(text: str, expected: s.Statement) -> None:
    assert parse_statement(text) == expected
    assert parse_statement(f"  {text} ; -- the end") == expected


def test_every_kind_of_statement_is_parsed_here() -> None:
    assert {kind.__name__ for kind in s.Statement.__subclasses__()} == {
        type(statement).__name__ for _, statement in CASES
    }


def test_the_documents_statements() -> None:
    orders, high_value, totals = parse(DOCUMENTS)
    assert orders == made(
        s.CreateSource,
        kind=STREAM,
        name=name("ORDERS"),
        columns=(column("ORDER_ID", STRING), column("CUSTOMER_ID", STRING), column("TOTAL", DOUBLE)),
        properties=properties(KAFKA_TOPIC="orders", VALUE_FORMAT="AVRO"),
    )
    where = parse_expression("total > 1000")
    assert high_value == made(
        s.CreateAsSelect, kind=STREAM, name=name("HIGH_VALUE_ORDERS"), query=query("*", "ORDERS", where=where)
    )
    customer, total = parse_expression("customer_id"), parse_expression("SUM(total)")
    items = (s.Projection(expression=customer), s.Projection(expression=total, alias=name("LIFETIME_VALUE")))
    assert totals == made(
        s.CreateAsSelect,
        kind=TABLE,
        name=name("CUSTOMER_TOTALS"),
        query=s.Query(items=items, source=s.Relation(name=name("ORDERS")), group_by=(customer,)),
    )
    assert high_value.text == "CREATE STREAM high_value_orders AS\nSELECT * FROM orders WHERE total > 1000"


def test_properties_are_a_mapping_whose_keys_know_their_place() -> None:
    statement = parse_statement("CREATE STREAM s\nWITH (kafka_topic = 't', partitions = 2)")
    assert isinstance(statement, s.CreateSource)
    assert dict(statement.properties) == {"KAFKA_TOPIC": "t", "PARTITIONS": 2}
    assert statement.properties["PARTITIONS"] == 2
    assert "NOPE" not in statement.properties
    places = [key.span.origin.position(key.span.start)[:2] for key in statement.properties if key.span]
    assert places == [(2, 7), (2, 26)]


def test_a_script_has_any_number_of_statements() -> None:
    text = "SHOW TABLES;;\n/* one; two */ LIST STREAMS -- three;\n;; PRINT 'a;b'"
    assert [type(each) for each in parse(text)] == [s.Show, s.Show, s.Print]
    assert parse(" -- nothing\n;") == ()


def test_variables_hold_for_the_statements_after_them() -> None:
    script = "DEFINE t = 'x'; PRINT '${T}'; DEFINE T = 'y'; PRINT '${t}'; UNDEFINE t; PRINT '${t}';"
    topics = [each.topic for each in parse(script, variables={"t": "w"}) if isinstance(each, s.Print)]
    assert topics == ["x", "y", "${t}"]


def test_statements_can_be_run_while_they_are_parsed() -> None:
    variables: dict[str, str] = {}
    found = []
    for statement in iterate("RUN SCRIPT 'a'; PRINT '${defined_there}'; SELECT", variables=variables):
        found.append(statement)
        variables["DEFINED_THERE"] = "topic"
        if len(found) == 2:
            break
    assert found[1] == made(s.Print, topic=name("topic"))


@pytest.mark.parametrize(("text", "reason"), [("SHOW TABLES; SHOW STREAMS", "2 statements"), ("  ", "no statement")])
def test_one_statement_is_one(text: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        parse_statement(text)


def test_statements_are_equal_wherever_they_are_written_and_not_to_be_changed() -> None:
    first, second = parse("DROP TABLE a; drop table A;")
    assert first == second
    with pytest.raises(AttributeError):
        first.name = "b"  # type: ignore[attr-defined]


def test_time_spans() -> None:
    statement = parse_statement("SELECT a FROM s WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY 90 SECONDS) GROUP BY a")
    assert isinstance(statement, s.SelectStatement)
    assert statement.query.window == s.Window(
        kind=s.WindowKind.HOPPING, size=timedelta(days=1), advance=timedelta(seconds=90)
    )


WORDS = [
    *RESERVED, "IF", "KEY", "PRIMARY", "EMIT", "CHANGES", "OR", "REPLACE", "SOURCE", "SINK", "SET", "DEFINE", "TYPE", "SHOW",
    "a", "`q`", '"d"', "x1", "STRUCT", "MAP", "ARRAY", "INT", "COUNT", "TRANSFORM", "DATEADD", "DATE", "'s'", "1", "2.5", "1e9", ".5",
    "(", ")", "[", "]", "<", ">", ",", ".", ";", "=", "<>", "!=", ":=", "->", "=>", "*", "+", "-", "/", "%", "||", "--", "/*", "*/",
    "${v}", "$${v}", "'${v}'", "\n", "'", "`", "é", "{", "#", "\\", "?", "@", "1_0", "N'x'", "0x1F", "99999999999999999999",
]  # fmt: skip


def refusal(rule: Callable[[str], object], text: str) -> SqlError | None:
    """Anything else that is raised fails the test."""
    try:
        rule(text)
    except SqlError as error:
        return error
    return None


@given(st.text() | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_is_parsed_or_refused_with_its_place(text: str) -> None:
    for rule in (parse, parse_expression, parse_type):
        error = refusal(rule, text)
        assert error is None or (isinstance(error, StreamsError) and error.line and error.column and "^" in str(error))


@given(st.data())
def test_a_statement_that_is_cut_or_mixed_up_is_parsed_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text, _ in CASES] + [DOCUMENTS]))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    other = data.draw(st.sampled_from(["", *WORDS]))
    variables = {"v": data.draw(st.text(max_size=5))}
    error = refusal(lambda each: parse(each, variables=variables), text[:start] + other + text[end:])
    assert error is None or error.line


@pytest.mark.parametrize("piece", ["(", "f(", "ARRAY[", "CASE ", "NOT ", "- ", "a[", "STRUCT(a := ", "CASE WHEN "])
def test_what_is_nested_without_end_is_refused(piece: str) -> None:
    with pytest.raises(SqlError, match=r"nested at most|nested too deeply"):
        parse_expression(piece * 5000 + "1")


def test_long_statements_are_no_problem() -> None:
    condition = " OR ".join(f"a = {number}" for number in range(3000))
    assert len(parse(f"SELECT a FROM s WHERE {condition};" * 2)) == 2
