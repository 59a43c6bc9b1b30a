"""Sinks of applications that run on Arrow columns: on a real broker, beside the same application run by Spark's rows."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.spark import exactly_once
from stoker.streams import Streams, running, tumbling
from stoker.streams.columnar.expressions import Unsupported
from stoker.streams.columnar.sink import ColumnarSink, may_be_columnar
from stoker.streams.errors import ApplicationFailed
from stoker.streams.nodes import ToTopic
from stoker.streams.state.manifest import Manifest, StoreFiles
from stoker.streams.state.store import SMALL
from tests.streams.columnar.hostile_rows import SCHEMA, planned
from tests.streams.records import Records, headers

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyspark.sql import SparkSession

    from stoker.streams.stream import Stream
    from stoker.streams.table import Table

NOON: Final = 1_700_006_400_000
ORDERS: Final = (
    "n bigint, customer string, amount double, at timestamp, inner struct<s: string, n: int>, tags array<string>"
)
CUSTOMERS: Final = "name string, rank int, address struct<city: string>, seen timestamp, tags array<int>"
TEXTS: Final = ("", "ada", "Ada", "\u00e9", "a%b", "\U0001f600")
KEYS: Final = (None, *[f"customer-{number}" for number in range(12)])
COLUMNAR: Final = frozenset({"large", "others", "rekeyed", "chosen", "nested", "enriched", "known"})
"""The outputs that are run on columns if all is at rest."""
OF_TABLE: Final = frozenset({"enriched", "known"})
BY_SPARK: Final = frozenset({"computed", "counted"})


@dataclass(kw_only=True)
class Shop:
    """An application with many outputs, over the topics of `prefix`; what it writes begins with its name."""

    records: Records
    spark: "SparkSession"
    place: Path
    prefix: str

    def application(self, name: str, **of_orders: Any) -> Streams:
        app = Streams(
            f"{self.prefix}-{name}",
            bootstrap_servers=self.records.bootstrap_servers,
            spark=self.spark,
            state_dir=str(self.place),
        )
        arguments: dict[str, Any] = {"value_schema": ORDERS, "headers": True, "dead_letters": self.out(name, "bad")}
        orders: Stream = app.stream(f"{self.prefix}-orders", **(arguments | of_orders))
        customers: Table = app.table(f"{self.prefix}-customers", value_schema=CUSTOMERS, store="customers")
        orders.filter("amount > 1.5 AND customer >= 'a'").to(self.out(name, "large"))
        orders.filter_not("amount > 1.5").to(self.out(name, "others"))
        orders.key_by("customer").to(self.out(name, "rekeyed"))
        orders.select("n", twice="amount * 2", who="coalesce(customer, 'nobody')").to(self.out(name, "chosen"))
        orders.select("inner", "tags", "at").to(self.out(name, "nested"))
        orders.left_join(customers).to(self.out(name, "enriched"))
        orders.join(customers).filter("rank > 1").to(self.out(name, "known"))
        orders.select(sum="n + 1").to(self.out(name, "computed"))
        orders.group_by("customer").count(store="counts").to(self.out(name, "counted"))
        return app

    def out(self, name: str, output: str) -> str:
        return f"{self.prefix}-{name}-{output}"

    def send_orders(self, numbers: range) -> None:
        """All that there may be: no key, no value, no field, a field that is null, and what is no JSON."""
        chance = random.Random(numbers.start)
        for number in numbers:
            value: Any = {
                "n": number,
                "customer": chance.choice((None, *TEXTS)),
                "amount": chance.choice((None, 0.5, -0.0, 1.5, 2.5, 1e300)),
                "at": chance.choice((None, "2024-02-29T12:00:00.000001Z")),
                "inner": chance.choice((None, {"s": None, "n": 1}, {"s": "x", "n": None})),
                "tags": chance.choice((None, [], ["a", None])),
            }
            if number % 10 == 7:
                value = b"{" if number % 20 == 7 else {"n": number}
            if number % 13 == 5:
                value = None
            self.records.send(f"{self.prefix}-orders", chance.choice(KEYS), value, NOON + number)
        self.records.flush()

    def send_customers(self, ranks: dict[str, int | None], time: int) -> None:
        """None deletes."""
        for key, rank in ranks.items():
            value: dict[str, Any] = {"name": f"{key} {rank}", "rank": rank, "address": {"city": key} if rank else None}
            value |= {"seen": "9999-12-31T23:59:59.999999Z", "tags": [rank, None]} if rank != 2 else {}
            self.records.send(f"{self.prefix}-customers", key, None if rank is None else value, NOON + time)
        self.records.flush()

    def written(self, name: str, output: str) -> Counter[tuple[Any, ...]]:
        topic = self.out(name, output)
        return Counter(map(_content, self.records.read(topic) if topic in self.records.topics() else []))


def _content(record: "Message") -> tuple[Any, ...]:
    """But for the partition of a record that has no key, which is any, and for the application's name."""
    partition = None if record.key() is None else record.partition()
    told = tuple((name, text) for name, text in headers(record).items() if name != "stoker.application")
    return partition, record.key(), record.value(), record.timestamp(), told


