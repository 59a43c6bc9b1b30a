"""CREATE ... AS SELECT and INSERT INTO ... SELECT: the result of a query into the topic of a stream or table."""

from typing import TYPE_CHECKING, Any

from stoker.streams.sql.catalogue import REGISTERED, Column, Source
from stoker.streams.sql.conversion import converted, fits, quoted_name
from stoker.streams.sql.errors import SqlError, alternatives
from stoker.streams.sql.keys import IN_KAFKA_FORMAT, KEY, bytes_of, codec_of
from stoker.streams.sql.planner import Planned
from stoker.streams.sql.properties import Checked
from stoker.streams.sql.reading import value_form
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import ColumnRole, CreateAsSelect, InsertIntoSelect, SourceKind
from stoker.streams.sql.types import BIGINT, TIMESTAMP, SqlType
from stoker.streams.table import Table

if TYPE_CHECKING:
    from stoker.streams.application import Streams
    from stoker.streams.stream import Stream


def target_of(statement: CreateAsSelect, planned: Planned, first: Source, *, has_registry: bool) -> Source:
    """The stream or table that CREATE ... AS SELECT makes; formats are those of the `first` source unless it says otherwise."""
    properties = Checked(statement.properties, is_query=True)
    _refuse_other_kind(statement, planned)
    value_format = properties.value_format() or first.value_format
    key_format = properties.key_format()
    kinds = [each.type for each in planned.keys]
    if key_format is None:
        key_format = first.key_format if first.keys and first.key_format in ("JSON", "KAFKA") else "KAFKA"
        if len(kinds) > 1 or (kinds and key_format == "KAFKA" and kinds[0] not in IN_KAFKA_FORMAT):
            key_format = "JSON"
    _check_key(statement.name, key_format, kinds)
    if value_format in REGISTERED and not has_registry:
        raise SqlError(
            f"{value_format} needs a schema registry, and there is none",
            properties.at("VALUE_FORMAT") or statement.name,
        )
    source = Source(
        kind=statement.kind,
        name=str(statement.name),
        columns=_columns(statement, planned),
        topic=properties.text("KAFKA_TOPIC") or str(statement.name),
        key_format=key_format if planned.keys else "NONE",
        value_format=value_format,
        delimiter=properties.delimiter() if "VALUE_DELIMITER" in properties else first.delimiter,
        timestamp=_timestamp(properties, planned),
        window=planned.window,
        is_registered=value_format in REGISTERED,
        text=statement.text,
    )
    if value_format == "KAFKA" and (len(source.values) != 1 or source.values[0].type not in IN_KAFKA_FORMAT):
        raise SqlError(
            f"a value in KAFKA's format is one column: {alternatives([str(each) for each in IN_KAFKA_FORMAT])}",
            statement.name,
        )
    return source


def _refuse_other_kind(statement: CreateAsSelect, planned: Planned) -> None:
    if planned.is_table and statement.kind is SourceKind.STREAM:
        raise SqlError(
            f"the result is a table, of one row for each key: CREATE TABLE {statement.name} AS ...", statement.name
        )
    if not planned.is_table and statement.kind is SourceKind.TABLE:
        raise SqlError(
            f"the result is a stream: CREATE STREAM {statement.name} AS ..., or GROUP BY what is to be the key",
            statement.name,
        )


def _columns(statement: CreateAsSelect, planned: Planned) -> tuple[Column, ...]:
    missing = [number for number, each in enumerate(planned.keys) if not each.columns]
    if missing:
        what = "GROUP BY" if planned.aggregated is not None else "the key"
        raise SqlError(
            f"the key is not selected: each column of {what} has to be in SELECT; AS_VALUE(column) has it in the value too",
            statement.name,
        )
    if not planned.value_columns:
        raise SqlError("nothing but the key is selected: AS_VALUE(column) would be in the value", statement.name)
    role = ColumnRole.PRIMARY_KEY if planned.is_table else ColumnRole.KEY
    keys = [
        Column(name=each.columns[0], type=each.type, role=role, spelling=each.columns[0], stored=each.type)
        for each in planned.keys
    ]
    values = [
        Column(name=each.name, type=each.type, spelling=each.name, stored=each.type) for each in planned.value_columns
    ]
    return (*keys, *values)


def _check_key(at: Name, form: str, kinds: list[SqlType]) -> None:
    if form == "KAFKA" and (len(kinds) > 1 or (kinds and kinds[0] not in IN_KAFKA_FORMAT)):
        known = alternatives([str(each) for each in IN_KAFKA_FORMAT])
        raise SqlError(f"a key in KAFKA's format is one column, {known}: KEY_FORMAT='JSON' has all", at)


