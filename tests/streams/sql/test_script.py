"""Cutting scripts into statements, and variables."""

import copy
import pickle

import pytest

from stoker.streams.sql import SqlError
from stoker.streams.sql.script import Name, Origin, Span, statements_of, with_variables


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a; b ;c", ["a", "b", "c"]),
        ("a", ["a"]),
        ("", []),
        (" ; ;\n;", []),
        ("-- x;\n a -- y;\n b; /* z; */ c /* d */", ["a -- y;\n b", "c"]),
        ("'a;b'; \"c;d\"; `e;f`", ["'a;b'", '"c;d"', "`e;f`"]),
        ("'it''s;'; b", ["'it''s;'", "b"]),
        ("'--'; b", ["'--'", "b"]),
        ("/* a /* b */ c", ["c"]),
        ("a\r\n--b\r\nc", ["a\r\n--b\r\nc"]),
    ],
)
def test_statements_end_with_semicolons(script: str, expected: list[str]) -> None:
    assert [script[start:end] for start, end in statements_of(script)] == expected


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("a; 'b", "line 1, column 4: found a string without its closing '"),
        ("a;\n 'it''s", "line 2, column 2: found a string without its closing '"),
        ('"a', 'line 1, column 1: found a quoted name without its closing "'),
        ("a `", "line 1, column 3: found a quoted name without its closing `"),
        ("a /* b", "line 1, column 3: found a comment without its closing */"),
        ("a # b", "line 1, column 3: found '#'"),
        ("a ! b", "line 1, column 3: found '!'"),
        ("${}", "line 1, column 1: found '$'"),
        ("ä", "line 1, column 1: found 'ä': a name with such a character is written in back quotes"),
    ],
)
def test_what_is_in_no_statement_is_refused(script: str, message: str) -> None:
    with pytest.raises(SqlError) as refused:
        list(statements_of(script))
    assert str(refused.value).splitlines()[0] == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ${number} FROM ${Name}", "SELECT 3 FROM orders"),
        ("'${name}-${NUMBER}'", "'orders-3'"),
        ("`${name}`", "`orders`"),
        ("${text}", " 'a b' "),
        ("a_${name}_${number}", "a_orders_3"),
        ("5 -${minus}", "5 - -1.5 "),
        ("'x'${text}", "'x' 'a b' "),
        ("'${text}'", "'a b'"),
        ("'${quote}'", "'it''s'"),
        ("`${quote}`", "`it's`"),
        ("'${nope}'", "'${nope}'"),
        ("'$${name}' ${number}", "'${name}' 3"),
        ("'${name}$${1}$${name}'", "'orders$${1}${name}'"),
        ("-- ${nope}\n${minus}", "-- ${nope}\n -1.5 "),
        ("'${semicolon}'", "'a; b'"),
    ],
)
def test_variables(text: str, expected: str) -> None:
    variables = {
        "NUMBER": "3",
        "name": "orders",
        "text": "'a b'",
        "quote": "it's",
        "minus": "-1.5",
        "semicolon": "a; b",
    }
    assert with_variables(text, 0, len(text), variables).text == expected


@pytest.mark.parametrize("value", ["a; DROP TABLE b", "a, b", "", "1 OR 1", "'a' || 'b'", "'a"])
def test_a_variable_brings_in_no_piece_of_a_statement(value: str) -> None:
    with pytest.raises(SqlError, match="expected a variable that holds one name, number or quoted string"):
        with_variables("SELECT ${v}", 0, 11, {"v": value})


def test_an_unknown_variable_is_refused_with_those_there_are() -> None:
    with pytest.raises(SqlError, match=r"found '\$\{c\}': it is not defined \(defined: A, B\)"):
        with_variables("SELECT ${c}", 0, 11, {"a": "1", "b": "2"})


def test_places_are_those_of_the_script_however_long_the_values_are() -> None:
    script = "SHOW TABLES;\nSELECT ${long}, '$${x}',\n  b FROM '${short}' c"
    origin = with_variables(script, 13, len(script), {"long": "abcdefghijklmnop", "short": "s"})
    assert origin.text == "SELECT abcdefghijklmnop, '${x}',\n  b FROM 's' c"

    def place(piece: str) -> tuple[int, int, str | None]:
        position = origin.position(origin.text.index(piece))
        return position.line, position.column, position.variable

    assert place("SELECT") == (2, 1, None)
    assert place("abc") == (2, 8, "long")
    assert place("klm") == (2, 8, "long")
    assert place(", '") == (2, 15, None)
    assert place("',") == (2, 23, None)
    assert place("b FROM") == (3, 3, None)
    assert place("s'") == (3, 11, "short")
    assert place(" c") == (3, 20, None)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(newline: str) -> None:
    script = newline.join(["a", "b c", "d"])
    position = Origin(script=script, text=script).position(script.index("c"))
    assert (position.line, position.column, position.text) == (2, 3, "b c")


def test_names_are_texts_that_know_their_place() -> None:
    span = Span(origin=Origin(script="a b", text="a b"), start=2, end=3)
    name = Name("B", span)
    assert name == "B"
    assert {"B": 1}[name] == 1
    for each in (copy.deepcopy(name), pickle.loads(pickle.dumps(name))):
        assert (each, each.span) == (name, span)
