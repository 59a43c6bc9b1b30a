"""Topologies as drawings."""

from stoker.streams import Streams, tumbling


def test_a_topology_is_drawn() -> None:
    """Sources at the left, what is made of them below, numbered; what has two parents is drawn once."""
    app = Streams("shop")
    orders = app.stream("orders").filter("n > 3")
    orders.left_join(app.table("customers", store="customers")).to("enriched")
    orders.group_by("region").window(tumbling("1 hour", grace="5 minutes")).count(store="counts").to("counts")
    assert app.describe() == (
        "shop: 2 sources, 2 stores, 2 sinks\n"
        "▶ 1 stream of topic orders\n"
        "└─ · 2 filter n > 3\n"
        "   ├─ · 4 left join with the table\n"
        "   │  └─ ■ 5 to topic enriched\n"
        "   └─ ▦ 6 aggregate count(*) AS count by region, tumbling 1 hour, grace 5 minutes, store counts\n"
        "      └─ ■ 7 to topic counts\n"
        "▶ 3 table of topic customers, store customers\n"
        "└─ · 4 left join with the table (see above)"
    )
    assert repr(app) == "<Streams shop: 7 nodes>"
    assert repr(orders) == "<Stream of shop: filter n > 3>"