def _timestamp(properties: Checked, planned: Planned) -> str | None:
    given = properties.text("TIMESTAMP")
    if given is None:
        return None
    name = given.strip("`") if given.startswith("`") else given.upper()
    known = {each.name: each.type for each in planned.value_columns}
    if known.get(name) not in (BIGINT, TIMESTAMP):
        raise SqlError(
            f"TIMESTAMP={given!r} must be a column of the value that is BIGINT (milliseconds) or TIMESTAMP: there are "
            f"{', '.join(known)}",
            properties.at("TIMESTAMP"),
        )
    return name


def checked_insert(statement: InsertIntoSelect, planned: Planned, target: Source) -> None:
    """Raises SqlError unless the result has the columns of the target."""
    if planned.is_table or target.is_table:
        raise SqlError("INSERT INTO ... SELECT is of a stream into a stream", statement.name)
    if target.is_source:
        raise SqlError(f"{target.name} was made by CREATE SOURCE: it can only be read", statement.name)
    given = {each.name: each.type for each in planned.columns}
    wanted = {each.name: each.type for each in target.columns}
    for name in given:
        if name not in wanted:
            raise SqlError(f"{target.name} has no column {name}: it has {', '.join(wanted)}", statement.name)
    for name, kind in given.items():
        if not fits(kind, wanted[name]):
            raise SqlError(f"column {name} of {target.name} is {wanted[name]}, not {kind}: CAST it", statement.name)
    for each in target.keys:
        if each.name not in given:
            raise SqlError(f"{target.name} has the key {each.name}: it has to be selected", statement.name)


def write(application: "Streams", planned: Planned, target: Source, properties: Checked | None = None) -> None:
    """Declares the sink: keys and values as the target's topic has them."""
    columns = {each.name: each for each in target.columns}
    rows = _changes(planned)
    if planned.keys and target.keys:
        key = _key(planned, target)
        rows = rows if key == KEY else rows.key_by(key)
    if target.timestamp is not None:
        rows = rows.transform(_Timed(target.timestamp))
    known = {each.name: each.type for each in planned.columns}
    texts = {
        each.spelling: converted(quoted_name(each.name), known[each.name], columns[each.name].stored)
        if each.name in known
        else "NULL"
        for each in target.values
    }
    arguments: dict[str, Any] = {"key_format": codec_of(target).form, "value_format": value_form(target)}
    if target.value_format == "JSON" and application.registry is not None:
        arguments["options"] = {"schema.registry.url": ""}
    if properties is not None:
        configs = properties.topic_configs()
        if target.is_table and target.window is None:
            configs.setdefault("cleanup.policy", "compact")
        arguments |= {"partitions": properties.number("PARTITIONS"), "configs": configs}
    rows.select(**value_texts(target, texts)).to(target.topic, **arguments)


def _changes(planned: Planned) -> "Stream":
    """Of a table its changes, with those that delete."""
    output = planned.output
    return output.to_stream(tombstones=True) if isinstance(output, Table) else output


def _key(planned: Planned, target: Source) -> str:
    """Of `_key`, not of the columns: a row that is deleted has none."""
    types = {each.name: each.type for each in target.keys}
    by_name = {each.columns[0]: each for each in planned.keys if each.columns}
    values = [
        converted(by_name[each.name].text, by_name[each.name].type, types[each.name])
        for each in target.keys
        if each.name in by_name
    ]
    return codec_of(target).write(values, "`KSQL_WINDOW_START`", "`KSQL_WINDOW_END`")


def value_texts(target: Source, texts: dict[str, str]) -> dict[str, Any]:
    """By the names that the value has; a value without fields by the name `value`."""
    if target.value_format == "KAFKA":
        return {"value": bytes_of(texts[target.values[0].spelling], target.values[0].type)}
    if target.value_format == "DELIMITED":
        fields = ", ".join(f"'{name}', {text}" for name, text in texts.items())
        separator = target.delimiter.replace("\t", "\\t").replace("'", "\\'")
        return {"value": f"to_csv(named_struct({fields}), map('sep', '{separator}'))"}
    return dict(texts)


class _Timed:
    """Rows with the time that is in a column; where it is null, with their own."""

    def __init__(self, column: str) -> None:
        self._column = column
        self.__qualname__ = f"time of {column}"

    def __call__(self, rows: Any) -> Any:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.types import LongType

        time = F.col(quoted_name(self._column))
        if isinstance(rows.schema[self._column].dataType, LongType):
            time = F.timestamp_millis(time)
        return rows.withColumn("_timestamp", F.coalesce(time, F.col("_timestamp")))
