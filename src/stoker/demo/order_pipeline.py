"""Orders, customers and payments: cleaned, enriched, matched, summed up, routed and stored; each exactly once.

Run it beside `stoker up`:    python examples/order_pipeline.py --registry http://localhost:8081
"""

import argparse

import stoker
from stoker.streams import tumbling


def declare(app: stoker.Streams, lake: str) -> None:
    """What is to be done. Columns come from the Avro schemas in the registry."""
    orders = app.stream("orders", dead_letters="orders-dead-letters")
    payments = app.stream("payments", dead_letters="payments-dead-letters")
    customers = app.table("customers", store="customers")

    # Each order with what is known of its customer at that time.
    enriched = orders.left_join(customers, columns=["left.*", "right.name AS customer", "right.tier"])
    enriched.to("orders-enriched")

    # The large ones to a topic of their own.
    enriched.filter("cents > 90000").to("orders-high-value")

    # All of them as files, by the hour in which they were placed.
    enriched.to_parquet(lake, partition_by=["date", "hour"])

    # Payments that follow their order within five minutes.
    paid = orders.key_by("order_id").join(
        payments.key_by("order_id"),
        within=("0s", "5 minutes"),
        columns=["left.order_id", "left.customer_id", "left.cents", "right.method"],
    )
    paid.to("orders-paid")

    # Revenue of each customer and hour. What comes more than five minutes late is counted and left out.
    hourly = orders.group_by_key().window(tumbling("1 hour", grace="5 minutes"))
    hourly.aggregate(cents="sum(cents)", orders="count(*)", store="hourly-revenue-store").to("hourly-revenue")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092")
    parser.add_argument("--registry", default="http://localhost:8081")
    parser.add_argument("--master", help="of Spark; all cores of this machine if not given")
    parser.add_argument("--state-dir", help="where the state is kept; else ~/.local/state/stoker/streams")
    parser.add_argument("--lake", default="lake", help="where the Parquet files go")
    parser.add_argument("--max-rows-per-batch", type=int, default=1_000_000)
    arguments = parser.parse_args()

    app = stoker.Streams(
        "order-pipeline",
        bootstrap_servers=arguments.bootstrap_servers,
        registry=arguments.registry,
        master=arguments.master,
        state_dir=arguments.state_dir,
        max_rows_per_batch=arguments.max_rows_per_batch,
    )
    declare(app, arguments.lake)
    app.run()  # until Ctrl-C


if __name__ == "__main__":
    main()
