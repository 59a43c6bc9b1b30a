"""The sections of the benchmark of streams: which topologies, and how much faster than Kafka Streams."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from side_by_side.bench import Bench, Measured
from side_by_side.processes import LoadFailed
from side_by_side.results import Row, Section, Target, at_least
from side_by_side.streams_engines import Engine, Progress, Work, fresh_name, fresh_output
from side_by_side.streams_topics import ORDER, PARTITIONS, Place, encoder, order

EVENTS, MANY = 4_000_000, 1_000_000
RATE, PACED_SECONDS, MARKS = 1_000, 15, 10
HEADS = {"stoker": "Stoker", "kafka-streams": "Kafka Streams"}


def _engines(bench: Bench, spark: SparkSession) -> list[Engine]:
    return [Engine(name=name, bench=bench, spark=spark) for name in HEADS]


def _faster(bound: float) -> Target:
    return at_least(bound, against="kafka-streams", in_rounds=True)


# How many events a second


def _throughput(
    topology: str, title: str, settings: str, bound: float
) -> Callable[[Bench, SparkSession, Sequence[Place]], Section]:
    def measure(bench: Bench, spark: SparkSession, places: Sequence[Place]) -> Section:
        rows = []
        count = bench.scaled(EVENTS)
        for place in places:
            table = place.customers(bench)
            topic = place.orders(bench, count)

            def load(engine: Engine, place: Place = place, topic: str = topic, table: str = table) -> Measured:
                work = Work(topology=topology, input=topic, output=fresh_output(place), table=table)
                return _measured(engine, place, work, count)

            samples = bench.alternate(f"{topology} on {place.name}", load, _engines(bench, spark), warm_up=True)
            rows.append(
                Row(
                    name=f"on {place.name}, after the first quarter",
                    unit="k events/s",
                    samples=samples.of("steady"),
                    target=_faster(bound),
                )
            )
            rows.append(
                Row(
                    name=f"on {place.name}, from the start",
                    unit="k events/s",
                    samples=samples.of("whole"),
                    beside="kafka-streams",
                )
            )
        return Section(
            title=title, settings=f"{settings} {count:,} events in {PARTITIONS} partitions.", rows=rows, heads=HEADS
        )

    return measure


def _measured(engine: Engine, place: Place, work: Work, count: int) -> Measured:
    application = fresh_name()
    began = time.monotonic()
    try:
        with engine.running(place, work, application), Progress(place, application, work.input) as progress:
            seen = progress.wait(count)
    finally:
        engine.forget(application)
        place.broker.delete_topic(work.output)
    ended = seen[-1][0]
    quarter = next((each for each in seen if each[1] >= count // 4), seen[0])
    steady = (count - quarter[1]) / (ended - quarter[0]) if ended > quarter[0] else 0.0
    return {"steady": steady / 1000, "whole": count / (ended - began) / 1000}


# How long it takes until a result is there


def latency(bench: Bench, spark: SparkSession, places: Sequence[Place]) -> Section:
    rows = []
    for place in places:
        for topology in ("filter", "revenue"):

            def load(engine: Engine, place: Place = place, topology: str = topology) -> Measured:
                topic = place.empty(f"paced-{fresh_name()}")
                work = Work(topology=topology, input=topic, output=fresh_output(place))
                times = _marked(engine, place, work)
                return {"median": median(times) * 1000, "worst": max(times) * 1000}

            samples = bench.alternate(
                f"{topology} at {RATE}/s on {place.name}", load, _engines(bench, spark), warm_up=False, rounds=1
            )
            rows += [
                Row(
                    name=f"{topology} on {place.name}, {name}",
                    unit="ms",
                    samples=samples.of(name),
                    beside="kafka-streams",
                )
                for name in ("median", "worst")
            ]
    return Section(
        title="Time to result",
        settings=f"{RATE:,} events a second. Marked events go among them, each with a key of its own; the time is from when it was "
        f"acknowledged until a consumer with `read_committed` has what came of it. {MARKS} marks in {PACED_SECONDS} s, after a warm-up.",
        rows=rows,
        heads=HEADS,
    )


def _marked(engine: Engine, place: Place, work: Work) -> list[float]:
    encode = encoder(place.register(work.input, ORDER), ORDER)
    seen: dict[str, float] = {}
    sent: dict[str, float] = {}
    ended = threading.Event()

    def send(producer: Producer, number: int, key: str) -> None:
        producer.produce(work.input, key=key, value=encode(order(number, key, 900.0)))

    def pace() -> None:
        producer = Producer({"bootstrap.servers": place.broker.brokers, "linger.ms": 5, "log_level": 0})
        number, began = 0, time.monotonic()
        while not ended.is_set():
            due = int((time.monotonic() - began) * RATE)
            while number < due:
                send(producer, number, f"c-{number % 1000:07d}")
                number += 1
            producer.poll(0)
            time.sleep(0.005)
        producer.flush(10)

    def watch() -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": place.broker.brokers,
                "group.id": fresh_name(),
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(work.output, each, 0) for each in range(PARTITIONS)])
        while not ended.is_set():
            for message in consumer.consume(1000, timeout=0.01):
                key = (message.key() or b"").decode()
                if key.startswith("mark-"):
                    seen.setdefault(key, time.monotonic())
        consumer.close()

    application = fresh_name()
    with engine.running(place, work, application):
        threads = [threading.Thread(target=each) for each in (pace, watch)]
        for thread in threads:
            thread.start()
        try:
            marks = Producer({"bootstrap.servers": place.broker.brokers, "linger.ms": 0, "log_level": 0})
            _mark(marks, send, "mark-warm-up", sent, seen, 120.0)
            time.sleep(5)
            for number in range(MARKS):
                key = f"mark-{number}"
                _mark(marks, send, key, sent, seen, 60.0)
                time.sleep(PACED_SECONDS / MARKS * 0.7)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    engine.forget(application)
    return [seen[key] - sent[key] for key in sent if key != "mark-warm-up"]


def _mark(
    producer: Producer,
    send: Callable[[Producer, int, str], None],
    key: str,
    sent: dict[str, float],
    seen: Mapping[str, float],
    most: float,
) -> None:
    send(producer, 0, key)
    producer.flush(10)
    sent[key] = time.monotonic()
    while key not in seen:
        if time.monotonic() - sent[key] > most:
            raise LoadFailed(f"no result of {key} after {most:.0f} s")
        time.sleep(0.002)


# State of many keys


def state(bench: Bench, spark: SparkSession, places: Sequence[Place]) -> Section:
    rows = []
    count = bench.scaled(MANY)
    for place in places:
        topic = place.orders_of_many(bench, count)

        def load(engine: Engine, place: Place = place, topic: str = topic) -> Measured:
            work = Work(topology="count-keys", input=topic, output=fresh_output(place))
            application = fresh_name()
            began = time.monotonic()
            with engine.running(place, work, application), Progress(place, application, topic) as progress:
                progress.wait(_end(place, topic))
            built = time.monotonic() - began
            _send_one(place, topic)
            end = _end(place, topic)
            began = time.monotonic()
            with engine.running(place, work, application), Progress(place, application, topic) as progress:
                progress.wait(end)
                restarted = time.monotonic() - began
            engine.forget(application)
            return {"built": built, "restarted": restarted}

        samples = bench.alternate(
            f"state of {count:,} keys on {place.name}", load, _engines(bench, spark), warm_up=False, rounds=1
        )
        rows.append(Row(name=f"built on {place.name}", unit="s", samples=samples.of("built"), beside="kafka-streams"))
        rows.append(
            Row(name=f"restart on {place.name}", unit="s", samples=samples.of("restarted"), beside="kafka-streams")
        )
    return Section(
        title=f"State of {count:,} keys",
        settings="A running sum and count for each key. *Built*: from the start until all events are committed. *Restart*: the application is "
        "closed, one more event is written, and it is started again with the state that it has on disk; until that event is committed. "
        "Spark's session, which takes 5 to 10 s to start, is there already; Kafka Streams' time has its JVM in it.",
        rows=rows,
        heads=HEADS,
    )


def _send_one(place: Place, topic: str) -> None:
    encode = encoder(place.register(topic, ORDER), ORDER)
    producer = Producer({"bootstrap.servers": place.broker.brokers, "log_level": 0})
    producer.produce(topic, key="c-0000000", value=encode(order(0, "c-0000000", 1.0)))
    producer.flush(10)


def _end(place: Place, topic: str) -> int:
    return place.broker.record_count(topic, PARTITIONS)


SECTIONS: Mapping[str, Callable[[Bench, SparkSession, Sequence[Place]], Section]] = {
    "revenue": _throughput(
        "revenue",
        "Revenue of each customer and hour",
        "Avro orders, sum and count by customer and hour (grace 5 minutes), topic to topic, the state with a changelog.",
        2,
    ),
    "join": _throughput(
        "join",
        "Orders with their customers",
        "Each order with the name and tier of its customer, from a table of 10,000, Avro in and out.",
        2,
    ),
    "filter": _throughput("filter", "A stateless filter", "Orders above 500, about half of them, Avro in and out.", 3),
    "latency": latency,
    "state": state,
}
