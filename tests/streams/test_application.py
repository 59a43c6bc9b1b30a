"""Applications on a real broker: what they read, write and remember, from one run to the next."""

import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyarrow import dataset

from stoker.streams import Streams, open_store, tumbling
from stoker.streams.errors import (
    ApplicationFailed,
    InvalidTopology,
    NotCoPartitioned,
    StateLost,
    StreamsError,
    TopologyChanged,
)
from tests.registry.registry_process import RegistryProcess
from tests.streams.records import Records, headers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stoker.streams.stream import Stream
    from stoker.streams.table import Table

NOON: Final = 1_700_006_400_000
MINUTE: Final = 60_000
ORDERS: Final = "order_id bigint, amount double, placed bigint"
KEYS: Final = 25
KNOWN: Final = 20
COUNT: Final = 600
LATE: Final = 7


@dataclass(kw_only=True)
class Pipeline:
    """An application with many outputs, over topics with a prefix of their own."""

    records: Records
    spark: "SparkSession"
    place: Path
    prefix: str = "shop"

    def topic(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    @property
    def lake(self) -> str:
        return str(self.place / "lake")

    @property
    def state(self) -> Path:
        return self.place / "state" / f"{self.prefix}-app"

    def send(self, numbers: range, minutes: int = 0) -> None:
        """Orders by the numbers, in partitions by their keys; every 100th is malformed."""
        for number in numbers:
            value: Any = {"order_id": number, "amount": float(number % 50), "placed": NOON + number * 1000}
            value["placed"] += minutes * MINUTE
            self.records.send(self.topic("orders"), key(number), b"{" if number % 100 == 99 else value, 1)
        self.records.flush()

    def application(self, **changes: Any) -> Streams:
        """`changes` are those of a topology that is started on the state of this one."""
        app = Streams(
            f"{self.prefix}-app",
            bootstrap_servers=self.records.bootstrap_servers,
            spark=changes.get("spark", self.spark),
            state_dir=str(self.place / "state"),
        )
        orders: Stream = app.stream(
            self.topic("orders"), value_schema=ORDERS, timestamp="placed", dead_letters=self.topic("bad-orders")
        )
        self.orders = orders
        if "filter" in changes:
            orders = orders.filter(changes["filter"])
        if "key" in changes:
            orders = orders.key_by(changes["key"])
        customers: Table = app.table(self.topic("customers"), value_schema="name string", store="customers")
        orders.left_join(customers).to(self.topic("enriched"))
        grouped = orders.group_by_key().window(changes.get("window", tumbling("5 minutes", grace="1 minute")))
        self.revenue = grouped.aggregate(
            store="revenue", **changes.get("aggregates", {"revenue": "sum(amount)", "orders": "count(*)"})
        )
        self.revenue.to(self.topic("revenue"))
        self.revenue.late().to(self.topic("late"))
        orders.to_parquet(self.lake)
        rekeyed = orders.key_by("order_id % 10").repartition("by-digit", partitions=3)
        rekeyed.group_by_key().count(store="digits").to(self.topic("digits"))
        if "sink" in changes:
            orders.filter("amount = 25").to(changes["sink"])
        if "topic" in changes:
            app.stream(changes["topic"], value_schema="n bigint").to(self.topic("copied"))
        return app


def key(number: int) -> str:
    return f"customer-{number % KEYS:02d}"


def is_good(number: int) -> bool:
    return number % 100 != 99


@pytest.fixture(scope="module")
def shop(records: Records, spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Has read COUNT orders, of which the last are late."""
    pipeline = Pipeline(records=records, spark=spark, place=tmp_path_factory.mktemp("the shop, 100%"))
    records.create(pipeline.topic("orders"), pipeline.topic("customers"), partitions=2)
    for number in range(KNOWN):
        records.send(pipeline.topic("customers"), key(number), {"name": f"name of {number}"}, NOON)
    pipeline.send(range(COUNT))
    app = pipeline.application()
    app.start()
    await_read(app)
    for number in range(LATE):
        records.send(
            pipeline.topic("orders"), key(number), {"order_id": COUNT + number, "amount": 1.0, "placed": NOON}, 1
        )
    records.flush()
    await_read(app)
    app.stop()
    return pipeline


def good_orders() -> list[int]:
    return [number for number in range(COUNT) if is_good(number)]


def test_a_record_is_enriched_once(shop: Pipeline) -> None:
    """Each order leaves with what the table knows of its customer, or nothing, and none leaves twice."""
    found = shop.records.values(shop.topic("enriched"))
    assert Counter(value["order_id"] for _, value in found) == Counter([*good_orders(), *range(COUNT, COUNT + LATE)])
    for name, value in found:
        assert name == key(value["order_id"] % COUNT)
        number = int(str(name)[-2:])
        assert value.get("name") == (f"name of {number}" if number < KNOWN else None)


def test_windows_are_of_the_event_time_in_a_field(shop: Pipeline) -> None:
    """timestamp="placed" puts orders into the windows of when they were placed, and late ones into none."""
    expected: dict[tuple[str, int], tuple[float, int]] = {}
    for number in good_orders():
        place = key(number), (NOON + number * 1000) // (5 * MINUTE) * (5 * MINUTE)
        revenue, orders = expected.get(place, (0.0, 0))
        expected[place] = revenue + number % 50, orders + 1
    store = open_store("shop-app", "revenue", state_dir=str(shop.place / "state"))
    found = {
        (row.key, round(row.window_start.timestamp() * 1000)): (row.value["revenue"], row.value["orders"])
        for row in store.all()
    }
    assert found == expected
    late = shop.records.values(shop.topic("late"))
    assert sorted(value["order_id"] for _, value in late) == list(range(COUNT, COUNT + LATE))


def test_what_cannot_be_decoded_is_set_aside_with_reasons(shop: Pipeline) -> None:
    """A dead letter is the record as it was, with headers that say where it was, which application it is of, and why."""
    found = shop.records.read(shop.topic("bad-orders"))
    assert len(found) == COUNT // 100
    for message in found:
        told = headers(message)
        assert message.value() == b"{"
        assert told["stoker.topic"] == shop.topic("orders")
        assert told["stoker.application"] == "shop-app"
        assert told["stoker.error"]
        source = shop.records.read(told["stoker.topic"])
        [origin] = [
            each
            for each in source
            if (each.partition(), each.offset()) == (int(told["stoker.partition"]), int(told["stoker.offset"]))
        ]
        assert (origin.key(), origin.value()) == (message.key(), b"{")


def test_parquet_files_are_in_directories_of_the_time(shop: Pipeline) -> None:
    """Rows are in date=/hour= of their event time (UTC), each once."""
    table = dataset.dataset(shop.lake, format="parquet", partitioning="hive").to_table()
    rows = table.select(["order_id", "placed", "date", "hour"]).to_pylist()
    assert Counter(row["order_id"] for row in rows) == Counter([*good_orders(), *range(COUNT, COUNT + LATE)])
    assert {(str(row["date"]), int(row["hour"])) for row in rows} == {("2023-11-15", 0)}
    assert (Path(shop.lake) / "date=2023-11-15" / "hour=00").is_dir()


@pytest.mark.acceptance("B135")
def test_rekeying_goes_through_an_internal_topic(shop: Pipeline) -> None:
    """The topic `<app>-<name>-repartition` has the records by their new key, each key in one partition and in its order."""
    topic = "shop-app-by-digit-repartition"
    assert shop.records.topics()[topic] == 3
    partitions: dict[bytes, set[int]] = defaultdict(set)
    orders: dict[tuple[bytes, str], list[int]] = defaultdict(list)
    for message in shop.records.read(topic):
        partitions[message.key() or b""].add(message.partition() or 0)
        value = json.loads(message.value() or b"")
        orders[message.key() or b"", key(value["order_id"] % COUNT)].append(value["order_id"])
    assert {int(each) for each in partitions} == set(range(10))
    assert all(len(each) == 1 for each in partitions.values())
    # Orders of one customer are in one partition of the input: their order there is what must be kept.
    assert all(numbers == sorted(numbers) for numbers in orders.values())
    counts = Counter(number % 10 for number in [*good_orders(), *range(COUNT, COUNT + LATE)])
    assert shop.records.latest(shop.topic("digits")) == {
        str(digit): {"count": count} for digit, count in counts.items()
    }


def test_status_tells_how_far_it_is(shop: Pipeline) -> None:
    """Rows, late ones and dead letters since the first start, the lag of each topic, and the sizes of stores."""
    status = shop.application().status()
    assert status.state == "created"
    assert status.rows[shop.topic("orders")] == COUNT + LATE
    assert status.rows[shop.topic("customers")] == KNOWN
    assert status.late == {"revenue": LATE}
    assert status.dead_letters == {shop.topic("orders"): COUNT // 100}
    assert set(status.lag.values()) == {0}
    assert status.stores["customers"] == KNOWN
    assert status.rows_per_second > 0
    assert status.committed_at is not None
    assert status.error is None


@pytest.mark.acceptance("B149")
def test_offsets_are_committed_to_the_group_of_its_name(shop: Pipeline) -> None:
    """The group named as the application stands where the application has read up to."""
    for topic in (shop.topic("orders"), shop.topic("customers")):
        assert shop.records.committed("shop-app", topic) == shop.records.ends(topic)


@pytest.mark.acceptance("B137")
def test_a_store_is_asked_by_another_process(shop: Pipeline) -> None:
    """A process that knows the name of the application and its state's place gets a value by its key."""
    program = (
        "import sys; from stoker.streams import open_store\n"
        "view = open_store('shop-app', 'customers', state_dir=sys.argv[1])\n"
        "print(view.get('customer-07'), view.get('nobody'), 'pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(shop.place / "state")]
    assert (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        == "{'name': 'name of 7'} None False\n"
    )


def test_data_frames_of_a_stream_and_a_table(shop: Pipeline) -> None:
    """`.df` is all that a node is for what the topics hold now, computed anew and kept nowhere."""
    shop.application()
    assert shop.orders.df.count() == len(good_orders()) + LATE
    total = shop.revenue.df.selectExpr("sum(revenue) AS revenue", "sum(orders) AS orders").collect()[0]
    assert (total.revenue, total.orders) == (sum(each % 50 for each in good_orders()), len(good_orders()))


CHANGES: Final = {
    "window": ({"window": tumbling("10 minutes", grace="1 minute")}, ["store revenue", "5 minutes", "10 minutes"]),
    "aggregate": ({"aggregates": {"revenue": "max(amount)"}}, ["store revenue", "max(amount)", "sum(amount)"]),
    "key": ({"key": "order_id"}, ["store revenue", "the key", "string", "long"]),
}


@pytest.mark.parametrize(("changes", "words"), CHANGES.values(), ids=CHANGES)
def test_a_topology_that_does_not_fit_the_state_is_refused(
    shop: Pipeline, changes: dict[str, Any], words: list[str]
) -> None:
    """Before anything runs or is made, with what was and what is, and the ways out."""
    app = shop.application(sink="shop-of-a-refused-one", **changes)
    with pytest.raises(TopologyChanged) as refused:
        app.start()
    message = str(refused.value)
    assert all(word in message for word in [*words, "reset()", "store=", "Nothing was started"]), message
    assert "shop-of-a-refused-one" not in shop.records.topics()
    with pytest.raises(TopologyChanged):
        app.check()


@pytest.mark.acceptance("B136")
def test_lost_state_is_had_back_from_changelogs(shop: Pipeline) -> None:
    """Each named store has a compacted changelog topic; with all of its files gone the application goes on with the same state."""
    for store in ("customers", "revenue", "digits"):
        assert "compact" in shop.records.config(f"shop-app-{store}-changelog", "cleanup.policy")
    app = shop.application()
    before = {name: sorted(map(repr, app.store(name).all())) for name in ("customers", "revenue", "digits")}
    shutil.rmtree(shop.state / "stores")
    shutil.rmtree(shop.state / "manifests")
    nothing = range(COUNT + 99, COUNT + 100)  # a malformed one, so that there is a micro-batch
    shop.send(nothing)
    app.run(until_end=True)
    for name, rows in before.items():
        assert sorted(map(repr, app.store(name).all())) == rows, name
    assert set(app.status().lag.values()) == {0}


def test_changes_that_do_no_harm_pass(shop: Pipeline) -> None:
    """A filter, a sink and a topic more, then the topic taken away again: the state goes on."""
    shop.records.create("shop-more")
    shop.records.send("shop-more", None, {"n": 1}, NOON)
    first, second = range(COUNT + 100, COUNT + 150), range(COUNT + 150, COUNT + 199)
    digits = {name: value["count"] for name, value in shop.records.latest(shop.topic("digits")).items()}
    shop.send(first)
    changes = {"filter": "order_id % 2 = 0", "sink": "shop-dear", "topic": "shop-more"}
    shop.application(**changes).run(until_end=True)
    assert shop.records.values(shop.topic("copied")) == [(None, {"n": 1})]
    shop.send(second)
    del changes["topic"]
    app = shop.application(**{**changes, "filter": "order_id % 2 = 1"})
    app.run(until_end=True)
    added = Counter(
        str(number % 10) for number in [*[n for n in first if n % 2 == 0], *[n for n in second if n % 2 == 1]]
    )
    found = {name: value["count"] for name, value in shop.records.latest(shop.topic("digits")).items()}
    assert found == {name: count + added[str(name)] for name, count in digits.items()}
    assert [value["order_id"] for _, value in shop.records.values("shop-dear")] == [COUNT + 175]
    assert shop.topic("copied") in shop.records.topics()


def test_parallelism_changes_between_runs(shop: Pipeline) -> None:
    """Another number of shuffle partitions, and partitions added to a topic: what is counted goes on."""
    session = shop.spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    topic = shop.topic("orders")
    before = {name: value["count"] for name, value in shop.records.latest(shop.topic("digits")).items()}
    shop.records.add_partitions(topic, 4)
    shop.records.add_partitions(shop.topic("customers"), 4)
    another = Records(shop.records.bootstrap_servers)  # whose producer knows of the new partitions
    for number in range(1000, 1040):
        value = {"order_id": number, "amount": 1.0, "placed": NOON + 3600_000}
        another.send(topic, key(number), value, 1, partition=number % 4)
    another.flush()
    app = shop.application(spark=session)
    app.run(until_end=True)
    found = {name: value["count"] for name, value in shop.records.latest(shop.topic("digits")).items()}
    assert found == {name: count + 4 for name, count in before.items()}
    rows = dataset.dataset(shop.lake, format="parquet", partitioning="hive").to_table(columns=["order_id"])
    assert Counter(each for each in rows.column("order_id").to_pylist() if each >= 1000) == Counter(range(1000, 1040))
    assert json.loads((shop.state / "topology.json").read_text())["cut"]["spark.sql.shuffle.partitions"] == "3"


def test_a_lost_checkpoint_is_refused(shop: Pipeline) -> None:
    """State without Spark's checkpoint would be counted twice: it is refused, and reset() is the way out."""
    app = shop.application()
    shutil.rmtree(shop.state / "checkpoint")
    with pytest.raises(StateLost, match=r"checkpoint is gone.*reset\(\)"):
        app.start()
    app.reset()
    assert not shop.state.exists()


def test_a_reset_application_does_not_take_old_changes_for_its_own(shop: Pipeline) -> None:
    """After reset() the changelogs have rows of two states: only those of the last one are had back."""
    app = Streams(
        "shop-app",
        bootstrap_servers=shop.records.bootstrap_servers,
        spark=shop.spark,
        state_dir=str(shop.place / "state"),
    )
    rows = app.table(shop.topic("customers"), value_schema="name string", store="customers").filter(
        "name > 'name of 5'"
    )
    rows.to_stream().group_by_key().count(store="digits")
    app.run(until_end=True)
    counts = dict.fromkeys((f"customer-{each:02d}" for each in range(6, 10)), 1)
    assert {row.key: row.value["count"] for row in app.store("digits").all()} == counts
    shutil.rmtree(shop.state / "stores")
    shutil.rmtree(shop.state / "manifests")
    shop.records.send(shop.topic("customers"), "customer-06", {"name": "name of 66"}, NOON)
    shop.records.flush()
    app.run(until_end=True)
    assert {row.key: row.value["count"] for row in app.store("digits").all()} == {**counts, "customer-06": 2}


# -- refused before the start


@pytest.mark.acceptance("B148")
def test_missing_co_partitioning_is_refused(
    broker: str, spark: "SparkSession", records: Records, tmp_path: Path
) -> None:
    """Before the start, with both topics and their partitions; repartition(), key_by() and a global table are ways out."""
    records.create("cut-orders", partitions=3)
    records.create("cut-customers", partitions=2)

    def application(way: str) -> Streams:
        app = Streams(f"cut-{way}", bootstrap_servers=broker, spark=spark, state_dir=str(tmp_path))
        orders = app.stream("cut-orders", value_schema="n bigint")
        if way == "global":
            orders.join(app.global_table("cut-customers", value_schema="name string"), on="_key").to("cut-out")
            return app
        if way == "repartition":
            orders = orders.repartition("by-customer", partitions=2)
        orders.join(app.table("cut-customers", value_schema="name string")).to("cut-out")
        return app

    for attempt in (Streams.check, Streams.start):
        with pytest.raises(NotCoPartitioned) as refused:
            attempt(application("refused"))
        message = str(refused.value)
        assert "topic cut-orders has 3 partitions and topic cut-customers has 2" in message
        assert all(way in message for way in ("repartition(", "key_by(", "global_table"))
    assert "cut-out" not in records.topics()
    records.send("cut-orders", "ada", {"n": 1}, NOON)
    records.send("cut-customers", "ada", {"name": "Ada"}, NOON - 1)
    records.flush()
    for number, way in enumerate(("repartition", "global"), start=1):
        application(way).run(until_end=True)
        assert records.values("cut-out") == [("ada", {"n": 1, "name": "Ada"})] * number


def test_unknown_columns_and_topics_are_refused(
    broker: str, spark: "SparkSession", records: Records, tmp_path: Path
) -> None:
    """Before the start, with the node and the columns that there are; nothing is made."""
    records.create("known-orders")
    before = records.topics()

    def application() -> Streams:
        return Streams("refused", bootstrap_servers=broker, spark=spark, state_dir=str(tmp_path))

    app = application()
    app.stream("known-orders", value_schema="n bigint, price double").filter("prize > 3").to("refused-out")
    with pytest.raises(InvalidTopology, match=r"filter prize > 3: .*prize.*`price`"):
        app.start()
    app = application()
    app.stream("known-orders", value_schema="n bigint", timestamp="placed").to("refused-out")
    with pytest.raises(InvalidTopology, match=r"'placed' is no field of the values of topic known-orders.*n"):
        app.check()
    app = application()
    app.stream("unknown-orders").to("refused-out")
    with pytest.raises(InvalidTopology, match=r"no topic 'unknown-orders' to read.*stoker topics create"):
        app.start()
    with pytest.raises(InvalidTopology, match="does nothing"):
        application().start()
    assert records.topics() == before
    assert not (tmp_path / "refused").exists()


def test_an_application_that_fails_says_why(
    broker: str, spark: "SparkSession", records: Records, tmp_path: Path
) -> None:
    """A malformed record fails it, unless it is to be dropped; its status has the reason, and it can be started again."""
    records.create("failing-orders")
    records.send("failing-orders", "ada", {"n": 1}, NOON)
    records.send("failing-orders", "ada", b"{", NOON)
    records.flush()

    def application(**arguments: Any) -> Streams:
        app = Streams("failing", bootstrap_servers=broker, spark=spark, state_dir=str(tmp_path))
        app.stream("failing-orders", value_schema="n bigint", **arguments).to("failing-out")
        return app

    app = application()
    with pytest.raises(ApplicationFailed, match="application failing has failed"):
        app.run(until_end=True)
    status = app.status()
    assert status.state == "failed"
    assert "failing-orders" in str(status.error), status.error
    with pytest.raises(StreamsError):
        app.stop()
    app = application(on_error="drop")
    app.run(until_end=True)
    assert records.values("failing-out") == [("ada", {"n": 1})]
    assert app.status().state == "stopped"


# -- registry, two applications

ORDER: Final = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "item", "type": "string"}, {"name": "cents", "type": "long"}],
    }
)


