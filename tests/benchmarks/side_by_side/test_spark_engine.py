"""What the benchmark says of a query that failed."""

import pytest
from pyspark.errors import PySparkException

from side_by_side import spark_engine
from side_by_side.processes import LoadFailed

STACK = "\n".join(f"\tat org.apache.spark.Frame{number}" for number in range(50))
SAID = f"""An error occurred while calling o1.load.
: org.apache.spark.SparkException: there is no such thing
{STACK}
Caused by: java.lang.ClassNotFoundException: stoker.DefaultSource
{STACK}
\t... 22 more
"""


def test_a_failure_says_first_and_last_what_it_was_without_the_stack() -> None:
    with pytest.raises(LoadFailed) as failed, spark_engine.failing():
        raise PySparkException(SAID)
    assert str(failed.value) == (
        "An error occurred while calling o1.load. | : org.apache.spark.SparkException: there is no such thing | "
        "Caused by: java.lang.ClassNotFoundException: stoker.DefaultSource"
    )


def test_what_is_no_error_of_spark_stays_what_it_is() -> None:
    with pytest.raises(KeyError), spark_engine.failing():
        raise KeyError("rate")
