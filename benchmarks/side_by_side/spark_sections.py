"""The sections of the benchmark of topics in Spark: which queries, and how much faster than Spark's own connector."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from pyspark.sql import DataFrame, SparkSession

from side_by_side import loads, spark_engine, spark_loads
from side_by_side.bench import Bench, Measured, Samples
from side_by_side.loads import Values
from side_by_side.processes import LoadFailed
from side_by_side.results import Row, Section, Target, at_least, at_most
from side_by_side.spark_engine import CONNECTORS, SPARK, STOKER, TUNED, Connector
from side_by_side.spark_topics import LARGE_BATCH_BYTES, LARGE_RECORD_BYTES, PARTITIONS, Place

ORDERS, EVENTS, WRITTEN = 4_000_000, 2_000_000, 4_000_000
RATE, PACED_SECONDS = 1_000, 8
FEW_ROUNDS = 2
GROWING_PARTITIONS = (1, 4, 50, 200)
GROWING_RECORDS = 1_000_000
"""In all partitions together."""
GROWING_VALUES = ((100, 2_000_000), (1_000, 400_000), (10_000, 40_000), (100_000, 4_000))
WORKER_MEGABYTES = 300
HEADS = {"stoker": "Stoker", "spark": "Spark's connector", "tuned": "the same, tuned"}
TO_NOWHERE = "The query ends in Spark's `noop` sink, which takes every row and drops it."


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkBench:
    """One session, and each broker with its registry."""

    bench: Bench
    spark: SparkSession
    places: Sequence[Place]

    def alternate(
        self,
        what: str,
        load: Callable[[Connector], Measured],
        among: Sequence[Connector] = CONNECTORS,
        *,
        rounds: int | None = None,
        warm_up: bool = True,
    ) -> Samples:
        """Queries with each connector in turns; one that Spark ends with an error has failed."""

        def explained(connector: Connector) -> Measured:
            with spark_engine.failing():
                return load(connector)

        rounds = self.bench.rounds if rounds is None else min(rounds, self.bench.rounds)
        return self.bench.alternate(what, explained, among, warm_up=warm_up, rounds=rounds)


def _faster(bound: float, than: str = "spark") -> Target:
    return at_least(bound, against=than, in_rounds=True)


# From a topic


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A query over a topic of so many records: `rows` reads it, `ending` runs it and may return what must be equal."""

    title: str
    settings: str
    count: int
    topic: Callable[[Place, Bench, int], str]
    rows: Callable[[SparkSession, Connector, Place, str], DataFrame]
    ending: Callable[[SparkBench, DataFrame], object]
    target: Target


def _to_nowhere(spark_bench: SparkBench, rows: DataFrame) -> None:
    spark_loads.to_nowhere(rows)


def _to_parquet(spark_bench: SparkBench, rows: DataFrame) -> None:
    spark_loads.to_parquet(rows, spark_bench.bench.directory / "parquet")


def _to_sums(spark_bench: SparkBench, rows: DataFrame) -> spark_loads.Sums:
    return spark_loads.sums_by_customer(rows)


