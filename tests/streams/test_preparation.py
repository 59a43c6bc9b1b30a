"""Topics that are joined must be cut alike."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from stoker.streams import Streams
from stoker.streams.errors import NotCoPartitioned
from stoker.streams.preparation import check_co_partitioning

PARTITIONS: Final = {"orders": 3, "customers": 2, "payments": 4, "shop-by-customer-repartition": 2}


def with_table(app: Streams) -> Any:
    app.stream("orders").join(app.table("customers")).to("out")


def two_streams(app: Streams) -> Any:
    app.stream("orders").join(app.stream("payments"), within="1 minute").to("out")


def two_tables(app: Streams) -> Any:
    app.table("orders").join(app.table("customers")).to("out")


REFUSED: Final[dict[str, tuple[Callable[[Streams], Any], str]]] = {
    "with a table": (with_table, "topic orders has 3 partitions and topic customers has 2"),
    "two streams": (two_streams, "topic orders has 3 partitions and topic payments has 4"),
    "two tables": (two_tables, "topic orders has 3 partitions and topic customers has 2"),
}


@pytest.mark.parametrize(("declare", "told"), REFUSED.values(), ids=REFUSED)
def test_other_numbers_of_partitions_are_refused(declare: Callable[[Streams], Any], told: str) -> None:
    """With both topics and their partitions."""
    app = Streams("shop")
    declare(app)
    with pytest.raises(NotCoPartitioned, match=told):
        check_co_partitioning(app.topology, PARTITIONS)
    check_co_partitioning(app.topology, dict.fromkeys(PARTITIONS, 3))


ALLOWED: Final[dict[str, Callable[[Streams], Any]]] = {
    "key_by": lambda app: app.stream("orders").key_by("customer").join(app.table("customers")).to("out"),
    "repartition": lambda app: (
        app.stream("orders").repartition("by-customer", partitions=2).join(app.table("customers")).to("out")
    ),
    "global table": lambda app: app.stream("orders").join(app.global_table("customers"), on="customer").to("out"),
    "with itself": lambda app: (
        app.stream("orders").join(app.stream("orders").filter("n > 3"), within="1 minute").to("out")
    ),
}


@pytest.mark.parametrize("declare", ALLOWED.values(), ids=ALLOWED)
def test_ways_out(declare: Callable[[Streams], Any]) -> None:
    """What has been given another key, goes through a topic of its own, or is global may be cut in any way."""
    app = Streams("shop")
    declare(app)
    check_co_partitioning(app.topology, PARTITIONS)
