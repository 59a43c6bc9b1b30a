"""Instances on one topic: what is written is read, by all of them, and only one writes at a time."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Producer

from stoker.client.admin.topics import create_topic, delete_topics
from stoker.client.admin.transactions import list_transactions
from stoker.client.cluster import Cluster
from stoker.client.errors import CannotConnect
from stoker.client.properties import client_properties
from stoker.registry import log_reader
from stoker.registry.election import Identity, Result, Standing
from stoker.registry.entities import SchemaEntity
from stoker.registry.errors import Unavailable, Unprocessable
from stoker.registry.instance import Instance, InstanceOptions, ReadingEnded
from stoker.registry.registry import Change, Registration, Registry
from stoker.registry.service import NotPrimary
from tests.faults.broker_process import BrokerProcess, free_port

T = TypeVar("T")


@pytest.fixture
def topic() -> str:
    return f"_schemas-{uuid.uuid4().hex[:8]}"


@asynccontextmanager
async def instance(
    bootstrap_servers: str, topic: str, *, port: int = 8081, **options: float
) -> AsyncIterator[Instance]:
    started = Instance(
        InstanceOptions(
            properties=client_properties(bootstrap_servers),
            identity=Identity(host="127.0.0.1", port=port),
            topic=topic,
            group_id=topic,
            session_timeout_ms=1500,
            **options,  # type: ignore[arg-type]
        )
    )
    try:
        await started.startup()
        yield started
    finally:
        await started.shutdown()


def avro(name: str, size: int = 0) -> SchemaEntity:
    told = {"type": "record", "name": name, "fields": [], **({"doc": "x" * size} if size else {})}
    return SchemaEntity(schema_type="AVRO", text=json.dumps(told))


def register(subject: str, schema: SchemaEntity) -> Callable[[Registry], Change[int]]:
    def decide(registry: Registry) -> Change[int]:
        records, version = registry.register(subject, Registration(schema))
        return Change(records, version.schema_id)

    return decide


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - it is told to nobody
            await asyncio.sleep(0.01)


def test_what_was_written_is_there_after_a_restart(bootstrap_servers: str, topic: str) -> None:
    async def story() -> None:
        async with instance(bootstrap_servers, topic) as first:
            assert await first.change(register("a", avro("A"))) == 1
            assert await first.change(register("b", avro("B"))) == 2
            assert await first.change(register("b", avro("B"))) == 2
        async with instance(bootstrap_servers, topic) as second:
            assert sorted(second.registry.state.subjects) == ["a", "b"]
            assert await second.change(register("c", avro("C"))) == 3

    asyncio.run(story())


def test_a_follower_reads_and_does_not_write(bootstrap_servers: str, topic: str) -> None:
    """It learns what the primary writes, and says who that is; it takes over when the primary goes."""

    async def story() -> None:
        async with instance(bootstrap_servers, topic, port=2) as follower_to_be:
            async with instance(bootstrap_servers, topic, port=1) as other:
                await until(lambda: other.primary_url is not None)
                assert other.primary_url == "http://127.0.0.1:2"
                assert follower_to_be.primary_url is None
                await follower_to_be.change(register("a", avro("A")))
                await other.reach(follower_to_be.position)
                assert "a" in other.registry.state.subjects
                with pytest.raises(NotPrimary) as refused:
                    await other.change(register("b", avro("B")))
                assert refused.value.url == "http://127.0.0.1:2"
        async with instance(bootstrap_servers, topic, port=3) as successor:
            assert await successor.change(register("b", avro("B"))) == 2

    asyncio.run(story())


def test_two_that_take_themselves_for_the_primary_never_give_one_id_twice(bootstrap_servers: str, topic: str) -> None:
    """The log lets one of them write at a time: each decides on all that the other wrote."""

    async def story() -> None:
        async with instance(bootstrap_servers, topic, port=1) as one, instance(bootstrap_servers, topic, port=2) as two:
            await until(lambda: two.primary_url is not None)

            async def write(writer: Instance, name: str) -> list[int]:
                given = []
                for number in range(15):
                    writer._result = Result(Standing.PRIMARY)  # whatever the election has said
                    try:
                        schema = avro(f"{name}{number}")
                        given.append(await writer.change(register(f"{name}-{number}", schema)))
                    except NotPrimary:
                        continue
                    # So that they take turns, and meet: who writes on and on keeps the other out.
                    await asyncio.sleep(0.02)
                return given

            given = await asyncio.gather(write(one, "one"), write(two, "two"))
            ids = [schema_id for each in given for schema_id in each]
            assert given[0]
            assert given[1]
            assert len(set(ids)) == len(ids)
            await until(lambda: one._replayed_offset == two._replayed_offset)
            assert one.registry.state.contexts["."].schemas.keys() == set(ids)
            assert two.registry.state.contexts["."].schemas.keys() == set(ids)

    asyncio.run(story())


def test_odd_records_stop_nobody(bootstrap_servers: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with instance(bootstrap_servers, topic) as first:
            await first.change(register("a", avro("A")))
        producer = Producer({"bootstrap.servers": bootstrap_servers})
        odd: list[tuple[bytes, bytes | None]] = [
            (b"junk", b"{}"),
            (b'{"keytype":"FUTURE","magic":9}', b"{}"),
            (b'{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}', b"not JSON"),
            (b'{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}', b'{"subject":"b"}'),
            (b'{"keytype":"SCHEMA","subject":"nobody","version":7,"magic":1}', None),
            (b"[" * 5000, b"["),
        ]
        for key, value in odd:
            producer.produce(topic, key=key, value=value)
        producer.flush(10)
        async with instance(bootstrap_servers, topic) as second:
            assert list(second.registry.state.subjects) == ["a"]
            assert await second.change(register("b", avro("B"))) == 2

    with caplog.at_level("WARNING", "stoker.registry"):
        asyncio.run(story())
    assert "is left out" in caplog.text


def test_a_schema_that_the_topic_does_not_take(bootstrap_servers: str, topic: str) -> None:
    """Confluent's code for it; the next write is done."""

    async def story() -> None:
        async with instance(bootstrap_servers, topic) as only:
            with pytest.raises(Unprocessable, match="schema is too large") as refused:
                await only.change(register("a", avro("A", size=1_100_000)))
            assert refused.value.code == 42209
            assert await only.change(register("b", avro("B"))) == 1

    asyncio.run(story())


