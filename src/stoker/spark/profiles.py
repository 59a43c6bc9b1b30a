"""The profile of a DataFrame on one day: how many rows, and of each field its values, nulls, least and greatest.

today = stoker.spark.profile(orders, ["status", "amount"])
stoker.spark.write_profile(spark, today, "/lake/profiles/orders", "2024-01-15")
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DataType, StructType

from stoker.spark.errors import SparkError

Value = str | bytes | bool | int | float | Decimal | date | datetime
Day = date | str

_SKETCH_SIZE: Final = 14
"""2 to the power of it are the counters of a HyperLogLog sketch: 0.8 % is its standard error."""
_STORED: Final = (
    "field string, type string, count bigint, cardinality bigint, null_count bigint, null_rate double, "
    "minimum string, maximum string"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WIDEST: Final = 24
_ELSEWHERE: Final = "Give profiles a directory of their own."


class UnknownField(SparkError):
    """The message names the field, where it was looked for, and the fields that are there."""


class UnusableField(SparkError):
    """A field whose type is not for this; the message names field, type and the choices."""


class ProfileNotFound(SparkError):
    """The message names path and day, and the days that are there."""


class InvalidDay(SparkError):
    """The message names it, and shows how a day is written."""


class NotAProfile(SparkError):
    """What is stored at a path is something else, which is left as it is; the message says what."""


class NoFileSystem(SparkError):
    """A path that Spark has no file system for; the message names both, and the choices."""


class _Kind(NamedTuple):
    """How the least and the greatest value of a type are kept as text, whatever zone or locale reads them."""

    to_text: Callable[[Any], str]
    to_value: Callable[[str], Value]


_WHOLE: Final = _Kind(str, int)
_FLOATING: Final = _Kind(repr, float)
_TEXT: Final = _Kind(str, str)
_MOMENT: Final = _Kind(datetime.isoformat, datetime.fromisoformat)
_KINDS: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _WHOLE),
    **dict.fromkeys(("float", "double"), _FLOATING),
    **dict.fromkeys(("string", "char", "varchar"), _TEXT),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _MOMENT),
    "decimal": _Kind(str, Decimal),
    "boolean": _Kind(lambda value: str(value).lower(), lambda text: text == "true"),
    "binary": _Kind(lambda value: bytes(value).hex(), bytes.fromhex),
    "date": _Kind(date.isoformat, date.fromisoformat),
}
"""By Spark's name of the type, without its length or precision."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldProfile:
    """What one field of a sample is like."""

    field: str
    type: str
    """As Spark writes it: `string`, `decimal(10,2)`."""
    count: int
    """Of all rows, those in which the field is null among them."""
    cardinality: int
    """How many values other than null: exact for a few hundred, then within about 2 %."""
    null_count: int
    minimum: Value | None
    """None if there is no value. A `timestamp` is in UTC and says so. NaN is greater than any number, as in Spark."""
    maximum: Value | None

    @property
    def null_rate(self) -> float:
        """Between 0 and 1, of all rows; 0 if there are none."""
        return self.null_count / self.count if self.count else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """What the fields of a sample are like, in the order they were asked for."""

    fields: Mapping[str, FieldProfile]

    def __getitem__(self, field: str) -> FieldProfile:
        if field not in self.fields:
            raise UnknownField(f"there is no field {field!r} in the profile. It has: {', '.join(self.fields)}")
        return self.fields[field]

    def __str__(self) -> str:
        """A line for each field."""
        head = ("field", "type", "count", "cardinality", "nulls", "null rate", "minimum", "maximum")
        return aligned([head, *map(_cells, self.fields.values())], right=range(2, 6))


class Field(NamedTuple):
    """A field of a frame: its name with dots where it is in a struct, the same as SQL has it, and its type in Spark."""

    name: str
    quoted: str
    data_type: DataType

    @property
    def column(self) -> Column:
        return functions.col(self.quoted)

    @property
    def type(self) -> str:
        """Spark's name of it, without length, precision or collation."""
        return _bare(self.data_type.simpleString())