@contextmanager
def watched() -> Iterator[list[str]]:
    """The topics of the sinks that were run on columns, as they are."""
    taken: list[str] = []
    write = ColumnarSink.write

    def seen(self: ColumnarSink, *arguments: Any) -> None:
        write(self, *arguments)
        assert self._endpoints is not None
        taken.append(str(self._endpoints.sink.options.topic))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColumnarSink, "write", seen)
        yield taken


@contextmanager
def by_spark() -> Iterator[None]:
    """No sink is run on columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "columnar_sinks", lambda *arguments: {})
        yield


Stages = list[tuple[str, range, dict[str, int | None], frozenset[str]]]

STAGES: Final[Stages] = [
    ("table and orders", range(150), {f"customer-{each}": each % 4 for each in range(8)}, COLUMNAR - OF_TABLE),
    ("table", range(0), {"customer-0": None, "customer-1": 3, "customer-9": 2}, frozenset()),
    ("orders after the table has changed", range(150, 300), {}, COLUMNAR),
    ("orders that are all null or malformed", range(507, 508), {}, COLUMNAR),
]


@pytest.mark.parametrize(
    "stages", [STAGES[::2], pytest.param(STAGES, marks=[pytest.mark.soak, pytest.mark.timeout(0)])], ids=["two", "all"]
)
def test_what_is_written_is_what_spark_writes(
    records: Records, spark: "SparkSession", tmp_path: Path, stages: Stages
) -> None:
    """Keys, values, times, headers and partitions, byte for byte, while the table changes and rests; and the same is counted."""
    shop = Shop(records=records, spark=spark, place=tmp_path, prefix="columnar")
    records.create("columnar-orders", "columnar-customers", partitions=2)
    statuses = []
    for number, (stage, orders, customers, expected) in enumerate(stages):
        shop.send_customers(customers, number * 1000)
        shop.send_orders(orders)
        with watched() as taken:
            app = shop.application("fast")
            app.run(until_end=True)
        assert set(taken) == {shop.out("fast", each) for each in expected}, stage
        assert len(taken) == len(set(taken)), stage
        with by_spark(), watched() as taken:
            peer = shop.application("slow")
            peer.run(until_end=True)
        assert taken == []
        statuses = [each.status() for each in (app, peer)]
    for output in (*sorted(COLUMNAR | BY_SPARK), "bad"):
        found = shop.written("fast", output)
        assert found == shop.written("slow", output), output
        assert found, output
    fast, slow = statuses
    assert (fast.rows, fast.dead_letters, fast.stores, fast.lag) == (
        slow.rows,
        slow.dead_letters,
        slow.stores,
        slow.lag,
    )
    count = sum(len(orders) for _, orders, _, _ in stages)
    assert fast.rows["columnar-orders"] == count
    assert fast.dead_letters["columnar-orders"] == sum(shop.written("fast", "bad").values())
    assert fast.lag == {"columnar-orders": 0, "columnar-customers": 0}


# -- what goes wrong


def failing_after(times: int, original: Callable[..., Any]) -> Callable[..., Any]:
    left = [times]

    def passed(*arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("crashed")
        return result

    return passed


def failing_before(times: int, original: Callable[..., Any]) -> Callable[..., Any]:
    left = [times]

    def passed(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("crashed")
        return original(*arguments, **named)

    return passed


@pytest.mark.soak  # test_exactly_once.py crashes a smaller application in the midst of such a sink
def test_a_batch_that_is_run_again_writes_nothing_twice(
    records: Records, spark: "SparkSession", tmp_path: Path
) -> None:
    """It has failed before its tasks were told to commit, after that, when some sinks were written, and when all were."""
    shop = Shop(records=records, spark=spark, place=tmp_path, prefix="crashing")
    records.create("crashing-orders", "crashing-customers", partitions=2)
    shop.send_customers({f"customer-{each}": each for each in range(8)}, 0)
    shop.application("app").run(until_end=True)
    points: list[tuple[Any, str, Callable[[int, Any], Any], int]] = [
        (exactly_once, "finish", failing_before, 1),
        (exactly_once, "finish", failing_after, 2),
        (exactly_once, "finish", failing_before, 6),
        (ColumnarSink, "write", failing_after, 3),
        (ColumnarSink, "write", failing_after, len(COLUMNAR)),
    ]
    count = 0
    for place, name, failing, times in points:
        shop.send_orders(range(count, count + 50))
        count += 50
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(place, name, failing(times, getattr(place, name)))
            with pytest.raises(ApplicationFailed):
                shop.application("app").run(until_end=True)
    app = shop.application("app")
    app.run(until_end=True)
    with by_spark():
        shop.application("peer").run(until_end=True)
    for output in sorted(COLUMNAR | BY_SPARK):
        if output != "counted":  # whose updates depend on where batches end
            assert shop.written("app", output) == shop.written("peer", output), output
    assert app.status().rows["crashing-orders"] == count


def test_a_task_that_is_run_again_because_another_has_failed(
    records: Records, spark: "SparkSession", tmp_path: Path
) -> None:
    """A malformed record in one partition: what came of the other stays, and is not written again when the batch is."""
    records.create("failing-columns-orders", partitions=2)
    for partition in (0, 1):
        for number in range(20):
            content: Any = b"{" if (partition, number) == (1, 19) else {"n": number}
            records.send("failing-columns-orders", f"key {number}", content, NOON, partition)
    records.flush()

    def application(**arguments: Any) -> Streams:
        app = Streams(
            "failing-columns", bootstrap_servers=records.bootstrap_servers, spark=spark, state_dir=str(tmp_path)
        )
        stream: Stream = app.stream("failing-columns-orders", value_schema="n bigint", **arguments)
        stream.filter("n >= 10").to("failing-columns-out")
        return app

    app = application()
    with pytest.raises(ApplicationFailed, match="application failing-columns has failed"):
        app.run(until_end=True)
    assert "offset 19 of partition 1 of topic 'failing-columns-orders'" in str(app.status().error)
    written = Counter(value["n"] for _, value in records.values("failing-columns-out"))
    assert written in (Counter(), Counter(range(10, 20)))  # the task was perhaps not begun
    with watched() as taken:
        app = application(on_error="drop")
        app.run(until_end=True)
    assert taken == ["failing-columns-out"]
    found = Counter(value["n"] for _, value in records.values("failing-columns-out"))
    assert found == Counter([*range(10, 20), *range(10, 19)])
    assert app.status().rows == {"failing-columns-orders": 40}


# -- which ones


def of_filter(orders: "Stream", customers: "Table") -> "Stream":
    return orders.filter("n > 1").filter_not("n > 5").key_by("n").select("n")


def of_lookup(orders: "Stream", customers: "Table") -> "Stream":
    return orders.filter("n > 1").left_join(customers).select("n")


def of_two_lookups(orders: "Stream", customers: "Table") -> "Stream":
    return orders.left_join(customers).left_join(customers, columns=["left.n", "right.name AS again"])


def of_a_filtered_table(orders: "Stream", customers: "Table") -> "Stream":
    return orders.left_join(customers.filter("name > 'a'"))


def of_merged(orders: "Stream", customers: "Table") -> "Stream":
    return orders.merge(orders.filter("n > 1"))


def of_flat_map(orders: "Stream", customers: "Table") -> "Stream":
    return orders.flat_map("array(n, n)", "n")


def of_late(orders: "Stream", customers: "Table") -> "Stream":
    return orders.group_by_key().window(tumbling("1 minute")).count().late()


def of_python(orders: "Stream", customers: "Table") -> "Stream":
    return orders.map(lambda row: row, "n bigint")


@pytest.mark.parametrize(
    ("declare", "may_be", "has_table"),
    [
        (of_filter, True, False),
        (of_lookup, True, True),
        (of_two_lookups, False, False),
        (of_a_filtered_table, False, False),
        (of_merged, False, False),
        (of_flat_map, False, False),
        (of_late, False, False),
        (of_python, False, False),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_nodes_that_look_at_rows_one_by_one(declare: Any, may_be: bool, has_table: bool) -> None:
    app = Streams("nodes", bootstrap_servers="nobody:1")
    orders = app.stream("orders", value_schema="n bigint")
    customers = app.table("customers", value_schema="name string", store="customers")
    declare(orders, customers).to("out")
    [sink] = [each for each in app.topology.sinks if isinstance(each, ToTopic)]
    found = may_be_columnar(sink)
    assert (found is not None) == may_be
    if found is not None:
        assert (found[0].topic, found[1] is not None) == ("orders", has_table)


@pytest.mark.parametrize(
    ("files", "changed", "fits"),
    [
        (StoreFiles(parts=("batch-0",), rows=(3,)), [], True),
        (StoreFiles(parts=("base-0", "batch-1"), rows=(SMALL - 1, 1)), [], True),
        (StoreFiles(parts=("base-0", "batch-1"), rows=(SMALL, 1)), [], False),
        (StoreFiles(parts=("batch-0",), rows=(3,)), [0], False),
        (StoreFiles(), [], False),
        (None, [], False),
    ],
    ids=["small", "at most", "large", "changed", "empty", "unknown"],
)
def test_a_table_fits_while_it_is_small_and_rests(files: StoreFiles | None, changed: list[int], fits: bool) -> None:
    app = Streams("fits", bootstrap_servers="nobody:1")
    table = app.table("customers", value_schema="name string", store="customers")
    app.stream("orders", value_schema="n bigint").left_join(table).to("out")
    [sink] = [each for each in app.topology.sinks if isinstance(each, ToTopic)]
    found = may_be_columnar(sink)
    assert found is not None
    unused: Any = None
    made = ColumnarSink(
        source=found[0], table=found[1], table_columns=None, plan=unused, directory=unused, connect=unused
    )
    inputs: Any = _Changed({"customers": changed, "orders": [0, 1]})
    manifest = Manifest(stores={} if files is None else {"customers": files})
    assert made.fits(manifest, inputs) is fits


class _Changed:
    def __init__(self, partitions: dict[str, list[int]]) -> None:
        self._partitions = partitions

    def partitions(self, topic: str) -> list[int]:
        return self._partitions[topic]


@pytest.mark.parametrize(
    "column",
    [
        "unix_timestamp()",
        "unix_millis(now())",
        "year(current_date())",
        "date_format(current_timestamp(), 'yyyy')",
        "unix_millis(to_timestamp('now'))",
        "unix_micros(TIMESTAMP 'now')",
        "datediff('tomorrow', '2020-01-01')",
    ],
)
def test_what_depends_on_the_time_is_left_to_spark(spark: "SparkSession", column: str) -> None:
    """A plan is made once, and would have the time at which the application was started for ever."""
    nothing = spark.createDataFrame([], SCHEMA)
    with pytest.raises(Unsupported):
        planned(nothing.selectExpr("offset", f"{column} AS made"), nothing.schema)
