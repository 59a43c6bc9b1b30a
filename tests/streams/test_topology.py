"""What an application has declared, and what of it is computed."""

import pytest

from stoker.streams import Streams, tumbling
from stoker.streams.errors import InvalidTopology


def test_what_nobody_uses_is_not_computed() -> None:
    """Roots are sinks, and stores that no sink needs; a stream that leads nowhere is left out."""
    app = Streams("shop")
    orders = app.stream("orders")
    orders.filter("n > 3")
    orders.group_by_key().count(store="counts")
    orders.group_by_key().count(store="written").to("out")
    assert [node.describe() for node in app.topology.roots] == [
        "aggregate count(*) AS count by key, store counts",
        "to topic out",
    ]
    assert app.topology.topics == ["orders"]
    assert list(app.topology.stores) == ["counts", "written"]


def test_what_several_jobs_read_is_kept() -> None:
    """A stream of which two sinks are made is computed once; what is made of it alone is not kept too."""
    app = Streams("shop")
    orders = app.stream("orders")
    dear = orders.filter("n > 3")
    dear.to("dear")
    orders.to("all")
    assert app.topology.shared == {orders.node}
    lonely = Streams("lonely")
    lonely.stream("orders").filter("n > 3").to("dear")
    assert lonely.topology.shared == frozenset()


def test_an_application_that_does_nothing_is_refused() -> None:
    app = Streams("idle")
    app.stream("orders").filter("n > 3")
    with pytest.raises(InvalidTopology, match="does nothing"):
        app.topology.check()


def test_a_topic_has_one_event_time() -> None:
    """Two declarations of a topic with different event times are refused."""
    app = Streams("twice")
    app.stream("orders", timestamp="placed").to("one")
    app.stream("orders").to("two")
    with pytest.raises(InvalidTopology, match=r"orders is read twice with different event times"):
        app.topology.check()


def test_a_name_is_for_one_store() -> None:
    app = Streams("names")
    orders = app.stream("orders").group_by_key()
    orders.count(store="counts")
    with pytest.raises(InvalidTopology, match="there is a store named 'counts' already"):
        orders.window(tumbling("1 hour")).count(store="counts")
    with pytest.raises(InvalidTopology, match="cannot be the name of a store"):
        orders.count(store="a/b")
    with pytest.raises(InvalidTopology, match="cannot be the name of an application"):
        Streams("..")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"on_error": "ignore"}, "fail, drop, dead-letter"),
        ({"starting": "now"}, "earliest, latest"),
        ({"value_format": "text"}, "avro, json, protobuf, string, binary"),
    ],
    ids=["on_error", "starting", "format"],
)
def test_arguments_of_a_source_have_choices(arguments: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidTopology, match=f"of topic orders: it takes {told}"):
        Streams("choices").stream("orders", **arguments)


def test_dead_letters_have_a_topic_of_their_own() -> None:
    app = Streams("letters")
    named = app.stream("orders", dead_letters="bad").node
    unnamed = app.stream("payments", on_error="dead-letter").node
    assert [getattr(each, "dead_letters", None) for each in (named, unnamed)] == ["bad", "payments-dead-letters"]
    assert [getattr(each, "on_error", None) for each in (named, unnamed)] == ["dead-letter", "dead-letter"]