def test_a_broker_that_comes_back(tmp_path: Path) -> None:
    """Questions are answered all the while; a change waits, and is done."""

    async def story() -> None:
        with BrokerProcess(tmp_path, options={"group.min.session.timeout.ms": 1000}) as broker:
            async with instance(broker.bootstrap_servers, "_schemas") as only:
                await only.change(register("a", avro("A")))
                await asyncio.to_thread(broker.kill)
                change = asyncio.ensure_future(only.change(register("b", avro("B"))))
                assert only.registry.version("a", 1).schema_id == 1
                await asyncio.to_thread(broker.start)
                assert await change == 2

    asyncio.run(story())


def test_a_week_without_a_write(tmp_path: Path) -> None:
    """Brokers forget a transactional id that is not used (transactional.id.expiration.ms); the next write takes it anew."""
    options = {
        "transactional.id.expiration.ms": 500,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 100,
    }

    async def story() -> None:
        with BrokerProcess(tmp_path, options=options) as broker:

            def is_forgotten() -> bool:
                with Cluster(client_properties(broker.bootstrap_servers)) as cluster:
                    return not list_transactions(cluster)

            async with instance(broker.bootstrap_servers, "_schemas") as only:
                await only.change(register("a", avro("A")))
                async with asyncio.timeout(20):
                    while not await asyncio.to_thread(is_forgotten):
                        pass
                assert await only.change(register("b", avro("B"))) == 2

    asyncio.run(story())


def test_the_cluster_may_start_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        broker = BrokerProcess(tmp_path)
        with caplog.at_level("WARNING", "stoker.registry"):
            only = Instance(
                InstanceOptions(
                    properties=client_properties(broker.bootstrap_servers), identity=Identity(host="127.0.0.1", port=1)
                )
            )
            starting = asyncio.ensure_future(only.startup())
            await until(lambda: "waiting for the cluster" in caplog.text)
            with broker:
                await starting
                assert await only.change(register("a", avro("A"))) == 1
                await only.shutdown()

    asyncio.run(story())


def test_a_cluster_that_never_comes_is_named(topic: str) -> None:
    address = f"127.0.0.1:{free_port()}"

    async def story() -> None:
        async with instance(address, topic, start_timeout=0.0):
            pass

    with pytest.raises(CannotConnect, match=address):
        asyncio.run(story())


def test_a_stop_does_not_wait_for_a_broker_that_is_gone(tmp_path: Path) -> None:
    """Neither the change in hand nor the turn as the writer that was about to begin is waited for."""

    async def story() -> float:
        with BrokerProcess(tmp_path, options={"group.min.session.timeout.ms": 1000}) as broker:
            only = Instance(
                InstanceOptions(
                    properties=client_properties(broker.bootstrap_servers), identity=Identity(host="127.0.0.1", port=1)
                )
            )
            await only.startup()
            await asyncio.to_thread(broker.kill)
            change = asyncio.ensure_future(only.change(register("a", avro("A"))))
            await until(only._writing.locked)
            began = asyncio.get_running_loop().time()
            await only.shutdown()
            with pytest.raises(Unavailable):
                await change
            return asyncio.get_running_loop().time() - began

    assert asyncio.run(story()) < InstanceOptions.write_timeout / 2


