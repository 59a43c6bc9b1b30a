"""The verdict against the data themselves: what jsonschema makes of what a writer may write."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.registry.formats.json_schema import parse
from tests.registry.formats.json_schema.evolution import border_data, evolved, schemas
from tests.registry.formats.json_schema.judge import reading_validator, validator

EXAMPLES = 300


@st.composite
def evolutions(draw: st.DrawFn) -> tuple[Any, Any]:
    writer = draw(schemas)
    return writer, draw(evolved(writer))


def lost(writer: Any, reader: Any) -> list[Any]:
    """Data that the writer may write and the reader cannot read."""
    may_write, can_read = validator(writer), reading_validator(reader)
    return [
        datum for datum in border_data(writer, reader) if may_write.is_valid(datum) and not can_read.is_valid(datum)
    ]


@settings(max_examples=EXAMPLES)
@given(evolutions())
def test_a_compatible_reader_loses_nothing_and_an_incompatible_one_something(schemas: tuple[Any, Any]) -> None:
    writer, reader = schemas

    incompatible = parse(json.dumps(reader), {}).incompatibilities(parse(json.dumps(writer), {}))

    assert bool(lost(writer, reader)) is bool(incompatible), incompatible
