"""A Spark session for the functions of SQL."""

from typing import TYPE_CHECKING

import pytest

from stoker.streams.sql import SPARK_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(spark: "SparkSession") -> "SparkSession":
    """With settings of its own, in the Spark that all tests of this process share."""
    session = spark.newSession()
    for name, value in SPARK_SETTINGS.items():
        session.conf.set(name, value)
    return session