def profile(frame: DataFrame, fields: Iterable[str] | None = None) -> Profile:
    """Profile the fields of a batch, all in one pass over it.

    A field in a struct is named with dots: `value.amount`. By default all fields are taken that are numbers, strings, booleans,
    binaries, dates or timestamps, structs being taken apart. Raises UnknownField and UnusableField.
    """
    chosen = plain_fields(frame) if fields is None else fields_of(frame, fields)
    aggregates = [each for field in chosen for each in _aggregates(field)]
    found = frame.agg(functions.count(functions.lit(1)), *aggregates).collect()[0]
    count = int(found[0])
    return Profile(
        fields={
            field.name: _field_profile(field, count, found[start : start + 4])
            for field, start in zip(chosen, range(1, len(found), 4), strict=True)
        }
    )


def write_profile(spark: SparkSession, profile: Profile, path: str | os.PathLike[str], day: Day) -> str:
    """Store the profile as Parquet in `<path>/date=YYYY-MM-DD`, which is returned.

    A profile that is there already is replaced, so a day may be run again. Anything else that is there is left alone:
    raises NotAProfile.
    """
    _stored(spark, path, day)
    place = partition_path(path, day)
    rows = [_row(each) for each in profile.fields.values()]
    spark.createDataFrame(rows, _STORED).coalesce(1).write.mode("overwrite").parquet(place)
    return place


def read_profile(spark: SparkSession, path: str | os.PathLike[str], day: Day) -> Profile:
    """The profile that `write_profile` stored there. Raises ProfileNotFound, with the days that there are, and NotAProfile."""
    stored = _stored(spark, path, day)
    if stored is None:
        days = _days(spark, path)
        raise ProfileNotFound(
            f"there is no profile in {partition_path(path, day)}. "
            + (f"There are profiles of: {', '.join(days)}" if days else f"There is none in {os.fspath(path)} at all.")
        )
    return Profile(fields={row["field"]: _read(row.asDict()) for row in stored.collect()})


def partition_path(path: str | os.PathLike[str], day: Day) -> str:
    """`<path>/date=YYYY-MM-DD`, where Spark, Hive and most others look for the data of a day."""
    return f"{os.fspath(path).rstrip('/')}/date={_day(day).isoformat()}"


def fields_of(frame: DataFrame, names: Iterable[str], where: str = "the frame") -> list[Field]:
    """These fields, each once. Raises UnknownField, and UnusableField for what is no plain value."""
    there = {each.name: each for each in _leaves(frame.schema)}
    wanted = list(dict.fromkeys([names] if isinstance(names, str) else names))
    if not wanted:
        raise UnknownField(f"no field is named. Fields of {where}: {', '.join(there)}")
    return [_named(name, there, where) for name in wanted]


def plain_fields(frame: DataFrame) -> list[Field]:
    """All fields that have plain values. Raises UnusableField if there are none."""
    leaves = list(_leaves(frame.schema))
    plain = [each for each in leaves if each.type in _KINDS]
    if not plain:
        raise UnusableField(f"the frame has no field to profile: {_listed(leaves) or 'it has none at all'}")
    return plain


