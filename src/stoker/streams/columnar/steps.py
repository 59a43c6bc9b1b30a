"""The steps of a plan, each of which makes columns of columns. They can be sent to a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from stoker.streams.columnar.expressions import Expression, Unsupported, as_array


class Frame(NamedTuple):
    """Some rows, as columns by the number that Spark has given to each."""

    rows: int
    columns: dict[int, pa.Array]


class Step(Protocol):
    def of(self, frame: Frame, table: Frame | None) -> Frame:
        """`table` is what a lookup looks into. Raises Unsupported."""


@dataclass(frozen=True, slots=True)
class Where:
    condition: Expression

    def of(self, frame: Frame, table: Frame | None) -> Frame:
        """Rows for which the condition is null are left out, too."""
        met = as_array(self.condition.of(frame.columns), frame.rows)
        count = met.true_count
        if count == frame.rows:
            return frame
        return Frame(count, {number: each.filter(met) for number, each in frame.columns.items()})


@dataclass(frozen=True, slots=True)
class Project:
    columns: tuple[tuple[int, Expression], ...]

    def of(self, frame: Frame, table: Frame | None) -> Frame:
        made = {number: as_array(each.of(frame.columns), frame.rows) for number, each in self.columns}
        return Frame(frame.rows, made)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The row of the table with the same key, of which there is at most one; rows without one stay, with nulls, if `keeps_all`."""

    key: Expression
    table_key: Expression
    keeps_all: bool

    def of(self, frame: Frame, table: Frame | None) -> Frame:
        assert table is not None
        wanted, keys = as_array(self.key.of(frame.columns), frame.rows), self.table_key.of(table.columns)
        if wanted.type != keys.type or pa.types.is_floating(keys.type) or pa.types.is_nested(keys.type):
            raise Unsupported(f"a table with keys of {keys.type}, asked for {wanted.type}")
        places = pc.index_in(wanted, keys, skip_nulls=True)
        if not self.keeps_all and places.null_count:
            found = places.is_valid()
            places = places.filter(found)
            frame = Frame(len(places), {number: each.filter(found) for number, each in frame.columns.items()})
        return Frame(frame.rows, frame.columns | {number: each.take(places) for number, each in table.columns.items()})


class Scan(NamedTuple):
    """Columns by name, as a reader gives them, to the numbers of the plan."""

    names: Mapping[int, str]

    def of(self, batch: pa.RecordBatch) -> Frame:
        there = set(batch.schema.names)
        found = {number: batch.column(name) for number, name in self.names.items() if name in there}
        return Frame(batch.num_rows, found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All that is done to the rows of a topic before they are written."""

    scan: Scan
    steps: tuple[Step, ...]
    output: tuple[tuple[int, str], ...]
    """The columns that are left, in order."""
    table_scan: Scan | None = None
    table_steps: tuple[Step, ...] = ()

    def table(self, rows: pa.Table) -> Frame:
        """What `of` looks into, of the rows of the table."""
        assert self.table_scan is not None
        columns = [each.combine_chunks() for each in rows.columns]
        batch = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
        return _run(self.table_scan.of(batch), self.table_steps, None)

    def of(self, batch: pa.RecordBatch, table: Frame | None) -> pa.RecordBatch:
        frame = _run(self.scan.of(batch), self.steps, table)
        missing = [name for number, name in self.output if number not in frame.columns]
        if missing:
            raise Unsupported(f"column {missing[0]} is not read")
        return pa.RecordBatch.from_arrays(
            [frame.columns[number] for number, _ in self.output], names=[name for _, name in self.output]
        )


def _run(frame: Frame, steps: tuple[Step, ...], table: Frame | None) -> Frame:
    for step in steps:
        frame = step.of(frame, table)
    return frame
