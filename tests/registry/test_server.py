"""The server as a whole: how it ends."""

import asyncio
import threading
import uuid
from typing import Any

import httpx2
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from stoker.registry import log_reader
from stoker.registry.config import load_registry_config
from stoker.registry.instance import ReadingEnded
from stoker.registry.server import RegistryServer
from tests.clients.client import eventually
from tests.registry.registry_process import RegistryProcess


@pytest.fixture
def topic() -> str:
    return f"_schemas-{uuid.uuid4().hex[:8]}"


def test_who_waits_for_a_write_when_the_server_stops_is_answered(bootstrap_servers: str, topic: str) -> None:
    """In the form of all answers, and soon, though a transaction of somebody else holds up all readers of the topic."""
    with RegistryProcess(bootstrap_servers, options={"kafkastore.topic": topic}) as registry:
        registry.register("a", '"string"')
        other = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": topic})
        other.init_transactions(10)
        other.begin_transaction()
        other.produce(topic, key=b"odd", value=b"odd")
        other.flush(10)
        before = _end_of_log(bootstrap_servers, topic)
        answers: list[Any] = []

        connected = threading.Barrier(2)

        def ask(subject: str) -> None:
            with httpx2.Client(base_url=registry.url, timeout=30) as client:
                client.get("/subjects")
                connected.wait()
                answers.append(client.post(f"/subjects/{subject}/versions", json={"schema": '"int"'}).json())

        asking = [threading.Thread(target=ask, args=(subject,)) for subject in ("b", "c")]
        for each in asking:
            each.start()
        eventually(lambda: _end_of_log(bootstrap_servers, topic), lambda end: end > before)
        assert registry.stop() == 0
        for each in asking:
            each.join()
        other.abort_transaction(10)
        assert sorted(each["error_code"] for each in answers) == [50001, 50002]
        assert "Traceback" not in registry.output


def _end_of_log(bootstrap_servers: str, topic: str) -> int:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": topic, "isolation.level": "read_uncommitted"}
    )
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1])
    finally:
        consumer.close()


def test_a_server_that_cannot_read_any_more_ends(
    bootstrap_servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says why, so that whoever watches over it starts it again."""

    def fail(key: bytes | None, value: bytes | None) -> None:
        raise MemoryError("no more")

    async def story() -> None:
        config, _ = load_registry_config(
            None,
            {
                "kafkastore.bootstrap.servers": bootstrap_servers,
                "kafkastore.topic": topic,
                "schema.registry.group.id": topic,
                "listeners": "http://127.0.0.1:0",
            },
        )
        server = RegistryServer(config)
        try:
            await server.startup()
            serving = asyncio.ensure_future(server.serve())
            monkeypatch.setattr(log_reader, "decode_record", fail)
            async with httpx2.AsyncClient(base_url=server.url) as client:
                answer = await client.post("/subjects/a/versions", json={"schema": '"int"'}, timeout=30)
            assert answer.json()["error_code"] in (50001, 50002)
            with pytest.raises(ReadingEnded, match="cannot be read any more"):
                await serving
        finally:
            await server.shutdown()

    asyncio.run(story())
