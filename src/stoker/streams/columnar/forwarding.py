"""Values that a plan passes on as they are: their bytes go from topic to topic, and only what conditions look at is decoded."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from pyspark.sql.types import DataType, StructField, StructType

from stoker.spark.formats.forwarding import BYTES, Forwarding, is_forwarded
from stoker.spark.options import OnError
from stoker.spark.rows import RowReader
from stoker.spark.sink_columns import VALUE
from stoker.spark.sink_plan import SinkPlan
from stoker.streams.columnar.expressions import Attribute, Expression, Field, IsNull
from stoker.streams.columnar.steps import Lookup, Plan, Project, Step, Where

_BYTES_NUMBER: Final = -1
"""Spark's numbers are not below 0."""


def forwarded(rows: RowReader, plan: Plan, sink: SinkPlan) -> tuple[RowReader, Plan, SinkPlan] | None:
    """The same with values that keep their bytes; None if something else than the very value is written.

    Nor if records may be bad: this one would not see all that is wrong with them, and others that read the topic would.
    """
    reader, writer = rows.value, sink.value
    if reader is None or writer is None or rows.on_error is not OnError.FAIL or not is_forwarded(reader, writer):
        return None
    assert isinstance(reader.type, StructType)
    value = next((number for number, name in plan.scan.names.items() if name == VALUE), None)
    if value is None or sink.columns.value_fields != tuple(reader.type.names):
        return None
    steps, columns = _flat(plan)
    for number, name in plan.output:
        if name in sink.columns.value_fields and columns.pop(number) != Field(Attribute(value), name):
            return None
    used = _fields_of((*steps, *columns.values()), value)
    if used is None:
        return None
    if rows.event_time is not None and rows.event_time[0] == VALUE:
        used |= {rows.event_time[1]}
    forwarding = Forwarding(reader, tuple(sorted(used)) or tuple(reader.type.names[:1]), writer)
    output = [each for each in plan.output if each[0] in columns]
    columns[_BYTES_NUMBER] = Field(Attribute(value), BYTES)
    return (
        replace(rows, schema=_with_value(rows.schema, forwarding.type), forwarding=forwarding),
        replace(plan, steps=(*steps, Project(tuple(columns.items()))), output=(*output, (_BYTES_NUMBER, VALUE))),
        sink._replace(value=None, columns=sink.columns._replace(value_fields=())),
    )


def _flat(plan: Plan) -> tuple[list[Step], dict[int, Expression]]:
    """The steps in terms of the columns that are read, and each column of the output, likewise."""
    known: dict[int, Expression] = {}
    """What was computed on the way, by its number."""
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, Project):
            known |= {number: _in_terms_of(each, known) for number, each in step.columns}
        elif isinstance(step, Where | Lookup):
            steps.append(_in_terms_of(step, known))
    return steps, {number: _in_terms_of(Attribute(number), known) for number, _ in plan.output}


def _in_terms_of(of: Any, known: dict[int, Expression]) -> Any:
    """An expression, or what has some, with the columns that are known put in."""
    if isinstance(of, Attribute):
        return known.get(of.number, of)
    if isinstance(of, tuple):
        return tuple(_in_terms_of(each, known) for each in of)
    if is_dataclass(of) and not isinstance(of, type):
        return replace(of, **{each.name: _in_terms_of(getattr(of, each.name), known) for each in fields(of)})
    return of


def _fields_of(of: Any, value: int) -> set[str] | None:
    """The fields of the value that are looked at; None if it is looked at as a whole, but for whether it is null."""
    if isinstance(of, Field) and of.struct == Attribute(value):
        return {of.name}
    if isinstance(of, IsNull) and of.child == Attribute(value):
        return set()
    if of == Attribute(value):
        return None
    if is_dataclass(of) and not isinstance(of, type):
        of = tuple(getattr(of, each.name) for each in fields(of))
    found: set[str] = set()
    for each in of if isinstance(of, tuple) else ():
        inner = _fields_of(each, value)
        if inner is None:
            return None
        found |= inner
    return found


def _with_value(schema: StructType, kind: DataType) -> StructType:
    return StructType([StructField(VALUE, kind) if field.name == VALUE else field for field in schema])
