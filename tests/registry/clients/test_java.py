"""Confluent's serializers and client for Java."""

import json
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.clients.client import WAIT_SECONDS
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.tutorials import TUTORIAL_ADDRESSES, corrected
from tests.conftest import CONFLUENT_JARS
from tests.registry.registry_process import RegistryProcess

SOURCES = Path(__file__).resolve().parent / "java"
SNIPPETS = Path(__file__).resolve().parent / "snippets"

pytestmark = pytest.mark.confluent


def run(program: str, *arguments: str, directory: Path, snippet: str = "") -> list[str]:
    """Run a program with a snippet in its place; the lines it prints."""
    source = directory / f"{program}.java"
    source.write_text((SOURCES / source.name).read_text().replace("/* snippet */", snippet))
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    class_path = f"{CLASS_PATH}:{CONFLUENT_JARS}/*"
    finished = subprocess.run(
        ["java", *FAST_START, quiet, "-cp", class_path, source, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=3 * WAIT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


@pytest.mark.acceptance("S107")
def test_the_java_avro_producer(
    own_registry: RegistryProcess, confluent: ConfluentKafka, bootstrap_servers: str, tmp_path: Path
) -> None:
    """With imports and a close around it, and `order.avsc` beside it: the subject is orders-value, and Java and Python read the order."""
    confluent.create_anew("orders")
    (tmp_path / "order.avsc").write_text((SNIPPETS / "order.avsc").read_text())
    snippet = TUTORIAL_ADDRESSES.sub(bootstrap_servers, (SNIPPETS / "avro_producer.java.txt").read_text())
    snippet = corrected(snippet, {"http://schema-registry:8081": own_registry.url})
    run("AvroProducer", directory=tmp_path, snippet=snippet)
    [stored] = confluent.read("orders", 0, count=1)
    assert stored.key == b"order-123"
    assert stored.value is not None
    with SchemaRegistryClient({"url": own_registry.url}) as client:
        assert client.get_subjects() == ["orders-value"]
        registered = client.get_latest_version("orders-value")
        assert registered.schema_id is not None
        assert stored.value[:5] == b"\0" + registered.schema_id.to_bytes(4, "big")
        told = AvroDeserializer(client)(stored.value, None)
    assert isinstance(told, dict)
    created_at = told.pop("createdAt")
    assert told == {"id": "order-123", "customerId": "cust-456", "amount": 99.99, "region": "us-east"}
    assert created_at == pytest.approx(stored.timestamp, abs=60_000)
    [line] = run("AvroConsumer", bootstrap_servers, own_registry.url, "orders", "1", directory=tmp_path)
    key, name, value = line.split(" ", 2)
    assert (key, name, json.loads(value)) == ("order-123", "com.example.Order", {**told, "createdAt": created_at})


ANSWERS = {
    "before": "refused 404 40401",
    "again": "true",
    "getSchemaById": "true",
    "getSchemaBySubjectAndId": '{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}',
    "getId": "true",
    "getVersion": "1",
    "getId of another": "refused 404 40403",
    "testCompatibility": "true",
    "testCompatibility of a demand": "false",
    "verbose": "true",
    "register a demand": "refused 409 409",
    "updateCompatibility": "NONE",
    "getCompatibility": "NONE",
    "register it now": "true",
    "updateConfig": "FULL",
    "getConfig": "FULL",
    "deleteConfig": "done",
    "getAllVersions": "[1, 2]",
    "getAllSubjects": "true",
    "getAllSubjectsByPrefix": "1",
    "getAllSubjectsById": "[SUBJECT]",
    "getAllVersionsById": "[{subject=SUBJECT,version=1}]",
    "getLatestSchemaMetadata": "2",
    "getSchemaMetadata": "true",
    "getSchemas": "1",
    "a reference": "Order",
    "metadata": "{owner=shop}",
    "getLatestWithMetadata": "true",
    "deleteSubject that is referred to": "refused 422 42206",
    "getMode": "READWRITE",
    "setMode": "READONLY",
    "register when it is read only": "refused 422 42205",
    "setMode back": "READWRITE",
    "deleteSubject": "[1]",
    "deleteSubject for good": "[1]",
    "deleteSchemaVersion": "2",
    "deleteSchemaVersion for good": "2",
    "deleteSubject at last": "[1]",
    "afterwards": "refused 404 40401",
}


def test_the_java_client(registry: RegistryProcess, subject: str, tmp_path: Path) -> None:
    """CachedSchemaRegistryClient: it takes every answer, and every refusal has Confluent's code."""
    lines = run("RegistryCalls", registry.url, subject, directory=tmp_path)
    told = dict(line.split(": ", 1) for line in lines)
    assert told == {name: answer.replace("SUBJECT", subject) for name, answer in ANSWERS.items()}
