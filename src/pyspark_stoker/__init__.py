"""Where Spark finds `format("stoker")`: it looks for modules whose names begin with `pyspark_`."""

from stoker.spark.data_source import StokerDataSource as DefaultSource

__all__ = ["DefaultSource"]