READINGS = {
    "raw": Reading(
        title="A topic's raw columns",
        settings=f"All seven columns of Spark's `kafka` source, keys and values as bytes. {TO_NOWHERE}",
        count=ORDERS,
        topic=Place.orders,
        rows=spark_loads.raw,
        ending=_to_nowhere,
        target=_faster(2.5),
    ),
    "avro": Reading(
        title="Avro as columns",
        settings="`value.format=avro` against `from_avro(substring(value, 6), ...)` with the schema at hand; key, partition, "
        f"offset, timestamp and the order's six fields. {TO_NOWHERE}",
        count=ORDERS,
        topic=Place.orders,
        rows=spark_loads.orders,
        ending=_to_nowhere,
        target=_faster(2.5),
    ),
    "sums": Reading(
        title="Sum and count by customer",
        settings="The same orders, grouped by a field of theirs; both must find the same sums.",
        count=ORDERS,
        topic=Place.orders,
        rows=spark_loads.orders,
        ending=_to_sums,
        target=_faster(2.5),
    ),
    "fields": Reading(
        title="The same, with only these fields read",
        settings="Both are told that nothing but the customer and the amount is wanted: Stoker's source by `.schema(...)`, `from_avro` "
        "by a reader's schema (`avroSchema`).",
        count=ORDERS,
        topic=Place.orders,
        rows=spark_loads.amounts,
        ending=_to_sums,
        target=_faster(2.5),
    ),
    "parquet": Reading(
        title="A topic to Parquet",
        settings="The orders with all their fields and the same four columns beside them, to Parquet files with Spark's defaults.",
        count=ORDERS,
        topic=Place.orders,
        rows=spark_loads.orders,
        ending=_to_parquet,
        target=_faster(1.7),
    ),
    "json": Reading(
        title="JSON as columns",
        settings="`value.format=json` with the fields in `.schema(...)` against `from_json`: plain JSON of ten fields, about "
        f"200 bytes; key, partition, offset, timestamp and the fields. {TO_NOWHERE}",
        count=EVENTS,
        topic=Place.events,
        rows=spark_loads.events,
        ending=_to_nowhere,
        target=_faster(2.0),
    ),
}


def _reading(reading: Reading) -> Callable[[SparkBench], Section]:
    def section(spark_bench: SparkBench) -> Section:
        bench = spark_bench.bench
        count = bench.scaled(reading.count)
        rates, costs = [], []
        for place in spark_bench.places:
            topic = reading.topic(place, bench, count)
            found: list[object] = []

            def load(
                connector: Connector, place: Place = place, topic: str = topic, found: list[object] = found
            ) -> Measured:
                cost = spark_engine.timed(
                    lambda: found.append(
                        reading.ending(spark_bench, reading.rows(spark_bench.spark, connector, place, topic))
                    )
                )
                if found[-1] != found[0]:
                    raise LoadFailed(f"{connector.format} found other results than the first query")
                return {"rate": count / cost.seconds / 1e3, "cost": cost.cpu_seconds / count * 1e6}

            samples = spark_bench.alternate(f"{reading.title}, {place.name}", load)
            rates.append(
                Row(name=f"on {place.name}", unit="k records/s", samples=samples.of("rate"), target=reading.target)
            )
            costs.append(_cost(f"CPU of Spark and its workers, on {place.name}", samples))
        settings = (
            f"{reading.settings} {count:,} records in {PARTITIONS} partitions, as librdkafka batches them by default."
        )
        return Section(title=reading.title, settings=settings, rows=[*rates, *costs], heads=HEADS)

    return section


def _cost(name: str, samples: Samples) -> Row:
    return Row(name=name, unit="µs a record", samples=samples.of("cost"), beside="spark")


# To a topic


def sink(spark_bench: SparkBench) -> Section:
    bench, spark = spark_bench.bench, spark_bench.spark
    count = bench.scaled(WRITTEN)
    source = spark_loads.write_source(spark, bench.directory, count)
    rows, costs = [], []
    for place in spark_bench.places:

        def load(connector: Connector, place: Place = place) -> Measured:
            with bench.topic(place.broker, PARTITIONS) as topic:
                seconds: list[float] = []
                cost = spark_engine.timed(
                    lambda: seconds.append(
                        spark_loads.write_to_topic(bench, spark, connector, place.broker, topic, source)
                    )
                )
                spark_loads.check_written(place.broker, topic, count)
            return {"rate": count / seconds[0] / 1e3, "cost": cost.cpu_seconds / count * 1e6}

        samples = spark_bench.alternate(f"sink, {place.name}", load, (STOKER, SPARK, TUNED))
        rates = samples.of("rate")
        without_tuned = {name: each for name, each in rates.items() if name != "tuned"}
        without_default = {name: each for name, each in rates.items() if name != "spark"}
        rows.append(Row(name=f"on {place.name}", unit="k records/s", samples=without_tuned, target=_faster(1.5)))
        rows.append(
            Row(
                name=f"on {place.name}, beside the tuned one",
                unit="k records/s",
                samples=without_default,
                target=_faster(1.0, than="tuned"),
            )
        )
        costs.append(_cost(f"CPU of Spark and its workers, on {place.name}", samples))
    return Section(
        title="To a topic, exactly once",
        settings="A streaming query from Parquet files to a topic: Stoker's sink with its defaults, which is exactly once, beside "
        "Spark's, which is at least once, with its defaults and with kafka.batch.size=1048576 and kafka.linger.ms=20. "
        f"{count:,} records with keys of 12 bytes and values of 50, {PARTITIONS} partitions, four micro-batches of two "
        "tasks each; the time is that of addBatch.",
        rows=[*rows, *costs],
        heads=HEADS,
    )


