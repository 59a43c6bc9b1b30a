"""What the registry calls compatible can be read, and what it calls incompatible cannot: fastavro judges."""

import io
import json

import fastavro
import hypothesis
from fastavro.types import Schema

from stoker.registry.formats import avro
from tests.registry.formats.avro.evolutions import Evolution, data, evolutions


def is_read(datum: object, writer: Schema, reader: Schema) -> bool:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, writer, datum)
    buffer.seek(0)
    try:
        fastavro.schemaless_reader(buffer, writer, reader)
    except (fastavro.read.SchemaResolutionError, ValueError):
        return False
    return True


@hypothesis.settings(max_examples=400)
@hypothesis.given(evolution=evolutions())
def test_compatible_means_that_all_data_are_read(evolution: Evolution) -> None:
    """When the check passes, data of the old schema decode with the new one; when it does not, some datum fails to."""
    writer, reader = evolution
    reasons = avro.parse(json.dumps(reader), {}).incompatibilities(avro.parse(json.dumps(writer), {}))
    parsed_writer, parsed_reader = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    verdicts = [is_read(datum, parsed_writer, parsed_reader) for datum in data(writer)]
    hypothesis.event("incompatible" if reasons else "compatible")
    assert all(verdicts) is not bool(reasons), (reasons, verdicts)
