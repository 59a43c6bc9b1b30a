"""Expressions as trees of sqlglot, there and back."""

import inspect
import pkgutil
from importlib import import_module
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, generator, parser

import stoker.streams.sql
from stoker.streams.sql import SqlError, parse_expression
from stoker.streams.sql.dialect import KsqlDialect
from stoker.streams.sql.errors import span_of
from stoker.streams.sql.words import PSEUDO_COLUMNS, RESERVED


class Writer(generator.Generator):
    """Expressions as ksqlDB writes them."""

    TYPE_MAPPING: ClassVar[Any] = {exp.DType.VARBINARY: "BYTES", exp.DType.VARCHAR: "STRING"}
    TRANSFORMS: ClassVar[Any] = {
        **generator.Generator.TRANSFORMS,
        exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
        exp.Dot: lambda self, node: f"{self.sql(node, 'this')}->{self.sql(node, 'expression')}",
        exp.Lambda: lambda self, node: f"({self.expressions(node, flat=True)}) => {self.sql(node, 'this')}",
        exp.Map: lambda self, node: f"MAP({_pairs(self, node)})",
        exp.PropertyEQ: lambda self, node: f"{self.sql(node, 'this')} := {self.sql(node, 'expression')}",
        exp.Struct: lambda self, node: f"STRUCT({self.expressions(node, flat=True)})",
    }


def _pairs(writer: generator.Generator, node: exp.Map) -> str:
    pairs = zip(node.args["keys"].expressions, node.args["values"].expressions, strict=True)
    return ", ".join(f"{writer.sql(key)} := {writer.sql(value)}" for key, value in pairs)


def written(tree: exp.Expr) -> str:
    return Writer(dialect=KsqlDialect, comments=False).generate(tree)