# Micro-batches


def micro_batches(spark_bench: SparkBench) -> Section:
    rows, python = [], []
    for place in spark_bench.places:
        for what, to_topic in (("topic to nowhere", False), ("topic to topic", True)):

            def load(connector: Connector, place: Place = place, to_topic: bool = to_topic) -> Measured:
                times = spark_loads.micro_batches(
                    spark_bench.bench,
                    spark_bench.spark,
                    connector,
                    place.broker,
                    rate=RATE,
                    seconds=PACED_SECONDS,
                    to_topic=to_topic,
                )
                return {"p50": median(times), "p90": quantiles(times, n=10)[-1]}

            samples = spark_bench.alternate(f"micro-batches, {what}, {place.name}", load, rounds=FEW_ROUNDS)
            for name in ("p50", "p90"):
                row = Row(name=f"{what}, {name}, on {place.name}", unit="ms", samples=samples.of(name), beside="spark")
                rows.append(row)
            ours, theirs = samples.of("p50").get("stoker", []), samples.of("p50").get("spark", [])
            differences = [our - their for our, their in zip(ours, theirs, strict=False)]
            python.append(
                Row(
                    name=f"{what}, what Python adds at p50, on {place.name}",
                    unit="ms",
                    samples={"stoker": differences},
                )
            )
    return Section(
        title="Micro-batches",
        settings=f"{RATE:,} records a second arrive at a topic of {PARTITIONS} partitions for {PACED_SECONDS} s; a streaming query "
        "without a trigger takes what is there, batch after batch, into the `noop` sink or to another topic (Stoker's "
        "exactly once, Spark's at least once). The time is that of the whole trigger: finding the offsets, the logs of "
        "the checkpoint, and the batch.",
        rows=[*rows, *python],
        heads=HEADS,
    )


# Growth


def partitions(spark_bench: SparkBench) -> Section:
    rows: list[Row] = []
    values = Values(size=100, codec="none", count=spark_bench.bench.scaled(GROWING_RECORDS))
    for place in spark_bench.places:
        for count in GROWING_PARTITIONS:
            name = f"{count} partition{'s' if count > 1 else ''}, on {place.name}"
            rate = _produced(spark_bench, place, name, values, count, warm_up=not rows).of("records")
            rows.append(Row(name=name, unit="k records/s", samples=rate, beside="spark"))
    return Section(
        title="As partitions grow",
        settings=f"{values.count:,} records of {values.label}, without keys, raw columns. {TO_NOWHERE}",
        rows=rows,
        heads=HEADS,
    )


def values(spark_bench: SparkBench) -> Section:
    rows: list[Row] = []
    for place in spark_bench.places:
        for size, count in GROWING_VALUES:
            sized = Values(size=size, codec="none", count=spark_bench.bench.scaled(count))
            name = f"{sized.label}, on {place.name}"
            rate = _produced(spark_bench, place, name, sized, PARTITIONS, warm_up=not rows).of("megabytes")
            rows.append(Row(name=name, unit="MB/s", samples=rate, beside="spark"))
    return Section(
        title="As values grow",
        settings=f"Values without keys, up to 400 MB of them, in {PARTITIONS} partitions, raw columns. {TO_NOWHERE}",
        rows=rows,
        heads=HEADS,
    )


