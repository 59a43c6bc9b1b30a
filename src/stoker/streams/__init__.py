"""Stream processing for Python people: what Kafka Streams declares, run by Spark.

import stoker
from stoker.streams import tumbling

app = stoker.Streams("order-processor", bootstrap_servers="localhost:9092", registry="http://localhost:8081")
orders = app.stream("orders")
orders.filter("total > 1000").to("high-value-orders")
orders.group_by("customer_id").window(tumbling("1 hour", grace="5 minutes")).sum("total").to("hourly-revenue")
app.run()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__all__ = [
    "Processor",
    "Streams",
    "StreamsError",
    "Table",
    "TestDriver",
    "hopping",
    "open_store",
    "session",
    "sliding",
    "tumbling",
]

if TYPE_CHECKING:
    from stoker.streams.application import Streams
    from stoker.streams.errors import StreamsError
    from stoker.streams.processor import Processor
    from stoker.streams.state.views import open_store
    from stoker.streams.table import Table
    from stoker.streams.test_driver import TestDriver
    from stoker.streams.windows import hopping, session, sliding, tumbling


_HOMES: Final = {
    "Processor": "stoker.streams.processor",
    "Streams": "stoker.streams.application",
    "StreamsError": "stoker.streams.errors",
    "Table": "stoker.streams.table",
    "TestDriver": "stoker.streams.test_driver",
    "hopping": "stoker.streams.windows",
    "open_store": "stoker.streams.state.views",
    "session": "stoker.streams.windows",
    "sliding": "stoker.streams.windows",
    "tumbling": "stoker.streams.windows",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'stoker.streams' has no attribute {name!r}. It has: {', '.join(__all__)}")
