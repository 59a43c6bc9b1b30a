"""Parsed schemas: what is kept of them, and how much may be read for one."""

import json

import pytest

from stoker.registry.entities import Reference, SchemaEntity
from stoker.registry.errors import Unprocessable
from stoker.registry.parsing import _MOST_ASKED_BYTES, Parser
from tests.registry.schema_log import SchemaLog, wanted

_DEPENDENCY_CHARACTERS = 900_000


def dependency(number: int) -> str:
    doc = "x" * _DEPENDENCY_CHARACTERS
    return json.dumps({"type": "record", "name": f"D{number}", "doc": doc, "fields": []}, separators=(",", ":"))


def referring(number: int, dependencies: int) -> SchemaEntity:
    text = json.dumps({"type": "record", "name": f"R{number}", "fields": [{"name": "d", "type": "D0"}]})
    references = tuple(Reference(f"D{each}", f"d{each}", 1) for each in range(dependencies))
    return SchemaEntity(schema_type="AVRO", text=text, references=references)


@pytest.fixture(scope="module")
def parser() -> Parser:
    log = SchemaLog()
    for number in range(6):
        log.write(log.registry.register(f"d{number}", wanted(dependency(number))))
    return log.registry.parser


def test_a_schema_with_all_that_it_refers_to_has_a_limit(parser: Parser) -> None:
    """A thousand references to schemas of a million characters each would fill any memory."""
    assert parser.weight(referring(0, 6), ".") > 6 * _DEPENDENCY_CHARACTERS
    with pytest.raises(Unprocessable, match="the limit is 5000000"):
        parser.parse(referring(0, 6), ".", is_new=True)
    parser.parse(referring(0, 5), ".", is_new=True)


def test_what_is_kept_counts_what_it_refers_to(parser: Parser) -> None:
    """A small schema holds on to the large ones that were parsed for it."""
    for number in range(20):
        parser.parse(referring(number, 1), ".", is_new=True)
    kept = {id(each): each for each in parser._asked.kept.values()}.values()
    assert [each.size > _MOST_ASKED_BYTES for each in kept] == [True], "the one in use, however large"
