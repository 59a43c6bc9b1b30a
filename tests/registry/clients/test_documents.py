"""Commands and programs of tutorials (`snippets/`), run with nothing changed but addresses, and with what a test says."""

import json
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.clients.client import WAIT_SECONDS, Record, eventually, fresh_topic
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.tutorials import TUTORIAL_ADDRESSES, corrected, python_program, run_python
from tests.registry.registry_process import RegistryProcess

SNIPPETS = Path(__file__).resolve().parent / "snippets"
SUBJECTS = ("orders-value", "user-events-value")


class Answer(NamedTuple):
    status: int
    body: Any


Curl = Callable[..., Answer]


@pytest.fixture
def documents(registry: RegistryProcess) -> RegistryProcess:
    """The registry, which knows nothing of the documents' subjects."""
    for subject in SUBJECTS:
        for path in (f"/subjects/{subject}", f"/subjects/{subject}?permanent=true", f"/config/{subject}"):
            assert registry.ask("DELETE", path).status_code in (200, 404)
    return registry


@pytest.fixture
def curl(documents: RegistryProcess, tmp_path: Path) -> Curl:
    """Runs a snippet's line in a shell. What connects its host to the registry is in curl's own file, so that the line stays as it is."""
    settings = [
        "silent",
        f'connect-to = "::127.0.0.1:{documents.port}"',
        'noproxy = "*"',
        'write-out = "\\n%{http_code}"',
    ]
    (tmp_path / ".curlrc").write_text("\n".join(settings))

    def run(name: str, corrections: dict[str, str] | None = None) -> Answer:
        line = corrected((SNIPPETS / name).read_text(), corrections or {})
        shell = subprocess.run(
            ["bash", "-c", line],
            env={"CURL_HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"},
            capture_output=True,
            timeout=WAIT_SECONDS,
            text=True,
            check=True,
        )
        body, _, status = shell.stdout.rpartition("\n")
        return Answer(int(status), json.loads(body))

    return run


def as_curl_data(schema: Any) -> str:
    """A schema in place of a placeholder, within the quotes of a shell."""
    return json.dumps(json.dumps(schema))[1:-1]


@pytest.mark.curl
@pytest.mark.acceptance("C099")
def test_registering_by_curl(curl: Curl) -> None:
    """A real schema in place of the line's `...` gets an id, the same when it is repeated; as the line stands it is no schema: 42201."""
    placeholder = curl("register_with_a_placeholder.sh.txt")
    assert (placeholder.status, placeholder.body["error_code"]) == (422, 42201)
    real = {",...": r",\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]"}
    answer = curl("register_with_a_placeholder.sh.txt", real)
    assert answer == Answer(200, {"id": answer.body["id"]})
    assert curl("register_with_a_placeholder.sh.txt", real) == answer


@pytest.mark.curl
@pytest.mark.acceptance("C100")
def test_registering_user_events_by_curl(curl: Curl, client: SchemaRegistryClient) -> None:
    """As the line stands: the answer is `{"id": n}`, and a schema without a type is Avro."""
    answer = curl("register_user_events.sh.txt")
    assert answer == Answer(200, {"id": answer.body["id"]})
    found = client.get_latest_version("user-events-value")
    assert (found.schema_id, found.version, found.schema.schema_type) == (answer.body["id"], 1, "AVRO")


@pytest.mark.curl
@pytest.mark.acceptance("C101")
def test_checking_user_events_by_curl(curl: Curl) -> None:
    """With a schema in place of `...` the answer is true or false, with verbose=true also why; the placeholder itself is no schema: 42201."""
    placeholder = curl("check_user_events.sh.txt")
    assert (placeholder.status, placeholder.body["error_code"]) == (422, 42201)
    curl("register_user_events.sh.txt")
    user = {"name": "user_id", "type": "string"}
    fewer = {"type": "record", "name": "UserEvent", "fields": [user]}
    more = {**fewer, "fields": [user, {"name": "session", "type": "string"}]}
    assert curl("check_user_events.sh.txt", {"...": as_curl_data(fewer)}) == Answer(200, {"is_compatible": True})
    assert curl("check_user_events.sh.txt", {"...": as_curl_data(more)}) == Answer(200, {"is_compatible": False})
    verbose = curl("check_user_events.sh.txt", {"...": as_curl_data(more), "latest": "latest?verbose=true"})
    assert verbose.status == 200
    assert not verbose.body["is_compatible"]
    assert any("session" in message for message in verbose.body["messages"])


