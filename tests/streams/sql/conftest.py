"""A Spark session for the functions of SQL."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import stoker.spark
from stoker.streams.sql import SPARK_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """With settings of its own, in the Spark that this process has already, which is that of tests/spark, or in a new one."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    started = running or stoker.spark.session("stoker-tests", master="local[2,4]", config={"spark.log.level": "ERROR"})
    session = started.newSession()
    for name, value in SPARK_SETTINGS.items():
        session.conf.set(name, value)
    yield session
    if running is None:
        started.stop()
