"""What the registry calls compatible can be read, and what it calls incompatible cannot: fastavro judges."""

import io
import json

import avro.compatibility
import avro.schema
import fastavro
import hypothesis
from fastavro.types import Schema

from stoker.registry.formats.avro import parse
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
    reasons = parse(json.dumps(reader), {}).incompatibilities(parse(json.dumps(writer), {}))
    parsed_writer, parsed_reader = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    verdicts = [is_read(datum, parsed_writer, parsed_reader) for datum in data(writer)]
    hypothesis.event("incompatible" if reasons else "compatible")
    assert all(verdicts) is not bool(reasons), (reasons, verdicts)


@hypothesis.given(evolution=evolutions())
def test_the_verdict_is_that_of_the_avro_package(evolution: Evolution) -> None:
    writer, reader = (json.dumps(schema) for schema in evolution)
    checker = avro.compatibility.ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
    judged = checker.get_compatibility(reader=avro.schema.parse(reader), writer=avro.schema.parse(writer))
    is_compatible = judged.compatibility is avro.compatibility.SchemaCompatibilityType.compatible
    assert is_compatible is not bool(parse(reader, {}).incompatibilities(parse(writer, {})))