WRITTEN: list[tuple[str, str]] = [
    ("a", "A"),
    ("`a b`.\"C\"", "`a b`.`C`"),
    ("s.a", "S.A"),
    ("1abc", "1ABC"),
    ("a@b", "A@B"),
    ("'it''s'", "'it''s'"),
    ("1 + 2 * 3 - 4 % 5 / 6", "1 + 2 * 3 - 4 % 5 / 6"),
    ("(1 + 2) * -3", "(1 + 2) * -3"),
    ("+a", "A"),
    ("a || b || 'c'", "A || B || 'c'"),
    (".5", "0.5"),
    ("1.5e-3", "1.5e-3"),
    ("a or b and not c", "A OR B AND NOT C"),
    ("a = 1 and b <> 2 and c != 3 and d <= 4", "A = 1 AND B <> 2 AND C <> 3 AND D <= 4"),
    ("a between 1 and 2 or b not between 3 and 4", "A BETWEEN 1 AND 2 OR NOT B BETWEEN 3 AND 4"),
    ("a in (1, 2) and b not in ('x')", "A IN (1, 2) AND NOT B IN ('x')"),
    ("a like 'x%' escape '!'", "A LIKE 'x%' ESCAPE '!'"),
    ("a is null or b is not null", "A IS NULL OR NOT B IS NULL"),
    ("a is distinct from b", "A IS DISTINCT FROM B"),
    ("a is not distinct from b", "A IS NOT DISTINCT FROM B"),
    ("case when a then 1 when b then 2 else 3 end", "CASE WHEN A THEN 1 WHEN B THEN 2 ELSE 3 END"),
    ("case a when 1 then 'x' end", "CASE A WHEN 1 THEN 'x' END"),
    ("cast(a as varchar(20))", "CAST(A AS STRING)"),
    ("cast(a as map<string, array<struct<b decimal(4, 2)>>>)", "CAST(A AS MAP<STRING, ARRAY<STRUCT<B DECIMAL(4, 2)>>>)"),
    ("cast(a as bytes)", "CAST(A AS BYTES)"),
    ("date '2020-01-01'", "CAST('2020-01-01' AS DATE)"),
    ("a->b->c[1]['k']", "A->B->C[1]['k']"),
    ("f(a)->b", "F(A)->B"),
    ("struct(a := 1, `b` := x)", "STRUCT(A := 1, `b` := X)"),
    ("map('a' := 1, b := 2)", "MAP('a' := 1, B := 2)"),
    ("map()", "MAP()"),
    ("array[1, array[]]", "ARRAY[1, ARRAY[]]"),
    ("ucase(substring(a, 1))", "UCASE(SUBSTRING(A, 1))"),
    ("count(*) + now()", "COUNT(*) + NOW()"),
    ("transform(a, x => x + 1)", "TRANSFORM(A, (X) => X + 1)"),
    ("reduce(a, 0, (s, x) => s + x)", "REDUCE(A, 0, (S, X) => S + X)"),
    ("f((a), (b + c))", "F((A), (B + C))"),
    ("dateadd(days, 1, day)", "DATEADD(DAYS, 1, DAY)"),
    ("replace(date, map, array)", "REPLACE(DATE, MAP, ARRAY)"),
    ("true and null is null", "TRUE AND NULL IS NULL"),
    ("a -- one\n + /* two */ b", "A + B"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRITTEN, ids=[text for text, _ in WRITTEN])
def test_expressions_are_written_as_they_are_read(text: str, expected: str) -> None:
    tree = parse_expression(text)
    assert written(tree) == expected
    assert parse_expression(written(tree)) == tree


def test_the_compiled_build_of_sqlglot_can_be_used() -> None:
    """Of its parser, its generator and its expressions no class can be derived there, and it may come with other packages."""
    names = [each.name for each in pkgutil.iter_modules(stoker.streams.sql.__path__, "stoker.streams.sql.")]
    classes = [each for name in names for _, each in inspect.getmembers(import_module(name), inspect.isclass)]
    ours = [each for each in classes if each.__module__ in names]
    assert len(ours) > 50
    assert [each for each in ours if issubclass(each, (parser.Parser, generator.Generator, exp.Expr))] == []


TREES: list[tuple[str, exp.Expr]] = [
    ("a->b", exp.Dot(this=exp.column("A"), expression=exp.to_identifier("B"))),
    ("a[1]", exp.Bracket(this=exp.column("A"), expressions=[exp.Literal.number(1)], offset=1)),
    ("f(a)", exp.Anonymous(this="F", expressions=[exp.column("A")])),
    ("s.a", exp.column("A", table="S")),
    ("not a", exp.Not(this=exp.column("A"))),
]


@pytest.mark.parametrize(("text", "expected"), TREES, ids=[text for text, _ in TREES])
def test_trees(text: str, expected: exp.Expr) -> None:
    assert parse_expression(text) == expected


def test_variables_of_lambdas_are_no_columns() -> None:
    tree = parse_expression("TRANSFORM(a, x => x + y + TRANSFORM(b, y => y + x + x->z))")
    assert sorted(column.name for column in tree.find_all(exp.Column)) == ["A", "B", "Y"]


def test_a_lambda_may_be_its_variable() -> None:
    tree = parse_expression("TRANSFORM(a, x => x)")
    assert [column.name for column in tree.find_all(exp.Column)] == ["A"]


@pytest.mark.parametrize("name", PSEUDO_COLUMNS)
def test_pseudo_columns_are_columns(name: str) -> None:
    assert parse_expression(name.lower()) == exp.column(name)


@pytest.mark.parametrize("word", sorted(RESERVED - {"NULL", "TRUE", "FALSE"}))
def test_reserved_words_are_names_only_in_quotes(word: str) -> None:
    assert parse_expression(f"`{word}`").name == word
    with pytest.raises(SqlError):
        parse_expression(f"x + {word}")


PLACES: list[tuple[str, type[exp.Expr], str]] = [
    ("1 +\n  ucase(a->b)", exp.Anonymous, "ucase"),
    ("1 +\n  ucase(a->b)", exp.Column, "a"),
    ("1 +\n  ucase(a->b)", exp.Dot, "a->b"),
    ("1 + ucase(s.a)", exp.Column, "s.a"),
    ("a = 'it''s'", exp.Literal, "'it''s'"),
    ("a + .5", exp.Literal, ".5"),
    ("f(`a b`)", exp.Identifier, "`a b`"),
    ("cast(a as foo)", exp.DataType, "foo"),
    ("a AND TRUE", exp.Boolean, "TRUE"),
    ("x + CASE WHEN a THEN b END", exp.Case, "CASE"),
    ("f(a[i + 1])", exp.Bracket, "a[i + 1"),
    ("a + b * c", exp.Mul, "b * c"),
]


@pytest.mark.parametrize(
    ("text", "kind", "expected"), PLACES, ids=[f"{text}: {kind.__name__}" for text, kind, _ in PLACES]
)
def test_expressions_know_where_they_are(text: str, kind: type[exp.Expr], expected: str) -> None:
    node = parse_expression(text).find(kind)
    assert node is not None
    for each in (node, node.copy()):
        span = span_of(each)
        assert span is not None
        assert text[span.start : span.end] == expected


def test_what_nobody_wrote_is_nowhere() -> None:
    assert span_of(exp.column("A")) is None
    assert str(SqlError("no such column", exp.column("A"))) == "no such column"


NAMES = st.sampled_from(["a", "s.b", "`x y`", "1", "2.5", "'t'", "NULL", "TRUE"])


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(parts, st.sampled_from("+-*/%"), parts).map(" ".join).map("({})".format),
        st.tuples(parts, st.sampled_from(["=", "<>", "<", "AND", "OR", "||"]), parts).map(" ".join).map("({})".format),
        parts.map("(NOT ({}))".format),
        parts.map("(({}) IS NOT NULL)".format),
        parts.map("F({})".format),
        parts.map("G(x => {})".format),
        parts.map("ARRAY[{}, 1]".format),
        parts.map("STRUCT(q := {})->q".format),
        parts.map("CAST({} AS ARRAY<INT>)[1]".format),
        parts.map("CASE WHEN {} THEN 1 ELSE a END".format),
    )


@given(st.recursive(NAMES, combined, max_leaves=12))
def test_any_expression_survives_being_written_and_read(text: str) -> None:
    tree = parse_expression(text)
    assert parse_expression(written(tree)) == tree
