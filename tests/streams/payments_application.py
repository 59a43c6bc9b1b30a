"""An application with several outputs, to be crashed or killed at any point: `python -m tests.streams.payments_application ...`.

Orders are joined with payments, summed by customer, numbered through an internal topic, stored as files, and passed on if they are
large; what is late and what is malformed is set aside.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyarrow import dataset

from stoker.streams import Streams, execution, kafka_outputs, parquet, running, tumbling
from stoker.streams.columnar.sink import ColumnarSink
from stoker.streams.kafka_outputs import KafkaOutputs
from stoker.streams.running import Running
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.store import Store
from tests.streams.records import Records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON: Final = 1_700_006_400_000
ROWS_PER_BATCH: Final = 200

POINTS: Final[dict[str, tuple[Any, str]]] = {
    "store": (Store, "write"),
    "sink": (KafkaOutputs, "_save"),
    "columnar": (ColumnarSink, "write"),
    "changelog": (KafkaOutputs, "write_changes"),
    "dead-letters": (KafkaOutputs, "write_dead_letters"),
    "file": (parquet, "_move"),
    "files": (execution, "write_parquet"),
    "manifest": (StateDirectory, "write_manifest"),
    "offsets": (Running, "_commit_offsets"),
}
"""What was just done when it is killed."""

__all__ = ["POINTS", "application", "checked", "crash_after", "feed", "kafka_outputs", "running"]


class Crashed(Exception):
    """In place of a kill."""


def crash_after(
    point: str, time: int, how: Callable[[], None], replace: Callable[[Any, str, Any], None] = setattr
) -> None:
    """Let it end the `time`th time when it has passed a point."""
    place, name = POINTS[point]
    original = getattr(place, name)
    left = [time]

    def passed(*arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            how()
        return result

    replace(place, name, passed)


def crash() -> None:
    raise Crashed


def kill() -> None:
    """This process, and the JVM that it has started."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


def feed(records: Records, prefix: str, numbers: range) -> None:
    """Of every five orders three are paid in time; every 50th is malformed."""
    for number in numbers:
        bad, time = number % 50 == 49, NOON + number * 100
        order = {"order_id": f"order-{number}", "cents": number}
        records.send(f"{prefix}-orders", f"customer-{number % 10}", b"{" if bad else order, time)
        if number % 5 < 3:
            records.send(f"{prefix}-payments", f"order-{number}", {"paid": number}, time + 50)
    records.flush()


def application(prefix: str, servers: str, place: str, spark: "SparkSession | None" = None, **given: Any) -> Streams:
    app = Streams(
        prefix,
        bootstrap_servers=servers,
        spark=spark,
        state_dir=place,
        max_rows_per_batch=ROWS_PER_BATCH,
        **given,
    )
    orders = app.stream(
        f"{prefix}-orders", value_schema="order_id string, cents bigint", dead_letters=f"{prefix}-bad-orders"
    )
    payments = app.stream(f"{prefix}-payments", value_schema="paid bigint")
    orders.key_by("order_id").join(payments, within="1 second").to(f"{prefix}-paid")
    sums = orders.group_by_key().window(tumbling("1 minute", grace="1 hour"))
    sums.aggregate(cents="sum(cents)", orders="count(*)", store="sums").to(f"{prefix}-sums")
    orders.to_parquet(f"{place}/lake")
    orders.filter("cents >= 100").to(f"{prefix}-large")
    orders.key_by("cents % 7").repartition("by-rest").group_by_key().count(store="rests").to(f"{prefix}-rests")
    return app


def checked(records: Records, prefix: str, place: Path, count: int) -> None:
    """What a reader of committed records finds: each thing once, and right sums."""
    good = [number for number in range(count) if number % 50 != 49]
    paid = Counter(value["order_id"] for _, value in records.values(f"{prefix}-paid"))
    assert paid == Counter(f"order-{number}" for number in good if number % 5 < 3)
    large = Counter(value["cents"] for _, value in records.values(f"{prefix}-large"))
    assert large == Counter(number for number in good if number >= 100)
    assert len(records.read(f"{prefix}-bad-orders")) == count - len(good)
    files = dataset.dataset(place / "lake", format="parquet", partitioning="hive").to_table(columns=["cents"])
    assert Counter(files.column("cents").to_pylist()) == Counter(good)
    internal = Counter(value["cents"] for _, value in records.values(f"{prefix}-by-rest-repartition"))
    assert internal == Counter(good)
    rests = {name: value["count"] for name, value in records.latest(f"{prefix}-rests").items()}
    assert rests == {str(rest): number for rest, number in Counter(each % 7 for each in good).items()}
    sums: dict[tuple[str | None, int], tuple[int, int]] = {}
    for name, value in records.values(f"{prefix}-sums"):
        place_of = name, value["window_start"]
        assert value["orders"] > sums.get(place_of, (0, 0))[1], "an update was written twice"
        sums[place_of] = value["cents"], value["orders"]
    assert sum(cents for cents, _ in sums.values()) == sum(good)
    assert sum(orders for _, orders in sums.values()) == len(good)


def main(point: str, time: str, prefix: str, servers: str, place: str, master: str) -> None:
    crash_after(point, int(time), partial(kill))
    application(prefix, servers, place, master=master).run(until_end=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
