"""What the bytes of keys and values mean: the one place that makes decoders and encoders.

A format is chosen where a query is planned, once: `reader_schema_for` and `writer_schema_for` ask the registry and give
something that can be sent to the workers; `decoder_for` and `encoder_for` make of it, there, what works on columns.

strings.py              text
json_*.py               JSON, with a JSON Schema of the registry or without
protobuf_*.py, avro_*.py    always with a schema of the registry
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType

from stoker.registry.client import LATEST
from stoker.spark.columns import Decoder, Encoder
from stoker.spark.errors import InvalidOption, RegistryFailed, SchemaNotFound, UnencodableColumn
from stoker.spark.schemas import (
    URL_OPTION,
    RegisteredSchema,
    RegistryAccess,
    SchemaSource,
    registry_access,
    schema_source,
)

AVRO, JSON, PROTOBUF, STRING = "avro", "json", "protobuf", "string"
FORMATS: Final = (AVRO, JSON, PROTOBUF, STRING)
KEY, VALUE = "key", "value"

_SCHEMA_TYPES: Final = {AVRO: "AVRO", JSON: "JSON", PROTOBUF: "PROTOBUF"}
_BOOLEANS: Final = {"true": True, "false": False}


class ReaderSchema(NamedTuple):
    """How the keys or values of a query are read."""

    format: str
    side: str
    """`key` or `value`."""
    type: DataType
    """Of the column."""
    schema: RegisteredSchema | None
    registry: RegistryAccess | None
    message: str | None = None
    """Of a Protobuf schema, by name; the first if there is none."""


class WriterSchema(NamedTuple):
    """How a column of keys or values is written."""

    format: str
    side: str
    schema: RegisteredSchema | None
    message: str | None = None
    """Of a Protobuf schema, by name; the first if there is none."""


def reader_schema_for(
    form: str, side: str, topics: Sequence[str], options: Mapping[str, str], wanted: DataType | None = None
) -> ReaderSchema:
    """The latest schema of the topics, or the one that the options name, as of now.

    `wanted` is the type that the user gave to the column, which may have fewer fields than the schema. Raises InvalidOption,
    SchemaNotFound or UnusableSchema if it cannot be read so.
    """
    _check_format(form, side)
    if form == STRING:
        if wanted is not None and not isinstance(wanted, StringType):
            raise InvalidOption(f"{side}.format is string, and the schema says that {side} is {wanted.simpleString()}")
        return ReaderSchema(form, side, StringType(), None, None)
    registry = registry_access(options)
    if registry is None:
        if form != JSON:
            raise _needs_registry(form, side)
        if wanted is None:
            raise InvalidOption(
                f"{side}.format is json, and nothing says what is in it: {URL_OPTION} names the registry that has its JSON "
                f'Schema, or .schema("{side} struct<...>") says which fields to read'
            )
        reader = ReaderSchema(form, side, wanted, None, None)
        decoder_for(reader)
        return reader
    schema = _reader_schema(schema_source(registry), form, side, topics, options)
    message = options.get(f"{side}.message") or None
    column = spark_type_of(form, schema, message) if wanted is None else wanted
    reader = ReaderSchema(form, side, column, schema, registry, message)
    decoder_for(reader)  # which refuses what is wanted and cannot be had
    return reader


def spark_type_of(form: str, schema: RegisteredSchema, message: str | None = None) -> DataType:
    """The type of a column of what was written by the schema. Raises UnusableSchema."""
    if form == JSON:
        from stoker.spark.formats.json_types import spark_type_of_json_schema

        return spark_type_of_json_schema(schema)
    if form == PROTOBUF:
        from stoker.spark.formats.protobuf_types import spark_type_of_protobuf

        return spark_type_of_protobuf(schema, message)
    from stoker.spark.formats.avro_types import spark_type_of as spark_type_of_avro

    return spark_type_of_avro(schema)


def decoder_for(reader: ReaderSchema) -> Decoder:
    """For one task; it asks the registry for schemas as it meets their ids."""
    if reader.format == STRING:
        from stoker.spark.formats.strings import StringDecoder

        return StringDecoder()
    if reader.format == JSON:
        from stoker.spark.formats.json_decoding import JsonDecoder

        return JsonDecoder(reader.type)
    assert reader.schema is not None
    assert reader.registry is not None
    if reader.format == PROTOBUF:
        from stoker.spark.formats.protobuf_decoding import ProtobufDecoder

        return ProtobufDecoder(reader.schema, schema_source(reader.registry).by_id, reader.type, reader.message)
    from stoker.spark.formats.avro_decoding import AvroDecoder

    return AvroDecoder(reader.schema, schema_source(reader.registry).by_id, reader.type)


def writer_schema_for(
    form: str, side: str, topic: str | None, options: Mapping[str, str], column: DataType
) -> WriterSchema:
    """The schema to write a column by: the latest of the subject if the column fits it, else that of `value.subject.like` if it
    does, else the latest with what the column has more, or one that is made of the column if there is none. These are registered,
    if the registry allows it.

    `use.latest.version` or a number as `value.schema.version` takes that one or none, and so does
    `auto.register.schemas=false`. `topic` is None if each row names its own; then `value.subject` must be given. Raises
    InvalidOption, UnencodableColumn, SchemaNotFound or RegistryFailed.
    """
    _check_format(form, side)
    registry = registry_access(options)
    arrow_type = to_arrow_type(column, timezone="UTC")
    writer = WriterSchema(form, side, None, options.get(f"{side}.message") or None)
    if form == STRING or (form == JSON and registry is None):
        encoder_for(writer, arrow_type)
        return writer
    if registry is None:
        raise _needs_registry(form, side)
    subject = options.get(f"{side}.subject") or (None if topic is None else f"{topic}-{side}")
    if subject is None:
        raise InvalidOption(
            f"{side}.format is {form}, and the rows name their own topics: {side}.subject says where its schema is"
        )
    version = _version(side, options)
    may_register = (
        version == LATEST
        and not _is_set(options, "use.latest.version", default=False)
        and _is_set(options, "auto.register.schemas", default=True)
    )
    source = schema_source(registry)
    latest = _latest(source, form, side, subject, version)
    if latest is None and not may_register:
        raise SchemaNotFound(
            f"subject {subject!r} has no version {version} to write by, and the options say that none may be registered "
            f"(auto.register.schemas, use.latest.version, {side}.schema.version)"
        )
    if latest is not None:
        try:
            encoder_for(writer._replace(schema=latest), arrow_type)
            return writer._replace(schema=latest)
        except UnencodableColumn:
            if not may_register:
                raise
    same = _like(source, writer, options, arrow_type)
    if same is not None:
        try:
            return writer._replace(schema=source.register(subject, same.type, same.text))
        except RegistryFailed:
            if latest is None:
                raise  # else the subject may not take it beside what it has, and yet be able to grow
    text = _schema_text_of(writer, column, topic or subject, latest)
    made = RegisteredSchema(0, _SCHEMA_TYPES[form], text, {} if latest is None else latest.dependencies)
    encoder_for(writer._replace(schema=made), arrow_type)  # which refuses what would be of no use if it were registered
    return writer._replace(schema=source.register(subject, made.type, text, like=latest))


def encoder_for(writer: WriterSchema, arrow_type: pa.DataType) -> Encoder:
    """For columns of this type. Raises UnencodableColumn if the schema cannot hold it."""
    if writer.format == STRING:
        from stoker.spark.formats.strings import StringEncoder

        return StringEncoder(arrow_type)
    if writer.format == JSON:
        from stoker.spark.formats.json_encoding import JsonEncoder

        return JsonEncoder(writer.schema, arrow_type)
    assert writer.schema is not None
    if writer.format == PROTOBUF:
        from stoker.spark.formats.protobuf_encoding import ProtobufEncoder

        return ProtobufEncoder(writer.schema, arrow_type, writer.message)
    from stoker.spark.formats.avro_encoding import AvroEncoder

    return AvroEncoder(writer.schema, arrow_type)


def _schema_text_of(writer: WriterSchema, column: DataType, name: str, latest: RegisteredSchema | None) -> str:
    if writer.format == JSON:
        from stoker.spark.formats.json_types import json_schema_of

        return json_schema_of(column, latest)
    if writer.format == PROTOBUF:
        from stoker.spark.formats.protobuf_schemas import protobuf_of

        return protobuf_of(column, name, latest, writer.message)
    from stoker.spark.formats.avro_schemas import avro_of

    return avro_of(column, name, latest)


def _latest(source: SchemaSource, form: str, side: str, subject: str, version: int | str) -> RegisteredSchema | None:
    try:
        return _of_type(form, side, subject, source.version(subject, version))
    except SchemaNotFound:
        return None


def _like(
    source: SchemaSource, writer: WriterSchema, options: Mapping[str, str], arrow_type: pa.DataType
) -> RegisteredSchema | None:
    """The schema that another subject has, if there is such a one to be taken over and it fits."""
    subject = options.get(f"{writer.side}.subject.like")
    found = _latest(source, writer.format, writer.side, subject, LATEST) if subject else None
    if found is None or found.dependencies:  # they would have to be told for this subject, too
        return None
    try:
        encoder_for(writer._replace(schema=found), arrow_type)
    except UnencodableColumn:
        return None
    return found


def _reader_schema(
    source: SchemaSource, form: str, side: str, topics: Sequence[str], options: Mapping[str, str]
) -> RegisteredSchema:
    version = _version(side, options)
    given = options.get(f"{side}.subject")
    subjects = [given] if given else [f"{topic}-{side}" for topic in dict.fromkeys(topics)]
    if not subjects:
        raise InvalidOption(
            f"{side}.format is {form}, and there is no topic yet whose schema could be asked for: {side}.subject says where it is"
        )
    found = {subject: _of_type(form, side, subject, source.version(subject, version)) for subject in subjects}
    first = found[subjects[0]]
    for subject, schema in found.items():
        if schema._replace(id=first.id) != first:
            raise InvalidOption(
                f"the subjects {subjects[0]!r} and {subject!r} have different schemas ({first.id} and {schema.id}), and a column "
                f"has one type: {side}.subject says which of them to read by"
            )
    return first


def _of_type(form: str, side: str, subject: str, schema: RegisteredSchema) -> RegisteredSchema:
    if schema.type != _SCHEMA_TYPES[form]:
        raise InvalidOption(
            f"{side}.format is {form}, but the schema {schema.id} of {subject!r} is of type {schema.type}: "
            f"{side}.format={schema.type.lower()} reads and writes by it, {side}.subject names another"
        )
    return schema


def _version(side: str, options: Mapping[str, str]) -> int | str:
    name = f"{side}.schema.version"
    text = options.get(name, LATEST).strip().lower()
    if text == LATEST:
        return LATEST
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:11]) < 2**31:
        raise InvalidOption(f"{name} is {text!r}: it takes latest, or the number of a version")
    return int(text)


def _is_set(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name)
    if text is None:
        return default
    found = _BOOLEANS.get(text.strip().lower())
    if found is None:
        raise InvalidOption(f"{name} is {text!r}: it takes true or false")
    return found


def _check_format(form: str, side: str) -> None:
    if side not in (KEY, VALUE):
        raise InvalidOption(f"{side!r} has no format: key and value have")
    if form not in FORMATS:
        raise InvalidOption(f"{side}.format is {form!r}: it takes {', '.join(FORMATS)}")


def _needs_registry(form: str, side: str) -> InvalidOption:
    return InvalidOption(
        f"{side}.format is {form}, which needs its schemas: {URL_OPTION} names the registry that has them"
    )