def _produced(
    spark_bench: SparkBench, place: Place, name: str, values: Values, count: int, *, warm_up: bool
) -> Samples:
    """What reading costs from a topic of its own."""
    bench = spark_bench.bench
    with bench.topic(place.broker, count) as topic:
        loads.rdkafka_produce(bench, place.broker, topic, values, partitions=count)

        def load(connector: Connector) -> Measured:
            cost = spark_engine.timed(
                lambda: spark_loads.to_nowhere(spark_loads.raw(spark_bench.spark, connector, place, topic))
            )
            return {"records": values.count / cost.seconds / 1e3, "megabytes": values.bytes / cost.seconds / 1e6}

        return spark_bench.alternate(name, load, rounds=FEW_ROUNDS, warm_up=warm_up)


# Memory


def memory(spark_bench: SparkBench) -> Section:
    rows = []
    for place in spark_bench.places:
        for name, query in _hungry(spark_bench, place):

            def load(connector: Connector, query: Callable[[], object] = query) -> Measured:
                return {"peak": spark_engine.peak_megabytes(query)}

            samples = spark_bench.alternate(f"memory, {name}, {place.name}", load, [STOKER], rounds=1, warm_up=False)
            rows.append(
                Row(
                    name=f"{name}, on {place.name}",
                    unit="MB",
                    samples=samples.of("peak"),
                    target=at_most(WORKER_MEGABYTES, against=None),
                )
            )
    return Section(
        title="Memory of a Python worker",
        settings="The highest resident memory that any one of Spark's Python workers had during a query, with what it shares with "
        "the others counted in full.",
        rows=rows,
        heads=HEADS,
    )


def _hungry(spark_bench: SparkBench, place: Place) -> Iterator[tuple[str, Callable[[], object]]]:
    """Queries that could take much memory."""
    bench, spark = spark_bench.bench, spark_bench.spark
    count = bench.scaled(ORDERS)
    orders = place.orders(bench, count)
    yield f"{count:,} orders, raw", lambda: spark_loads.to_nowhere(spark_loads.raw(spark, STOKER, place, orders))
    yield f"{count:,} orders, Avro", lambda: spark_loads.to_nowhere(spark_loads.orders(spark, STOKER, place, orders))
    count = bench.scaled(EVENTS)
    events = place.events(bench, count)
    yield f"{count:,} orders, JSON", lambda: spark_loads.to_nowhere(spark_loads.events(spark, STOKER, place, events))
    batches = place.large_batches(bench)
    yield (
        f"record batches of {LARGE_BATCH_BYTES / 1e6:.0f} MB with values of 100 B",
        lambda: spark_loads.to_nowhere(spark_loads.raw(spark, STOKER, place, batches)),
    )
    records = place.large_records(bench)
    yield (
        f"records of {LARGE_RECORD_BYTES / 1e6:.0f} MB",
        lambda: spark_loads.to_nowhere(spark_loads.raw(spark, STOKER, place, records)),
    )
    count = bench.scaled(WRITTEN)
    source = spark_loads.write_source(spark, bench.directory, count)
    with bench.topic(place.broker, PARTITIONS) as topic:
        yield (
            f"{count:,} records to a topic",
            lambda: spark_loads.write_to_topic(bench, spark, STOKER, place.broker, topic, source),
        )


SECTIONS: Mapping[str, Callable[[SparkBench], Section]] = {
    **{name: _reading(reading) for name, reading in READINGS.items()},
    "sink": sink,
    "micro-batches": micro_batches,
    "partitions": partitions,
    "values": values,
    "memory": memory,
}