@pytest.mark.curl
@pytest.mark.acceptance("C102")
def test_setting_a_level_by_curl(curl: Curl) -> None:
    """As the line stands; a level that is none is 422, 42203."""
    assert curl("set_level.sh.txt") == Answer(200, {"compatibility": "BACKWARD"})
    refused = curl("set_level.sh.txt", {"BACKWARD": "SIDEWAYS"})
    assert (refused.status, refused.body["error_code"]) == (422, 42203)


@pytest.mark.curl
@pytest.mark.acceptance("C103", "S110")
def test_registering_orders_by_curl(curl: Curl, client: SchemaRegistryClient) -> None:
    """As the line stands: line breaks within its string, which JSON forbids, are let through; `logicalType` beside the type says nothing.

    Inside of the type it makes the field a timestamp, and the schema is another version.
    """
    answer = curl("register_orders.sh.txt")
    assert answer == Answer(200, {"id": answer.body["id"]})
    found = client.get_latest_version("orders-value").schema
    created_at = json.loads(found.schema_str or "")["fields"][-1]
    assert created_at == {"name": "created_at", "type": "long", "logicalType": "timestamp-millis"}
    value = AvroSerializer(client, found.schema_str)(ORDER, SerializationContext("orders", MessageField.VALUE))
    assert AvroDeserializer(client)(value, None) == ORDER
    beside = '\\"type\\": \\"long\\",\n         \\"logicalType\\": \\"timestamp-millis\\"'
    inside = '\\"type\\": {\\"type\\": \\"long\\", \\"logicalType\\": \\"timestamp-millis\\"}'
    assert curl("register_orders.sh.txt", {beside: inside}).body["id"] > answer.body["id"]
    corrected_schema = client.get_version("orders-value", 2).schema.schema_str
    value = AvroSerializer(client, corrected_schema)(ORDER, SerializationContext("orders", MessageField.VALUE))
    read: Any = AvroDeserializer(client)(value, None)
    assert read["created_at"] == datetime.fromtimestamp(ORDER["created_at"] / 1000, UTC)


@pytest.mark.curl
@pytest.mark.acceptance("C104")
def test_checking_orders_by_curl(curl: Curl) -> None:
    """With a schema in place of `...`; the placeholder is 422. With a subject of no versions all is compatible, as Confluent's says today."""
    assert curl("check_orders.sh.txt").status == 422
    order = {"type": "record", "name": "Order", "namespace": "com.example.orders", "fields": []}
    assert curl("check_orders.sh.txt", {"...": as_curl_data(order)}) == Answer(200, {"is_compatible": True})
    unknown = curl("check_orders.sh.txt", {"...": as_curl_data(order), "latest": "1"})
    assert (unknown.status, unknown.body["error_code"]) == (404, 40402)
    curl("register_orders.sh.txt")
    assert curl("check_orders.sh.txt", {"...": as_curl_data(order)}) == Answer(200, {"is_compatible": True})
    other = {**order, "fields": [{"name": "id", "type": "int"}]}
    assert curl("check_orders.sh.txt", {"...": as_curl_data(other)}) == Answer(200, {"is_compatible": False})


ORDER: dict[str, Any] = {
    "id": "order-1",
    "user_id": "user-1",
    "total": 99.5,
    "status": "NEW",
    "created_at": 1_700_000_000_000,
}
TOTALS = '{"type":"record","name":"Order","fields":[{"name":"id","type":"string"},{"name":"total","type":"double"}]}'
SKIPPING_TOMBSTONES = {
    "        print(f'Order: {": "        if order is None:\n            continue\n\n        print(f'Order: {",
}
PROCESSING = "def process_order(order): print('processed', order['id'], flush=True)\n"


