"""Writes whose tasks this program starts itself, as part of the query it belongs to.

`df.write.format("stoker")` has Spark start a Python process to make the sink, one to plan the write and one to commit it, in every
write: a third of what it takes to write a few rows. Here all of that is done by the program itself, and what is left is the job.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam

from stoker.spark import exactly_once
from stoker.spark.exactly_once import TaskOutcome
from stoker.spark.sink import SinkTask, recent_plan, write_task
from stoker.spark.sink_plan import SinkPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tell = Callable[[list[TaskOutcome]], None]
"""For a task, when it is done."""


class DrivenWrites:
    """The writes of one sink, one after the other."""

    def __init__(self, spark: "SparkSession") -> None:
        self._done: Accumulator[list[TaskOutcome]] = spark.sparkContext.accumulator([], _Outcomes())
        """Of the write that runs; one for all of them, since pyspark never forgets one."""

    def write(self, frame: "DataFrame", options: Mapping[str, str]) -> None:
        """The rows of a frame, as `frame.write` would. Raises InvalidOption, what a registry raises, and what Spark makes of errors in tasks."""
        plan = recent_plan(options, frame.schema)

        def job(tell: Tell) -> None:
            frame.mapInArrow(_task(plan, tell), "rows bigint").collect()

        self.run(plan, job)

    def run(self, plan: SinkPlan, job: Callable[[Tell], None]) -> None:
        """A job whose tasks write by the plan and tell what they have done."""
        self._done.value = []
        try:
            job(self._done.add)
        except BaseException:
            exactly_once.abandon(plan.options.properties, self._done.value)
            raise
        exactly_once.finish(plan.options.properties, self._done.value)


def _task(plan: SinkPlan, tell: Tell) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        write_and_tell(plan, batches, tell)
        yield from ()

    return write


def write_and_tell(plan: SinkPlan, batches: Iterator[pa.RecordBatch], tell: Tell) -> None:
    """In a task of Spark."""
    written = write_task(plan, batches, SinkTask.of_write(plan))
    if written.outcome is not None:
        tell([written.outcome])


class _Outcomes(AccumulatorParam[list[TaskOutcome]]):
    """Of the tasks that are done: known also when another one has failed."""

    def zero(self, value: list[TaskOutcome]) -> list[TaskOutcome]:
        return []

    def addInPlace(self, value1: list[TaskOutcome], value2: list[TaskOutcome]) -> list[TaskOutcome]:
        return value1 + value2