def test_a_topic_that_was_deleted_is_not_written_to(
    bootstrap_servers: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What was read is all that is left of the schemas: it is answered on, and no new log is begun over it."""

    def begin_anew() -> None:
        with Cluster(client_properties(bootstrap_servers)) as cluster:
            delete_topics(cluster, [topic])
            create_topic(cluster, topic, partitions=1, replication_factor=1)

    async def story() -> None:
        async with instance(bootstrap_servers, topic) as only:
            await only.change(register("a", avro("A")))
            await asyncio.to_thread(begin_anew)
            for name in "BC":
                with pytest.raises(Unavailable, match=f"the topic {topic} was deleted or cut"):
                    await only.change(register("b", avro(name)))
            assert list(only.registry.state.subjects) == ["a"]
            assert not only.is_primary_known
        async with instance(bootstrap_servers, topic) as restarted:
            assert "a" not in restarted.registry.state.subjects

    asyncio.run(story())
    assert "stoker schemas export" in caplog.text


def test_a_topic_that_is_gone_is_not_made_by_a_write(bootstrap_servers: str, topic: str) -> None:
    """It would be made without compaction, and lose the schemas again."""

    async def story() -> None:
        async with instance(bootstrap_servers, topic, write_timeout=1.0) as only:
            await only.change(register("a", avro("A")))

            def delete() -> None:
                with Cluster(client_properties(bootstrap_servers)) as cluster:
                    delete_topics(cluster, [topic])

            def is_there() -> bool:
                with Cluster(client_properties(bootstrap_servers)) as cluster:
                    return any(each.name == topic for each in cluster.metadata().topics)

            await asyncio.to_thread(delete)
            with pytest.raises(Unavailable):
                await only.change(register("b", avro("B")))
            assert not await asyncio.to_thread(is_there)

    asyncio.run(story())


def test_a_reader_that_ends_ends_the_instance(
    bootstrap_servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is answered would grow old without a word, and every write time out."""

    def fail(key: bytes | None, value: bytes | None) -> None:
        raise MemoryError("no more")

    async def story() -> None:
        ended = asyncio.Event()
        only = Instance(
            InstanceOptions(
                properties=client_properties(bootstrap_servers),
                identity=Identity(host="127.0.0.1", port=1),
                topic=topic,
                group_id=topic,
                session_timeout_ms=1500,
            ),
            on_failure=ended.set,
        )
        await only.startup()
        await only.change(register("a", avro("A")))
        monkeypatch.setattr(log_reader, "decode_record", fail)
        change = asyncio.ensure_future(only.change(register("b", avro("B"))))
        async with asyncio.timeout(10):
            await ended.wait()
        assert only.failure is not None
        await only.shutdown()
        with pytest.raises(Unavailable):
            await change
        with pytest.raises(ReadingEnded, match=f"the topic {topic} cannot be read any more: MemoryError"):
            async with instance(bootstrap_servers, topic):
                pass

    asyncio.run(story())


def test_a_stop_waits_for_no_election(bootstrap_servers: str, topic: str) -> None:
    """Nor do the changes that wait one after the other for it."""

    async def story() -> float:
        only = Instance(
            InstanceOptions(
                properties=client_properties(bootstrap_servers),
                identity=Identity(host="127.0.0.1", port=1, is_eligible=False),
                topic=topic,
                group_id=topic,
                session_timeout_ms=1500,
            )
        )
        await only.startup()
        changes = [asyncio.ensure_future(only.change(register(name, avro(name)))) for name in "abc"]
        await until(only._writing.locked)
        began = asyncio.get_running_loop().time()
        await only.shutdown()
        outcomes = await asyncio.gather(*changes, return_exceptions=True)
        assert [type(each) for each in outcomes] == [Unavailable] * 3
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(story()) < InstanceOptions.write_timeout / 2


def test_who_waits_for_others_waits_as_long_as_for_the_log(tmp_path: Path) -> None:
    """When the cluster does not answer, a hundred changes do not wait a hundred times as long."""

    async def story() -> None:
        with BrokerProcess(tmp_path, options={"group.min.session.timeout.ms": 1000}) as broker:
            async with instance(broker.bootstrap_servers, "_schemas", write_timeout=2.0) as only:
                await only.change(register("a", avro("A")))
                await asyncio.to_thread(broker.kill)
                began = asyncio.get_running_loop().time()
                changes = [only.change(register(str(number), avro(f"A{number}"))) for number in range(8)]
                outcomes = await asyncio.gather(*changes, return_exceptions=True)
                assert {type(each) for each in outcomes} == {Unavailable}
                assert asyncio.get_running_loop().time() - began < 8 * 2.0

    asyncio.run(story())