def test_two_applications_in_one_session(
    broker: str,
    registry: RegistryProcess,
    spark: "SparkSession",
    records: Records,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Avro in and out by the registry; both run at once, write to one directory of files, and are stopped one after the other."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    client = SchemaRegistryClient({"url": registry.url})
    request.addfinalizer(client.close)
    encode = AvroSerializer(client, ORDER)
    decode = AvroDeserializer(client)
    records.create("two-orders", partitions=2)
    context = SerializationContext("two-orders", MessageField.VALUE)

    def send(numbers: range) -> None:
        for number in numbers:
            value = encode({"item": f"item {number % 3}", "cents": number}, context)
            records.send("two-orders", f"key {number}", value, NOON + number)
        records.flush()

    send(range(100))
    apps = []
    for number in range(2):
        app = Streams(
            f"two-{number}", bootstrap_servers=broker, registry=registry.url, spark=spark, state_dir=str(tmp_path)
        )
        orders = app.stream("two-orders").filter(f"cents % 2 = {number}")
        orders.select("item", gross="cents * 2").to(f"two-out-{number}")
        orders.group_by("item").sum("cents", store="sums").to(f"two-sums-{number}")
        orders.to_parquet(str(tmp_path / "lake"), partition_by=["item"])
        apps.append(app)
    for app in apps:
        app.start()
    with pytest.raises(ApplicationFailed, match="runs already"):
        apps[0].start()
    with pytest.raises(ApplicationFailed, match=r"stop\(\) it first"):
        apps[0].reset()
    await_read(*apps)
    assert [app.status().state for app in apps] == ["running", "running"]
    send(range(100, 200))
    apps[0].stop()
    await_read(apps[1])
    apps[1].stop()
    apps[0].run(until_end=True)
    for number, app in enumerate(apps):
        mine = range(number, 200, 2)
        out = SerializationContext(f"two-out-{number}", MessageField.VALUE)
        found = [decode(each.value(), out) for each in records.read(f"two-out-{number}")]
        assert Counter((each["item"], each["gross"]) for each in found) == Counter(
            (f"item {each % 3}", each * 2) for each in mine
        )
        sums = {f"item {third}": sum(each for each in mine if each % 3 == third) for third in range(3)}
        assert {row.key: row.value["sum_cents"] for row in app.store("sums").all()} == sums
    rows = dataset.dataset(tmp_path / "lake", format="parquet", partitioning="hive").to_table(columns=["cents"])
    assert sorted(rows.column("cents").to_pylist()) == list(range(200))
    assert client.get_latest_version("two-out-0-value").schema.schema_type == "AVRO"


def await_read(*apps: Streams) -> None:
    """Until they have no lag."""
    for app in apps:
        while sum(app.status().lag.values()):
            app.wait(0.2)  # which raises if it has failed
