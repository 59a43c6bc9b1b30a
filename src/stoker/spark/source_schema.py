"""The columns that a read of a topic can have, in the types of Spark's own `kafka` source."""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from stoker.spark.errors import InvalidOption

HEADERS: Final = "headers"
ERROR: Final = "error"
STREAM_TIME: Final = "streamTime"

METADATA: Final[dict[str, DataType]] = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
HEADERS_TYPE: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
ERROR_TYPE: Final = StructType(
    [
        StructField("reason", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
    ]
)
ERROR_WITH_RECORD_TYPE: Final = StructType(
    [
        *ERROR_TYPE,
        StructField("timestamp", TimestampType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""With `error.record`: the bad record itself, as it is in the log."""


def check_columns(schema: StructType, columns: dict[str, DataType]) -> None:
    """Raises InvalidOption for a column that there is not, or not of this type."""
    for field in schema:
        kind = columns.get(field.name)
        if kind is None and field.name == HEADERS:
            kind = HEADERS_TYPE
        if kind is None:
            advice = "; on.error=column adds it" if field.name == ERROR else ""
            raise InvalidOption(
                f"the schema asks for a column {field.name!r}{advice}. The columns are: {', '.join(columns)}"
            )
        if not field.nullable and field.name not in METADATA:
            raise InvalidOption(
                f"the schema asks for {field.name} that is never null (NOT NULL), but it may be null, and Spark would not see it: "
                "leave NOT NULL out"
            )
        if kind != field.dataType:
            advice = f"; {field.name}.format says how to decode it" if field.name in ("key", "value") else ""
            raise InvalidOption(
                f"the schema asks for {field.name} as {field.dataType.simpleString()}, but it is {kind.simpleString()}{advice}"
            )
