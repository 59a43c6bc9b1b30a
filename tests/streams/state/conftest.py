"""The Spark session that the tests of a process share, for the one test here that needs it."""

from tests.spark.conftest import spark

__all__ = ["spark"]
