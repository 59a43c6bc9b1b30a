"""Topics that other registries wrote (`data/`) are read as they are, and go on from there."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.client import Record, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.faults.stoker_process import STOKER
from tests.registry.registry_process import RegistryProcess

DATA = Path(__file__).resolve().parent / "data"
DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "registry.md"

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}'
CITY = 'syntax = "proto3";\npackage shop;\n\nmessage Address {\n  string city = 1;\n}\n'
NOT_FOUND = (404, 40403)

ANSWERS: dict[str, dict[str, Any]] = {
    "confluent": {
        "/subjects?subjectPrefix=": ["address.proto", "half", "holder", "old", "orders-value", "people-value"],
        "/subjects?subjectPrefix=:.staging:": [":.staging:orders-value"],
        "/subjects?deletedOnly=true": ["gone"],
        "/contexts": [".", ".staging"],
        "/config": {"compatibilityLevel": "FULL"},
        "/mode/people-value": {"mode": "READONLY"},
        "/subjects/orders-value/versions": [1, 2],
        "/subjects/half/versions": [2],
        "/subjects/half/versions?deleted=true": [1, 2],
        "/subjects/orders-value/versions/1/referencedby": [4],
        "/schemas/ids/1": {"schema": '"string"'},
        "/schemas/ids/2": {"schema": ORDER},
        "/schemas/ids/5": {"schemaType": "PROTOBUF", "schema": CITY},
        "/schemas/ids/10": NOT_FOUND,
        "/schemas/ids/1?subject=:.staging:orders-value": {"schema": ORDER},
    },
    "karapace": {
        "/subjects": ["address.proto", "again", "orders", "orders-copy", "people", "people-proto"],
        "/subjects?deletedOnly=true": ["gone"],
        "/config": {"compatibilityLevel": "FULL"},
        "/config/orders": {"compatibilityLevel": "NONE"},
        "/config/people": (404, 40408),
        "/subjects/orders/versions": [1],
        "/subjects/orders/versions?deleted=true": [1, 2],
        "/subjects/again/versions": [2],
        "/subjects/address.proto/versions/1/referencedby": [6],
        "/schemas/ids/1/versions": [{"subject": "orders", "version": 1}, {"subject": "orders-copy", "version": 1}],
        "/schemas/ids/3": NOT_FOUND,
        "/schemas/ids/4": {"schemaType": "JSON", "schema": '{"properties":{"name":{"type":"string"}},"type":"object"}'},
        "/schemas/ids/5": {"schemaType": "PROTOBUF", "schema": CITY},
        "/schemas/ids/7": {"schema": '"string"'},
        "/schemas/ids/8": NOT_FOUND,
        "/schemas/ids/9": {"schema": '"bytes"'},
    },
}


@pytest.fixture(scope="module", params=["confluent", "karapace"])
def moved(request: pytest.FixtureRequest, bootstrap_servers: str) -> Iterator[tuple[str, RegistryProcess]]:
    """A registry on a topic that another one wrote, and whose that was."""
    topic = fresh_topic("_schemas")
    kafka = ConfluentKafka(bootstrap_servers)
    kafka.create_ready_topic(topic, configs={"cleanup.policy": "compact"})
    lines = [json.loads(line) for line in (DATA / f"{request.param}_schemas.jsonl").read_text().splitlines()]
    records = [Record(key=line["key"].encode(), value=_value(line["value"])) for line in lines]
    kafka.produce(topic, records)
    options = {"kafkastore.topic": topic, "schema.registry.group.id": topic}
    with RegistryProcess(bootstrap_servers, options=options) as registry:
        yield request.param, registry


def _value(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def answers(registry: RegistryProcess, paths: list[str]) -> dict[str, Any]:
    """What is answered to each, or the status and code of a refusal."""
    told = {}
    for path in paths:
        answer = registry.ask("GET", path)
        body = answer.json()
        told[path] = body if answer.status_code == 200 else (answer.status_code, body["error_code"])
    return told


def warnings(registry: RegistryProcess) -> list[str]:
    """But for that of its topic's replicas, of which the test has made one."""
    return [line for line in registry.lines if "WARNING" in line and " replicas" not in line]


def test_what_another_registry_wrote_is_read(moved: tuple[str, RegistryProcess]) -> None:
    name, registry = moved
    assert answers(registry, list(ANSWERS[name])) == ANSWERS[name]


def test_settings_of_confluents(moved: tuple[str, RegistryProcess]) -> None:
    """Configs, metadata and rules come through whole; a kind of record that is unknown here is told of once."""
    name, registry = moved
    if name != "confluent":
        assert warnings(registry) == []
        return
    config = registry.ask("GET", "/config/orders-value").json()
    assert config == {
        "normalize": True,
        "validateFields": False,
        "compatibilityLevel": "FORWARD",
        "compatibilityGroup": "major",
        "defaultMetadata": {"properties": {"owner": "shop"}},
    }
    people = registry.ask("GET", "/subjects/people-value/versions/1").json()
    assert people["metadata"]["sensitive"] == ["owner"]
    assert people["ruleSet"]["domainRules"][0]["expr"] == "size(message.name) > 0"
    [warning] = warnings(registry)
    assert "ASSOCIATION" in warning


def test_it_goes_on_from_there(moved: tuple[str, RegistryProcess]) -> None:
    """No id is given again, what is known keeps its id, settings in another spelling of the key can be taken back; all the same after a restart."""
    name, registry = moved
    subject = {"confluent": "orders-value", "karapace": "orders"}[name]
    known = {"confluent": "old", "karapace": "orders-copy"}[name]
    assert registry.register(known, registry.ask("GET", "/schemas/ids/1").json()["schema"]) == 1
    new = registry.register("new", '{"type":"enum","name":"E","symbols":["A"]}')
    assert new == {"confluent": 11, "karapace": 10}[name]
    assert registry.ask("DELETE", "/config").json() == {"compatibilityLevel": "FULL"}
    assert registry.ask("DELETE", f"/config/{subject}").status_code == 200
    assert registry.ask("DELETE", "/subjects/gone?permanent=true").json() == [1]
    paths = [*ANSWERS[name], "/subjects/new/versions/1", f"/config/{subject}"]
    before = answers(registry, paths)
    assert before["/config"] == {"compatibilityLevel": "BACKWARD"}
    assert before[f"/config/{subject}"] == (404, 40408)
    assert "gone" not in before["/subjects?deletedOnly=true"]
    assert registry.stop() == 0
    registry.start()
    assert answers(registry, paths) == before


def test_the_way_back_to_karapace(moved: tuple[str, RegistryProcess], bootstrap_servers: str) -> None:
    """It waits for a record at the last offset, where a transaction's mark stands: the command of the documentation puts one there."""
    _, registry = moved
    topic = registry.line_with("is ready").partition("schemas in the topic ")[2].split()[0]
    [command] = re.findall(r"^\$ (echo .* \| stoker produce _schemas .*)$", DOCUMENTATION.read_text(), re.MULTILINE)
    command = command.replace("stoker produce _schemas", f"{STOKER} produce {topic} -b {bootstrap_servers}")
    kafka = ConfluentKafka(bootstrap_servers)
    _, end = kafka.offset_range(topic, 0)
    registry.register("written-here", '"string"')
    assert kafka.offset_range(topic, 0)[1] >= end + 2
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    _, end = kafka.offset_range(topic, 0)
    [last] = kafka.read(topic, 0, start=end - 1, count=1)
    assert (last.offset, last.key, last.value) == (end - 1, b'{"keytype":"NOOP","magic":0}', None)
    assert registry.register("written-here", '"string"') == registry.register("written-later", '"string"')
