"""What users of other registries complain of most, and have no other test here: none of it is so with this one."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.records import encode_record, schema_record
from tests.clients.client import Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess

MANY = 5_000
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}'


def avro(number: int) -> str:
    fields = [{"name": f"field_{index}", "type": "string", "doc": "x" * 20} for index in range(8)]
    return json.dumps({"type": "record", "name": f"Record{number}", "fields": fields}, separators=(",", ":"))


@pytest.fixture(scope="module")
def registry(bootstrap_servers: str) -> Iterator[RegistryProcess]:
    """With nothing in it but what the tests put there."""
    topic = fresh_topic("_schemas")
    with RegistryProcess(
        bootstrap_servers, options={"kafkastore.topic": topic, "schema.registry.group.id": topic}
    ) as started:
        yield started


def test_five_thousand_subjects(bootstrap_servers: str) -> None:
    """They are there at the start, and the first write does not wait. What it costs: benchmarks/registry.py."""
    topic = fresh_topic("_schemas")
    kafka = ConfluentKafka(bootstrap_servers)
    kafka.create_ready_topic(topic, configs={"cleanup.policy": "compact"})
    versions = [
        SubjectVersion(f"topic-{number}-value", 1, number + 1, SchemaEntity(schema_type="AVRO", text=avro(number)))
        for number in range(MANY)
    ]
    records = [encode_record(schema_record(version)) for version in versions]
    kafka.produce(topic, [Record(key=key, value=value) for key, value in records])
    large = RegistryProcess(bootstrap_servers, options={"kafkastore.topic": topic, "schema.registry.group.id": topic})
    with large:
        assert len(large.ask("GET", "/subjects").json()) == MANY
        assert large.register("topic-0-value", avro(0)) == 1
        assert large.register("one-more", ORDER) == MANY + 1


def test_a_retry_after_a_time_out_gives_the_id(tmp_path: Path) -> None:
    """A write that is given up may be there or not; who asks again gets one id and one version, and so does who asks after that."""
    options = {"kafkastore.timeout.ms": 1000, "kafkastore.session.timeout.ms": 30_000}
    with (
        BrokerProcess(tmp_path, options={"group.initial.rebalance.delay.ms": 0}) as broker,
        RegistryProcess(broker.bootstrap_servers, options=options) as registry,
    ):
        first = registry.register("first", ORDER)
        broker.send_signal(signal.SIGSTOP)
        try:
            refused = registry.ask("POST", "/subjects/late/versions", json={"schema": avro(1)})
        finally:
            broker.send_signal(signal.SIGCONT)
        assert (refused.status_code, refused.json()["error_code"] // 100) == (500, 500)

        def retry() -> httpx2.Response:
            return registry.ask("POST", "/subjects/late/versions", json={"schema": avro(1)})

        answer = eventually(retry, lambda answered: answered.status_code == 200)
        assert answer.status_code == 200, answer.text
        assert answer.json()["id"] > first
        assert retry().json() == answer.json()
        assert registry.ask("GET", "/subjects/late/versions").json() == [1]
        assert registry.register("third", avro(2)) > answer.json()["id"]


def test_fields_of_tomorrow_in_a_request(registry: RegistryProcess) -> None:
    """Whatever newer clients say besides is passed over."""
    more: dict[str, object] = {
        "metadata": None,
        "ruleSet": None,
        "schemaTagsToAdd": [],
        "propagateSchemaTags": False,
        "tomorrow": {"a": [1]},
    }
    schema_id = registry.register("tomorrow", ORDER, **more)
    assert registry.register("tomorrow", ORDER) == schema_id
    answer = registry.ask("PUT", "/config/tomorrow", json={"compatibility": "NONE", "tomorrow": 1})
    assert answer.json() == {"compatibility": "NONE"}


OLD_FIELDS = {
    "/schemas/ids/{id}": {"schema"},
    "/subjects/yesterday/versions/1": {"subject", "version", "id", "schema"},
    "/subjects/yesterday/versions/latest": {"subject", "version", "id", "schema"},
    "/config": {"compatibilityLevel"},
    "/mode": {"mode"},
}


def test_fields_of_yesterday_in_an_answer(registry: RegistryProcess) -> None:
    """Old Java clients fail at fields they do not know; those which name their version, or say that they bear them, get the new ones too."""
    answer = registry.ask("POST", "/subjects/yesterday/versions", json={"schema": ORDER})
    schema_id = answer.json()["id"]
    assert answer.json() == {"id": schema_id}
    looked_up = registry.ask("POST", "/subjects/yesterday", json={"schema": ORDER})
    assert set(looked_up.json()) == {"subject", "version", "id", "schema"}
    for path, fields in OLD_FIELDS.items():
        assert set(registry.ask("GET", path.format(id=schema_id)).json()) == fields
    for header in ({"Confluent-Accept-Unknown-Properties": "true"}, {"Confluent-Client-Version": "python/2.16.1"}):
        told = httpx2.get(f"{registry.url}/subjects/yesterday/versions/1", headers=header).json()
        assert {"guid", "schemaType"} <= set(told)
