"""The driver of tests: what it takes, what it refuses, and a micro-batch that is run again."""

from typing import TYPE_CHECKING, Any

import pytest

from stoker.streams.application import Streams
from stoker.streams.errors import InvalidTopology
from stoker.streams.processor import Context, Processor
from stoker.streams.test_driver import TestDriver
from stoker.streams.windows import session, sliding, tumbling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Count(Processor):
    def process(self, key: str, record: dict[str, Any], context: Context) -> None:
        context.state["n"] = context.state.get("n", 0) + 1
        context.forward({"n": context.state["n"]})


def declare(application: Streams, fails: dict[int, bool]) -> None:
    """A bit of everything that has state, and at the end a function that may fail."""
    orders = application.stream("orders", value_schema="n int")
    payments = application.stream("payments", value_schema="n int")
    by_key = orders.group_by_key()
    by_key.aggregate(0, lambda _, row, total: total + row["n"], "int").to("folded")
    windows = by_key.window(tumbling("10s"))
    windows.sum("n").to("sums")
    windows.sum("n").late().to("late")
    windows.sum("n").suppress().to("closed")
    by_key.window(session("10s")).count().to("sessions")
    by_key.window(sliding("10s")).count().to("sliding")
    orders.outer_join(payments, within="5s").to("pairs")
    orders.left_join(application.table("customers", value_schema="name string")).to("enriched")
    orders.deduplicate(within="1 minute").to("first")
    orders.process(Count, "n int").to("processed")

    def check(_: "DataFrame", number: int) -> None:
        if fails.pop(number, False):
            raise OSError("no space left on device")

    orders.for_each_batch(check)


def sent(driver: TestDriver, number: int) -> None:
    """Of a micro-batch."""
    for place in range(4):
        time = 9_000 * number + 1_000 * place
        driver.send("orders", {"n": place}, key="ab"[place % 2], timestamp=time)
        driver.send("payments", {"n": place}, key="ab"[place % 2], timestamp=time + 4_000 * number)
    driver.send("orders", {"n": 7}, key="a", timestamp=0)
    driver.send("customers", {"name": f"Ada {number}"}, key="a", timestamp=9_000 * number + 1)


def outcome(spark: "SparkSession", fails: dict[int, bool]) -> dict[str, Any]:
    application = Streams("again")
    declare(application, fails)
    with TestDriver(application, spark=spark) as driver:
        for number in range(2):
            sent(driver, number)
            try:
                driver.run()
            except OSError:
                driver.run()
        topics = [sink.topic for sink in driver.topology.sinks if hasattr(sink, "topic")]
        found: dict[str, Any] = {topic: sorted(map(repr, driver.read(topic))) for topic in topics}
        return found | {"progress": {**driver.progress, "seconds": None}}


def test_a_batch_that_is_run_again_gives_the_same(spark: "SparkSession") -> None:
    """What its first attempt has computed counts, rows, late ones and all."""
    assert outcome(spark, {1: True}) == outcome(spark, {})


def test_what_does_not_fit_is_refused(spark: "SparkSession") -> None:
    application = Streams("refused")
    application.stream("orders", value_schema="n int").to("out")
    with TestDriver(application, spark=spark) as driver:
        with pytest.raises(InvalidTopology, match=r"reads no topic 'order'\. It reads: orders"):
            driver.send("order", {})
        with pytest.raises(InvalidTopology, match=r"writes no topic 'outs'\. It writes: out"):
            driver.read("outs")
        for value, message in (
            ({"m": 1}, "{'m': 1} is no value of topic orders. Its fields are: n"),
            (1, "1 is no value of topic orders"),
            ({"n": "one"}, "sent to topic orders is not of the types of its key and value, string and struct<n:int>"),
        ):
            driver.send("orders", value)
            with pytest.raises(InvalidTopology, match=message):
                driver.run()
            driver._inputs.clear()
        driver.send("orders", {"n": 1})
        assert [each.value for each in driver.read("out")] == [{"n": 1}]
        assert driver.progress["rows"] == {"orders": 1}


def test_other_types(spark: "SparkSession") -> None:
    """Keys, maps and decimals as they are; stores by the key that rows have."""
    application = Streams("types")
    rows = application.stream(
        "rows", value_schema="n int, tags map<string, int>", key_schema="struct<a: int, b: string>"
    )
    rows.group_by_key().aggregate(tags="latest(tags)").to("out")
    rows.group_by("n").count(store="counts").to("counts")
    with TestDriver(application, spark=spark) as driver:
        for n in (1, 2):
            driver.send("rows", {"n": 7, "tags": {"n": n}}, key={"a": 1, "b": "x"})
            driver.run()
        assert driver.read("out")[-1].value == {"tags": {"n": 2}}
        assert driver.store("counts").get(7) == {"count": 2}
