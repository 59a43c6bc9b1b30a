"""The topologies of `java/Topologies.java`, declared with stoker.streams.

Their topics have a prefix, so that many of them, and one several times, are in one application. All topics have values of the same
type: what is null in them is left out when results are compared.
"""

import json
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from stoker.streams.application import Streams
from stoker.streams.stream import Stream
from stoker.streams.table import Table
from stoker.streams.test_driver import Record
from stoker.streams.windows import Window, hopping, session, sliding, tumbling
from tests.streams.kafka_streams import Key, Results, Value, WindowedKey

VALUES: Final = (
    "n string, amount double, region string, customer_id string, priority string, items array<string>, line string"
)
ORDER_AND_CUSTOMER: Final = ["left AS order", "right AS customer"]
ORDER_AND_PAYMENT: Final = ["left AS order", "right AS payment"]

Build = Callable[[Streams, Callable[[str], str]], None]


def stream(app: Streams, topic: str) -> Stream:
    return app.stream(topic, value_schema=VALUES)


def table(app: Streams, topic: str) -> Table:
    return app.table(topic, value_schema=VALUES)


def word_count(app: Streams, topic: Callable[[str], str]) -> None:
    words = stream(app, topic("text-input")).flat_map(r"split(lower(line), '\\W+')", "word").filter("length(word) > 0")
    words.group_by("word").count(store=topic("word-counts-store")).to(topic("word-counts"))


def order_processing(app: Streams, topic: Callable[[str], str]) -> None:
    orders = stream(app, topic("orders"))
    orders.with_columns(item_count="size(items)").to(topic("enriched-orders"))
    orders.flat_map("items", "item").to(topic("items"))
    branches = orders.split(
        {"high": "priority = 'high'", "low": "priority = 'low'"}, default="normal", prefix="branch-"
    )
    for name in ("high", "low", "normal"):
        branches[f"branch-{name}"].to(topic(f"{name}-priority-orders"))


def merge(app: Streams, topic: Callable[[str], str]) -> None:
    stream(app, topic("orders-eu")).merge(stream(app, topic("orders-us"))).to(topic("all-orders"))


def stateful(app: Streams, topic: Callable[[str], str]) -> None:
    grouped = stream(app, topic("order-events")).group_by_key()
    grouped.count(store=topic("order-count-store")).to(topic("order-counts"))
    spend = grouped.aggregate(
        0.0, lambda _, order, spend: spend + order["amount"], "double", store=topic("spend-store")
    )
    spend.select(spend="value").to(topic("spend"))
    grouped.reduce(lambda largest, order: order if order["amount"] > largest["amount"] else largest).to(
        topic("max-order")
    )


def rekey(app: Streams, topic: Callable[[str], str]) -> None:
    stream(app, topic("orders")).key_by("customer_id").group_by_key().count().to(topic("orders-per-customer"))


def windowed(window: Window, name: str, **aggregates: str) -> Build:
    def build(app: Streams, topic: Callable[[str], str]) -> None:
        orders = stream(app, topic("orders")).group_by_key().window(window)
        orders.aggregate(None, None, None, **aggregates).to(topic(name), windowed_key=name.startswith("sessions"))

    return build


def suppressed(app: Streams, topic: Callable[[str], str]) -> None:
    counts = stream(app, topic("orders")).group_by_key().window(tumbling("1 minute", grace="10 s")).count()
    counts.suppress().to(topic("suppressed"))


def region_per_minute(app: Streams, topic: Callable[[str], str]) -> None:
    counts = stream(app, topic("orders")).group_by("region").window(tumbling("1 minute")).count()
    counts.to(topic("region-per-minute"))


def average_order_value(app: Streams, topic: Callable[[str], str]) -> None:
    window = hopping("5 minutes", "1 minute", grace="30 s")
    sums = stream(app, topic("orders")).group_by("region").window(window).aggregate(sum="sum(amount)", count="count(*)")
    sums.select(average="sum / count").to(topic("average-order-value"))


def enrichment(how: Any) -> Build:
    def build(app: Streams, topic: Callable[[str], str]) -> None:
        customers = table(app, topic("customers"))
        stream(app, topic("orders")).join(customers, how=how, columns=ORDER_AND_CUSTOMER).to(topic("enriched"))

    return build


def global_enrichment(app: Streams, topic: Callable[[str], str]) -> None:
    regions = app.global_table(topic("regions"), value_schema=VALUES)
    orders = stream(app, topic("orders"))
    orders.join(regions, on="region", columns=["left AS order", "right AS region"]).to(topic("enriched"))


def matching(how: Any, within: str, grace: str) -> Build:
    def build(app: Streams, topic: Callable[[str], str]) -> None:
        orders, payments = stream(app, topic("orders")), stream(app, topic("payments"))
        orders.join(payments, within=within, grace=grace, how=how, columns=ORDER_AND_PAYMENT).to(topic("matched"))

    return build


def tables(how: Any) -> Build:
    def build(app: Streams, topic: Callable[[str], str]) -> None:
        left, right = table(app, topic("left")), table(app, topic("right"))
        left.join(right, how=how, columns=["left", "right"]).to(topic("joined"))

    return build


