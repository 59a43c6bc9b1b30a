"""Operations on the rows of streams, at their edges; test_operations.py has what they are for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams.application import Streams
from stoker.streams.errors import InvalidTopology
from stoker.streams.stream import Stream
from stoker.streams.test_driver import Record, TestDriver
from tests.streams.driven import Driven, Sent, drive, moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS: Final = "id int, total double, region string, items array<string>"


def order(number: int, total: float | None, region: str | None, *items: str) -> Sent:
    value = {"id": number, "total": total, "region": region, "items": list(items)}
    return Sent("orders", f"k{number % 2}", value, 1000 * number)


GIVEN: Final = [
    order(1, 5.0, "eu", "hat", "cup"),
    order(2, 50.0, "us"),
    order(3, None, "eu", "cup"),
    order(4, 500.0, None),
    Sent("orders", "k1", None, 5000),
]


def regions(row: dict[str, Any]) -> list[dict[str, Any]] | dict[str, Any] | None:
    """None, one or several."""
    if row["region"] is None:
        return None
    one = {"key": row["_key"], "region": row["region"]}
    return one if row["id"] == 3 else [one, one]


def split(orders: Stream) -> dict[str, Stream]:
    return orders.split({"high": "total > 100", "low": lambda row: row.total > 0}, default="other", prefix="branch-")


CASES: Final[dict[str, tuple[Callable[[Stream], Stream], str, list[Any]]]] = {
    "a condition that is null is not met": (lambda orders: orders.filter_not("total > 10"), "id", [1, 3]),
    "one column in place of another": (lambda orders: orders.with_columns(id="id + 1"), "id", [2, 3, 4, 5]),
    "columns of the record": (
        lambda orders: orders.select(at="unix_millis(_timestamp) + _offset + _partition"),
        "at",
        [1000, 2001, 3002, 4003],
    ),
    "elements beside what was there": (lambda orders: orders.flat_map("items", "item", keep=True), "id", [1, 1, 3]),
    "none, one or several rows for one": (
        lambda orders: orders.map(regions, "key string, region string"),
        "region",
        ["eu", "eu", "us", "us", "eu"],
    ),
    "Python sees the key": (
        lambda orders: orders.map(regions, "key string, region string"),
        "key",
        ["k1", "k1", "k0", "k0", "k1"],
    ),
    "columns in another order are merged": (
        lambda orders: orders.filter("id = 1").merge(orders.select("items", "region", "total", "id").filter("id > 2")),
        "id",
        [1, 3, 4],
    ),
    "the first branch whose condition holds": (lambda orders: split(orders)["branch-high"], "id", [4]),
    "a branch by a function of the row": (lambda orders: split(orders)["branch-low"], "id", [1, 2]),
    "where all conditions are null": (lambda orders: split(orders)["branch-other"], "id", [3]),
}


@pytest.fixture(scope="module")
def peeked() -> list[list[int]]:
    return []


@pytest.fixture(scope="module")
def driven(spark: "SparkSession", peeked: list[list[int]]) -> Driven:
    application = Streams("rows")
    orders = application.stream("orders", value_schema=ORDERS)
    for number, (operation, _, _) in enumerate(CASES.values()):
        operation(orders).to(f"case-{number}")
    orders.key_by("named_struct('r', region, 'n', id % 2)").select("id").to("key-of-two")
    header = "array(named_struct('key', 'id', 'value', CAST(CAST(id AS string) AS binary)))"
    orders.select("id", "region").to("with-headers", key="region", headers=header)
    orders.select(value="region").to("plain-values")
    orders.peek(lambda rows: peeked.append([row["id"] for row in rows]), most=3).filter("id > 1").to("peeked")
    orders.select("id").through("passed").filter("id > 2").to("through")
    return drive(spark, application, GIVEN)


@pytest.mark.parametrize("name", CASES)
def test_rows(driven: Driven, name: str) -> None:
    _, column, expected = CASES[name]
    assert [value[column] for value in driven.values(f"case-{list(CASES).index(name)}")] == expected


def test_keys_of_several_columns(driven: Driven) -> None:
    assert driven.rows("key-of-two")[:2] == [({"r": "eu", "n": 1}, {"id": 1}), ({"r": "us", "n": 0}, {"id": 2})]


def test_records_that_are_written(driven: Driven) -> None:
    assert driven.records["with-headers"][0] == Record(
        key="eu", value={"id": 1, "region": "eu"}, timestamp=1000, headers=(("id", b"1"),)
    )
    assert driven.values("plain-values") == ["eu", "us", "eu", None]


def test_peek_has_the_first_rows_of_a_batch_in_order(driven: Driven, peeked: list[list[int]]) -> None:
    assert peeked == [[1, 2, 3]]
    assert [value["id"] for value in driven.values("peeked")] == [2, 3, 4]


def test_through_goes_on_with_what_was_written(driven: Driven) -> None:
    assert driven.values("passed") == [{"id": number} for number in (1, 2, 3, 4)]
    assert driven.values("through") == [{"id": 3}, {"id": 4}]


def test_the_event_time_is_that_of_the_record_where_the_field_is_null(spark: "SparkSession") -> None:
    application = Streams("times")
    application.stream("orders", value_schema="at bigint", timestamp="at").to("numbers")
    application.stream("others", value_schema="at timestamp", timestamp="at").to("moments")
    numbers = [Sent("orders", "k", {"at": at}, 7) for at in (3000, None)]
    moments = [Sent("others", "k", {"at": at}, 7) for at in (moment(3000), None)]
    driven = drive(spark, application, [*numbers, *moments])
    assert [each.timestamp for each in driven.records["numbers"]] == [7, 3000]
    assert [each.timestamp for each in driven.records["moments"]] == [7, 3000]


Declare = Callable[[Streams, Stream], object]

REFUSED: Final[dict[str, tuple[Declare, str]]] = {
    "an unknown column": (lambda _, orders: orders.filter("totl > 1").to("out"), "filter totl > 1: .*`totl`.*`total`"),
    "an unknown column, by a function": (lambda _, orders: orders.filter(lambda row: row.totl > 1).to("out"), "totl"),
    "no SQL": (lambda _, orders: orders.select("id +").to("out"), r"select id \+: "),
    "an unknown column, for a key": (
        lambda _, orders: orders.to("out", key="reg"),
        "to topic out: .*`reg`.*`region`",
    ),
    "a column twice": (
        lambda _, orders: orders.select("id", "total AS id").to("out"),
        "column 'id' twice.*another name",
    ),
    "no array of structs": (
        lambda _, orders: orders.flat_map("items").to("out"),
        "array of structs.*one of string.*say how the column",
    ),
    "a schema without names": (
        lambda _, orders: orders.map(dict, "double").to("out"),
        "schema 'double' has no names.*order_id string",
    ),
    "without the record's columns": (
        lambda _, orders: orders.transform(lambda frame: frame.select("id")).to("out"),
        "without _key, _timestamp.*keep the columns",
    ),
    "streams of other columns": (
        lambda _, orders: orders.select("id").merge(orders.select("total")).to("out"),
        "different columns: id and total; select the same",
    ),
    "no field that is the time": (
        lambda app, _: app.stream("others", value_schema="id int", timestamp="at").to("out"),
        "timestamp='at' is no field of the values of topic others. The fields are: id",
    ),
    "a name of ours": (
        lambda app, _: app.stream("others", value_schema="_key int").to("out"),
        "others have the field '_key'.*_timestamp",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compiled_is_refused_by_name(spark: "SparkSession", name: str) -> None:
    declare, message = REFUSED[name]
    application = Streams("refused")
    declare(application, application.stream("orders", value_schema=ORDERS))
    with TestDriver(application, spark=spark) as driver:
        for topic in driver.topology.topics:
            driver.send(topic, None)
        with pytest.raises(InvalidTopology, match=f"(?s){message}"):
            driver.run()


DECLARED: Final[dict[str, tuple[Declare, str]]] = {
    "select nothing": (lambda _, orders: orders.select(), "select.. without a column: name those"),
    "group by nothing": (lambda _, orders: orders.group_by(), "group_by.. without a column.*group_by_key"),
    "no processor": (lambda _, orders: orders.process(dict, "id int"), "a stoker.streams.Processor, not .*dict"),
    "join without within": (lambda _, orders: orders.join(orders), "needs within="),
    "join with something else": (lambda _, orders: orders.join("orders"), "a stream or a table, not with str"),  # type: ignore[arg-type]
    "within of a table": (
        lambda app, orders: orders.join(app.table("t"), within="1s"),
        "within=... is for two streams",
    ),
    "outer join with a table": (lambda app, orders: orders.join(app.table("t"), how="outer"), "is inner or left"),
    "on of a table": (lambda app, orders: orders.join(app.table("t"), on="id"), "use key_by.* or a global_table"),
    "no on of a global table": (lambda app, orders: orders.join(app.global_table("t")), "needs on=.*on='region'"),
    "a store twice": (
        lambda _, orders: (orders.to_table(store="s"), orders.to_table(store="s")),
        "there is a store named 's' already",
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_what_cannot_be_declared_is_refused(name: str) -> None:
    declare, message = DECLARED[name]
    application = Streams("declared")
    with pytest.raises(InvalidTopology, match=f"(?s){message}"):
        declare(application, application.stream("orders"))
