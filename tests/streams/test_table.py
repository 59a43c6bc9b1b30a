"""Tables: what they are made of, what they become, and which of their changes are told."""

from typing import TYPE_CHECKING, Final

import pytest

from stoker.streams.application import Streams
from stoker.streams.errors import InvalidTopology
from stoker.streams.windows import session, tumbling
from tests.streams.driven import Driven, Sent, drive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USERS: Final = "region string, amount double"


def user(name: str | None, time: int, region: str | None = None, amount: float | None = 1.0) -> Sent:
    return Sent("users", name, None if region is None else {"region": region, "amount": amount}, time)


@pytest.fixture(scope="module")
def driven(spark: "SparkSession") -> Driven:
    application = Streams("tables")
    users = application.table("users", value_schema=USERS, store="users")
    users.to("users-out")
    users.filter("amount > 1").to("rich")
    users.select(label="upper(region)").with_columns(size="length(label)").to("selected")
    regions = users.group_by("region").aggregate(users="count(*)", sum="sum(amount)", mean="avg(amount)")
    regions.to("regions")
    regions.select("users").group_by("users").count().to("regions-by-size")
    users.to_stream().to("as-rows")
    users.to_stream(tombstones=True).to("as-rows-and-deletions")
    clicks = application.stream("clicks", value_schema="page string")
    clicks.to_table(store="latest").to("latest")
    clicks.group_by_key().window(session("10s", grace="1 minute")).count().to("sessions")
    hourly = clicks.group_by_key().window(tumbling("1 hour")).count(name="clicks")
    hourly.filter("clicks < 3").to("few", windowed_key=True)
    hourly.select(twice="2 * clicks").to_stream().filter("twice > 2").to("many")
    hourly.to_stream().group_by("_key").window(tumbling("1 hour")).aggregate(most="max(clicks)").to("of-changes")
    return drive(
        spark,
        application,
        [
            user("ada", 1, "eu", 3.0),
            user("ben", 2, "eu"),
            user("cem", 3, "us", None),
            user("nobody", 4),
            user(None, 5, "eu"),
            user("dan", 6, "jp"),
            user("dan", 7),
            *[Sent("clicks", "k", {"page": page}, 1000 * time) for page, time in (("a", 0), ("b", 20), ("c", 15))],
        ],
        [
            user("ada", 8, "us", 1.0),
            user("ben", 9),
            *[Sent("clicks", "k", {"page": page}, 1000 * time) for page, time in (("d", 8),)],
        ],
    )


@pytest.mark.acceptance("B131")
def test_the_latest_value_of_each_key(driven: Driven) -> None:
    """A table has the latest value of each key, and null deletes it; to delete what is not there changes nothing."""
    assert driven.rows("users-out") == [
        ("ada", {"region": "eu", "amount": 3.0}),
        ("ben", {"region": "eu", "amount": 1.0}),
        ("cem", {"region": "us", "amount": None}),
        ("ada", {"region": "us", "amount": 1.0}),
        ("ben", None),
    ]


def test_rows_that_no_longer_meet_a_condition_are_deleted(driven: Driven) -> None:
    assert driven.rows("rich") == [("ada", {"region": "eu", "amount": 3.0}), ("ada", None)]


def test_other_columns(driven: Driven) -> None:
    assert driven.rows("selected")[-2:] == [("ada", {"label": "US", "size": 2}), ("ben", None)]


def test_groups_follow_rows_that_come_change_and_go(driven: Driven) -> None:
    assert driven.rows("regions") == [
        ("eu", {"users": 2, "sum": 4.0, "mean": 2.0}),
        ("us", {"users": 1, "sum": None, "mean": None}),
        ("us", {"users": 2, "sum": 1.0, "mean": 1.0}),
        ("eu", None),
    ]
    assert driven.table("regions-by-size") == {2: {"count": 1}}


def test_changes_as_rows(driven: Driven) -> None:
    assert [key for key, _ in driven.rows("as-rows")] == ["ada", "ben", "cem", "ada"]
    assert driven.rows("as-rows-and-deletions")[-1] == ("ben", None)


def test_the_latest_row_of_each_key_of_a_stream(driven: Driven) -> None:
    """What came last, not what is latest by its time."""
    assert driven.table("latest") == {"k": {"page": "d"}}


def test_windows_that_are_gone(driven: Driven) -> None:
    """A null for the key alone would not say which of them: it is told only where keys have their windows."""
    assert driven.table("sessions") == {
        ("k", 0, 0): {"count": 1},
        ("k", 15_000, 20_000): {"count": 2},
        ("k", 0, 20_000): {"count": 4},
    }
    assert None not in driven.values("sessions")
    assert driven.values("few") == []
    assert driven.table("many") == {("k", 0, 3_600_000): {"twice": 8}}
    assert driven.table("of-changes") == {("k", 0, 3_600_000): {"most": 4}}


def test_what_cannot_be_declared_is_refused() -> None:
    table = Streams("refused").table("users")
    with pytest.raises(InvalidTopology, match=r"select\(\) without a column"):
        table.select()
    with pytest.raises(InvalidTopology, match=r"group_by\(\) without a column"):
        table.group_by()