def foreign_key(how: Any) -> Build:
    def build(app: Streams, topic: Callable[[str], str]) -> None:
        customers = table(app, topic("customers"))
        orders = table(app, topic("orders"))
        orders.join(customers, on="customer_id", how=how, columns=ORDER_AND_CUSTOMER).to(topic("enriched"))

    return build


def table_filter(app: Streams, topic: Callable[[str], str]) -> None:
    table(app, topic("orders")).filter("amount > 100").to(topic("large-orders"))


def table_map(app: Streams, topic: Callable[[str], str]) -> None:
    table(app, topic("orders")).select(doubled="2 * amount").to(topic("doubled-orders"))


def table_group(app: Streams, topic: Callable[[str], str]) -> None:
    users = table(app, topic("users")).group_by("region")
    users.aggregate(count="count(*)", sum="sum(amount)").to(topic("users-by-region"))


REVENUE: Final = {"revenue": "sum(amount)", "orders": "count(*)"}

TOPOLOGIES: Final[Mapping[str, Build]] = {
    "word-count": word_count,
    "order-processing": order_processing,
    "merge": merge,
    "stateful": stateful,
    "rekey": rekey,
    "hourly-revenue": windowed(tumbling("1 hour", grace="5 minutes"), "hourly-revenue", **REVENUE),
    "hourly-no-grace": windowed(tumbling("1 hour"), "hourly-no-grace", **REVENUE),
    "hopping": windowed(hopping("5 minutes", "1 minute", grace="1 minute"), "hopping", count="count(*)"),
    "sliding": windowed(sliding("30 s", grace="10 s"), "sliding", count="count(*)", sum="sum(amount)"),
    "sessions": windowed(session("30 minutes"), "sessions", count="count(*)"),
    "sessions-with-grace": windowed(session("10 s", grace="5 s"), "sessions-with-grace", count="count(*)"),
    "suppressed": suppressed,
    "region-per-minute": region_per_minute,
    "average-order-value": average_order_value,
    "enrichment": enrichment("left"),
    "enrichment-inner": enrichment("inner"),
    "global-enrichment": global_enrichment,
    "matching-payments": matching("inner", "5 minutes", "0 s"),
    "matching-left": matching("left", "1 minute", "30 s"),
    "matching-outer": matching("outer", "1 minute", "30 s"),
    "table-table": tables("inner"),
    "table-table-left": tables("left"),
    "table-table-outer": tables("outer"),
    "foreign-key": foreign_key("inner"),
    "foreign-key-left": foreign_key("left"),
    "table-filter": table_filter,
    "table-map": table_map,
    "table-group": table_group,
}
EVENTS: Final = frozenset(
    {
        *("order-processing", "merge", "suppressed", "enrichment", "enrichment-inner", "global-enrichment"),
        *("matching-payments", "matching-left", "matching-outer"),
    }
)
"""Those whose every result counts; of others, the tables that come of them."""

STORES: Final = {
    "word-count": ("word-counts-store",),
    "stateful": ("order-count-store", "spend-store"),
}
"""By topology, stores that are asked for all they have."""

Outcome = dict[str, Any]
"""By topic, a table, or how often there is each event; by store, what is in it."""


def theirs(topology: str, results: Results) -> Outcome:
    topics = sorted({record.topic for record in results.records})
    if topology in EVENTS:
        return {topic: counted(results.changes(topic)) for topic in topics}
    stores = {name: results.stores[name] for name in STORES.get(topology, ())}
    return plain({topic: results.latest(topic) for topic in topics} | stores)


def ours(topology: str, records: Mapping[str, list[Record]], stores: Outcome) -> Outcome:
    changes = {topic: [(identity(each), content(each)) for each in found] for topic, found in records.items()}
    if topology in EVENTS:
        return {topic: counted(found) for topic, found in changes.items() if found}
    latest = {topic: dict(found) for topic, found in changes.items()}
    tables = {topic: {key: value for key, value in found.items() if value} for topic, found in latest.items()}
    return plain(tables | stores)


def counted(changes: Iterable[tuple[Key, Value | None]]) -> Counter[tuple[Key, str]]:
    return Counter((key, json.dumps(without_nulls(value), sort_keys=True)) for key, value in changes)


def plain(outcome: Outcome) -> Outcome:
    """Without nulls, and without topics that have nothing."""
    return {topic: without_nulls(found) for topic, found in outcome.items() if found}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return value


def identity(record: Record) -> Key:
    """As `OutputRecord.identity`; from the bytes of a session's key, if it has such."""
    if isinstance(record.key, bytes | bytearray):
        end, start = struct.unpack(">qq", record.key[-16:])
        return WindowedKey(bytes(record.key[:-16]).decode(), start, end)
    if record.value is None or "window_start" not in record.value:
        key: Key = record.key
        return key
    return WindowedKey(record.key, *[milliseconds(record.value[name]) for name in ("window_start", "window_end")])


def content(record: Record) -> Value | None:
    if record.value is None:
        return None
    return {name: each for name, each in record.value.items() if name not in ("window_start", "window_end")}


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
