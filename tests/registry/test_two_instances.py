"""Two instances on one cluster, of either kind: the registry knows no difference."""

import pytest

from tests.clients.client import eventually, fresh_topic
from tests.registry.registry_process import RegistryProcess

pytestmark = pytest.mark.both_backends

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}'
PAYMENT = '{"type":"record","name":"Payment","fields":[]}'


def test_two_instances(bootstrap_servers: str) -> None:
    """What is registered is there after a restart; either instance takes a write, and the second goes on when the first has left."""
    name = fresh_topic("_schemas")
    options = {"kafkastore.topic": name, "schema.registry.group.id": name, "kafkastore.session.timeout.ms": 6000}
    with RegistryProcess(bootstrap_servers, options=options) as first:
        order_id = first.register("orders-value", ORDER)
        assert first.stop() == 0
        first.start()
        assert first.ask("GET", f"/schemas/ids/{order_id}").json() == {"schema": ORDER}
        with RegistryProcess(bootstrap_servers, options=options) as second:
            assert second.register("orders-value", ORDER) == order_id
            payment_id = second.register("payments-value", PAYMENT)
            assert payment_id > order_id
            wanted = ["orders-value", "payments-value"]
            for instance in (first, second):
                assert eventually(lambda: instance.ask("GET", "/subjects").json(), wanted.__eq__) == wanted  # noqa: B023
            assert first.stop() == 0
            assert second.register("refunds-value", PAYMENT) == payment_id
            assert second.register("carts-value", PAYMENT.replace("Payment", "Cart")) > payment_id
