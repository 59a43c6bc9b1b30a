"""`format("doomed")`: as `format("stoker")`, but its tasks and its driver look at each request whether somebody is to die."""

import os
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from stoker.spark.data_source import StokerDataSource
from stoker.spark.sink import StreamWriter, Written, stream_writer
from tests.spark.faults.doom import PLAN, watch


class DoomedWriter(StreamWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        watch(os.environ[PLAN])
        return super().write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, as pyspark has it
        watch(os.environ[PLAN])
        super().commit(messages, batchId)


class DoomedSource(StokerDataSource):
    @classmethod
    def name(cls) -> str:
        return "doomed"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return DoomedWriter(stream_writer(self.options, schema, overwrite=overwrite)._plan)
