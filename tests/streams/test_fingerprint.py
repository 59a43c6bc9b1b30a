"""Which topologies may go on with the state of another."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from stoker.streams import Streams, tumbling
from stoker.streams.errors import TopologyChanged
from stoker.streams.fingerprint import check_unchanged, fingerprint


def application(change: Callable[[Streams], Any]) -> dict[str, Any]:
    app = Streams("shop")
    change(app)
    return fingerprint(app.topology)


def counted(app: Streams) -> None:
    app.stream("orders").group_by("customer").window(tumbling("1 hour")).count(store="counts").to("out")


REFUSED: Final[dict[str, tuple[Callable[[Streams], Any], str]]] = {
    "window": (
        lambda app: app.stream("orders").group_by("customer").window(tumbling("2 hours")).count(store="counts"),
        "window was tumbling 1 hour, grace 0 seconds, is tumbling 2 hours, grace 0 seconds",
    ),
    "aggregate": (
        lambda app: app.stream("orders").group_by("customer").window(tumbling("1 hour")).sum("n", store="counts"),
        "aggregates was {'count': 'count(*)'}, is {'sum_n': 'sum(n)'}",
    ),
    "group": (
        lambda app: app.stream("orders").group_by("region").window(tumbling("1 hour")).count(store="counts"),
        "by was ['customer'], is ['region']",
    ),
    "kind": (lambda app: app.table("orders", store="counts"), "kind was Aggregate, is TableSource"),
}


@pytest.mark.parametrize(("change", "told"), REFUSED.values(), ids=REFUSED)
def test_what_a_store_means_must_not_change(change: Callable[[Streams], Any], told: str) -> None:
    """The message has what was, what is, and three ways out."""
    with pytest.raises(TopologyChanged) as refused:
        check_unchanged(application(counted), application(change), "shop")
    message = str(refused.value)
    assert f"store counts: {told}" in message or told in message
    assert all(way in message for way in ("store=", "reset()", "another application name"))


def more(app: Streams) -> None:
    orders = app.stream("orders").filter("n > 3").with_columns(total="n * 2")
    orders.group_by("customer").window(tumbling("1 hour")).count(store="counts").to("elsewhere")
    app.stream("payments").to("copy")
    orders.group_by("region").count(store="regions")


def test_what_does_no_harm_is_told() -> None:
    """Filters, columns and sinks may change; new stores and topics, and those that are gone, are told."""
    assert check_unchanged(application(counted), application(more), "shop") == [
        "store regions is new, and begins empty",
        "topic payments is new, and is read from its beginning",
    ]
    assert check_unchanged(application(more), application(counted), "shop") == ["store regions is no longer used"]


def struct(**fields: Any) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()],
    }


COLUMNS: Final[dict[str, tuple[Any, Any, str | None]]] = {
    "same": (struct(_key="string", n="long"), struct(_key="string", n="long"), None),
    "added": (struct(n="long"), struct(n="long", m="string"), None),
    "taken away": (struct(n="long", m="string"), struct(n="long"), None),
    "wider": (struct(n="integer", m="float"), struct(n="long", m="double"), None),
    "narrower": (struct(n="long"), struct(n="integer"), "column n was long, is integer"),
    "key": (struct(_key="string"), struct(_key="long"), "the key was string, is long"),
    "nested": (struct(a=struct(b="long")), struct(a=struct(b="string")), "column a.b was long, is string"),
    "to a struct": (struct(a="long"), struct(a=struct(b="string")), "column a was long, is struct"),
    "in an array": (
        struct(a={"type": "array", "elementType": "long", "containsNull": True}),
        struct(a={"type": "array", "elementType": "string", "containsNull": True}),
        "column a was long, is string",
    ),
    "before": (struct(_before="long"), struct(_before="string"), None),
    "new store": (None, struct(n="long"), None),
}


@pytest.mark.parametrize(("before", "now", "told"), COLUMNS.values(), ids=COLUMNS)
def test_columns_must_be_readable_as_what_they_are_now(before: Any, now: Any, told: str | None) -> None:
    """Columns may come and go, and become wider; another type is refused by its name."""
    app = Streams("shop")
    counted(app)
    known = fingerprint(app.topology, {} if before is None else {"counts": before})
    today = fingerprint(app.topology, {"counts": now})
    if told is None:
        assert check_unchanged(known, today, "shop") == []
        return
    with pytest.raises(TopologyChanged, match=f"store counts: {told}"):
        check_unchanged(known, today, "shop")