def aligned(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """The rows as a table of text, with these columns to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_the_right = set(right)
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in to_the_right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _leaves(schema: StructType, names: tuple[str, ...] = ()) -> Iterator[Field]:
    for each in schema.fields:
        path = (*names, each.name)
        if isinstance(each.dataType, StructType):
            yield from _leaves(each.dataType, path)
        else:
            quoted = ".".join(f"`{name.replace('`', '``')}`" for name in path)
            yield Field(".".join(path), quoted, each.dataType)


def _named(name: str, there: Mapping[str, Field], where: str) -> Field:
    field = there.get(name)
    if field is None:
        inside = [each for each in there if each.startswith(f"{name}.")]
        if inside:
            raise UnusableField(f"{name!r} is a struct in {where}. Name its fields: {', '.join(inside)}")
        raise UnknownField(f"there is no field {name!r} in {where}. Existing fields: {', '.join(there)}")
    if field.type not in _KINDS:
        plain = [each.name for each in there.values() if each.type in _KINDS]
        raise UnusableField(
            f"field {name!r} of {where} is {field.data_type.simpleString()}, which has no plain values. Take it apart by "
            f"select() or explode() first, or choose of: {', '.join(plain)}"
        )
    return field


def _listed(fields: Iterable[Field]) -> str:
    return ", ".join(f"{each.name} is {each.data_type.simpleString()}" for each in fields)


def _aggregates(field: Field) -> tuple[Column, ...]:
    # By a sketch, and not by approx_count_distinct, whose state is hundreds of columns for each field: a frame with forty
    # fields has filled the memory with them. Of hashes, as the sketch itself leaves out empty strings. Adding 0.0 makes
    # the two zeros of floating point one.
    column = field.column + functions.lit(0.0) if field.type in ("float", "double") else field.column
    hashed = functions.when(field.column.isNotNull(), functions.xxhash64(column))
    extremes = [functions.min(field.column), functions.max(field.column)]
    if field.type == "timestamp":  # collected as it is, it would be in the zone of this machine
        extremes = [functions.unix_micros(each) for each in extremes]
    return (
        functions.hll_sketch_estimate(functions.hll_sketch_agg(hashed, _SKETCH_SIZE)),
        functions.count(field.column),
        *extremes,
    )


def _field_profile(field: Field, count: int, found: Sequence[Any]) -> FieldProfile:
    cardinality, values, minimum, maximum = found
    return FieldProfile(
        field=field.name,
        type=field.data_type.simpleString(),
        count=count,
        cardinality=cardinality,
        null_count=count - values,
        minimum=_collected(field, minimum),
        maximum=_collected(field, maximum),
    )


def _collected(field: Field, value: Any) -> Value | None:
    if value is None:
        return None
    if field.type == "timestamp":
        return _EPOCH + timedelta(microseconds=value)
    return bytes(value) if field.type == "binary" else value


def _bare(type_name: str) -> str:
    return type_name.partition("(")[0].partition(" ")[0]


def _row(profile: FieldProfile) -> tuple[object, ...]:
    to_text = _KINDS[_bare(profile.type)].to_text
    minimum, maximum = (None if each is None else to_text(each) for each in (profile.minimum, profile.maximum))
    measured = (profile.count, profile.cardinality, profile.null_count, profile.null_rate)
    return (profile.field, profile.type, *measured, minimum, maximum)


def _read(row: dict[str, Any]) -> FieldProfile:
    del row["null_rate"]
    to_value = _KINDS[_bare(row["type"])].to_value
    for name in ("minimum", "maximum"):
        row[name] = None if row[name] is None else to_value(row[name])
    return FieldProfile(**row)


def _cells(profile: FieldProfile) -> tuple[str, ...]:
    minimum, maximum = ("-" if each is None else str(each) for each in (profile.minimum, profile.maximum))
    return (
        profile.field,
        profile.type,
        f"{profile.count:,}",
        f"{profile.cardinality:,}",
        f"{profile.null_count:,}",
        f"{profile.null_rate:.1%}",
        *(each if len(each) <= _WIDEST else f"{each[: _WIDEST - 1]}…" for each in (minimum, maximum)),
    )


def _stored(spark: SparkSession, path: str | os.PathLike[str], day: Day) -> DataFrame | None:
    """What is stored of the day, if anything is. Raises NotAProfile."""
    place = partition_path(path, day)
    files = _files(spark, place)
    if not files:
        return None
    strangers = [each for each in files if not each.endswith(".parquet")]
    if strangers:
        raise NotAProfile(f"{place} holds no profile, but {posixpath.basename(strangers[0])}. {_ELSEWHERE}")
    frame = spark.read.parquet(place)
    if frame.columns != [each.partition(" ")[0] for each in _STORED.split(", ")]:
        raise NotAProfile(f"{place} holds no profile, but rows of {', '.join(frame.columns)}. {_ELSEWHERE}")
    return frame


def _days(spark: SparkSession, path: str | os.PathLike[str]) -> list[str]:
    found = (re.search(r"/date=(\d{4}-\d\d-\d\d)/[^/]*\.parquet$", each) for each in _files(spark, os.fspath(path)))
    return sorted({each[1] for each in found if each})


def _files(spark: SparkSession, path: str) -> list[str]:
    """On whatever file system Spark finds it; without those that Spark hides, as what is left of a write that was stopped."""
    gateway: Any = spark.sparkContext._gateway
    place = gateway.jvm.org.apache.hadoop.fs.Path(path)
    try:
        file_system = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    except Py4JJavaError as error:
        raise NoFileSystem(
            f"Spark cannot use {path}: {error.java_exception.getMessage()}. For S3 it is s3a://, with hadoop-aws in "
            "spark.jars.packages: s3:// is Amazon EMR's."
        ) from error
    if not file_system.exists(place):  # asked first: of a path that is not there Spark logs a stack trace
        return []
    return spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path).inputFiles()


def _day(day: Day) -> date:
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError as error:
            raise InvalidDay(f"{day!r} is no day. Give a date, or text as 2024-01-15.") from error
    return date(day.year, day.month, day.day)