@pytest.mark.acceptance("S049")
def test_the_python_avro_consumer(
    registry: RegistryProcess, confluent: ConfluentKafka, bootstrap_servers: str, tmp_path: Path
) -> None:
    """With a `process_order`, and a tombstone skipped where the snippet fails at it: orders of committed transactions, schemas by their ids."""
    topic, group = "orders-avro", "order-avro-consumer"
    confluent.create_anew(topic)
    groups = ConsumerGroups(bootstrap_servers)
    groups.forget(group)
    with SchemaRegistryClient({"url": registry.url}) as client:
        serialize = AvroSerializer(client, TOTALS)
        values = [
            serialize({"id": f"order-{n}", "total": n}, SerializationContext(topic, MessageField.VALUE))
            for n in range(3)
        ]
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": fresh_topic("orders")})
    producer.init_transactions(WAIT_SECONDS)
    for number, value in enumerate(values):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(WAIT_SECONDS)
        if number == 1:
            producer.abort_transaction(WAIT_SECONDS)
        else:
            producer.commit_transaction(WAIT_SECONDS)
    confluent.produce(topic, [Record(value=None, key=b"order-0"), Record(value=values[1])])
    text = TUTORIAL_ADDRESSES.sub(bootstrap_servers, (SNIPPETS / "avro_consumer.py.txt").read_text())
    text = corrected(text, {"http://schema-registry:8081": registry.url, **SKIPPING_TOMBSTONES})
    with python_program(PROCESSING + text, tmp_path) as program:
        program.wait_for(lambda lines: len([line for line in lines if line.startswith("processed")]) == 3)
        assert eventually(lambda: groups.committed(group, topic), lambda found: found == {0: 8}) == {0: 8}
        assert program.end_with(signal.SIGINT) == 0
    assert [line for line in program.lines if line.startswith("Order: ")] == [
        "Order: order-0 Total: $0.00 Partition: 0 Offset: 0",
        "Order: order-2 Total: $2.00 Partition: 0 Offset: 4",
        "Order: order-1 Total: $1.00 Partition: 0 Offset: 7",
    ]


@pytest.mark.acceptance("S108")
def test_the_python_avro_serializer(
    documents: RegistryProcess,
    client: SchemaRegistryClient,
    confluent: ConfluentKafka,
    bootstrap_servers: str,
    tmp_path: Path,
) -> None:
    """With the imports it lacks, an order and a flush: an enum, a timestamp and a union with a record; 00, the id and the data."""
    confluent.create_anew("orders")
    text = TUTORIAL_ADDRESSES.sub(bootstrap_servers, (SNIPPETS / "avro_serializer.py.txt").read_text())
    text = corrected(
        text,
        {
            "https://sr.internal:8081": documents.url,
            "import AvroSerializer\n": "import AvroSerializer\n"
            "from confluent_kafka.serialization import MessageField, SerializationContext\n",
        },
    )
    order = {
        "order_id": "order-1",
        "customer_id": "customer-1",
        "amount_cents": 9999,
        "status": "PENDING",
        "created_at": datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
        "metadata": {"ip": "10.0.0.1", "ua": None},
    }
    names = run_python(text + "\np.flush()\n", tmp_path, {"order": order})
    names["sr_client"].close()
    registered = client.get_latest_version("orders-value")
    assert registered.schema_id is not None
    assert registered.schema.schema_str is not None
    assert json.loads(registered.schema.schema_str) == json.loads(names["ORDER_SCHEMA_STR"])
    [stored] = confluent.read("orders", 0, count=1)
    assert stored.key == b"customer-1"
    assert stored.value is not None
    assert stored.value[:5] == b"\0" + registered.schema_id.to_bytes(4, "big")
    assert AvroDeserializer(client)(stored.value, None) == order
    found = client.lookup_schema("orders-value", Schema(names["ORDER_SCHEMA_STR"], "AVRO"))
    assert found.schema_id == registered.schema_id
