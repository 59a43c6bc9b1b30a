"""What is done with each answer to a Fetch, right or wrong; the broker says what the test wants."""

from collections.abc import Callable
from uuid import UUID

import pytest

from stoker.client import range_fetcher
from stoker.client.address import Address
from stoker.client.cluster import Cluster
from stoker.client.errors import (
    CannotFetch,
    ConnectionLost,
    InvalidClientProperty,
    KafkaRefused,
    OffsetsGone,
    TopicGone,
)
from stoker.client.properties import client_properties
from stoker.client.range_fetcher import FetchSettings, Isolation, PartitionRange, RangeFetcher, fetch_settings
from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from stoker.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.record_batch import Record, build_batch, iterate_records
from tests.client.scripted_broker import Answer, Asked, ScriptedBroker, framed, scripted_broker
from tests.client.test_cluster import FakeTime, closed

ORDERS_ID, OTHER_ID = UUID(int=1), UUID(int=2)
FETCH, METADATA, LIST_OFFSETS = FetchRequest.API_KEY, MetadataRequest.API_KEY, ListOffsetsRequest.API_KEY
SETTINGS = FetchSettings(partition_bytes=1000, max_wait_ms=500, check_crcs=True)
WANTED = PartitionRange("orders", 0, 10, 20)


def offering(fetch_version: int = 17) -> Answer:
    versions = {FETCH: (4, fetch_version), METADATA: (0, 13), LIST_OFFSETS: (1, 10)}
    apis = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items()]
    return lambda asked: framed(asked, ApiVersionsResponse(api_keys=apis))


class Script:
    """Answers to Fetch in turn, all others as a single broker gives them, which is itself the leader."""

    def __init__(self, *fetches: Answer) -> None:
        self.fetches = list(fetches)
        self.address = Address("", 0)
        self.topic_ids = [ORDERS_ID]
        self.topic_error = 0
        self.local_start = 2

    def __call__(self, asked: Asked) -> bytes | None:
        if asked.header.api_key == METADATA:
            return self._metadata(asked)
        if asked.header.api_key == LIST_OFFSETS:
            return self._offsets(asked)
        return self.fetches.pop(0)(asked)

    def _metadata(self, asked: Asked) -> bytes:
        topic_id = self.topic_ids.pop(0) if len(self.topic_ids) > 1 else self.topic_ids[0]
        topic = MetadataResponseTopic(name="orders", topic_id=topic_id, error_code=self.topic_error)
        if not self.topic_error:
            topic.partitions = [MetadataResponsePartition(partition_index=0, leader_id=1)]
        broker = MetadataResponseBroker(node_id=1, host=self.address.host, port=self.address.port)
        return framed(asked, MetadataResponse(brokers=[broker], topics=[topic]))

    def _offsets(self, asked: Asked) -> bytes:
        request = ListOffsetsRequest.decode(asked.body, 0, asked.header.api_version)
        offset = {-2: 15, -1: 30, -4: self.local_start}[request.topics[0].partitions[0].timestamp]
        partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        return framed(
            asked, ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[partition])])
        )


def holding(
    records: bytes = b"", *, error: int = 0, end: int = 30, aborted: list[AbortedTransaction] | None = None
) -> Answer:
    partition = PartitionData(
        partition_index=0,
        error_code=error,
        high_watermark=end,
        last_stable_offset=end,
        log_start_offset=2,
        aborted_transactions=aborted,
        records=records,
    )

    def answer(asked: Asked) -> bytes:
        if asked.header.api_version < 16:
            older = FetchableTopicResponse(topic="orders", topic_id=ORDERS_ID, partitions=[partition])
            return framed(asked, FetchResponse(responses=[older]))
        partition.current_leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=1)
        topic = FetchableTopicResponse(topic="orders", topic_id=ORDERS_ID, partitions=[partition])
        endpoints = [NodeEndpoint(node_id=1, host="somewhere", port=9092)]
        return framed(asked, FetchResponse(responses=[topic], node_endpoints=endpoints))

    return answer


def throttled(asked: Asked) -> bytes:
    return framed(asked, FetchResponse(throttle_time_ms=100))


def batch(offset: int, count: int = 5, **settings: int) -> bytes:
    return build_batch([Record(value=b"value")] * count, base_offset=offset, **settings)  # type: ignore[arg-type]


def fetching(
    script: Script, act: Callable[[RangeFetcher], object], *, version: int = 17, time: FakeTime | None = None
) -> ScriptedBroker:
    time = time or FakeTime()
    with scripted_broker(offering(version), *[script] * 2000) as broker:
        script.address = broker.address
        properties = client_properties(str(broker.address))
        with Cluster(properties, clock=time.clock, sleep=time.sleep) as cluster:
            act(RangeFetcher(cluster, WANTED, Isolation.READ_COMMITTED, SETTINGS))
    return broker


def asked_for(broker: ScriptedBroker) -> list[int]:
    return [each.header.api_key for each in broker.asked]


@pytest.mark.parametrize("version", [4, 7, 11, 12, 13, 16, 17])
def test_an_answer_in_every_version(version: int) -> None:
    """The records stay where they were received, with padding behind them."""
    aborted = [AbortedTransaction(producer_id=9, first_offset=14), AbortedTransaction(producer_id=8, first_offset=11)]

    def act(fetcher: RangeFetcher) -> None:
        fetched = fetcher.next()
        assert fetched is not None
        assert [int(offset) for offset in fetched.batches.column("base_offset")] == [8, 13]
        assert [each.first_offset for each in fetched.aborted] == [11, 14]
        assert (fetched.high_watermark, fetched.last_stable_offset) == (30, 30)
        assert len(fetched.batches.data) >= fetched.batches.end + 16
        records = iterate_records(fetched.batches.data[fetched.batches.positions[1] :], 1000)
        assert [each.offset for each in records] == [13, 14, 15, 16, 17]
        assert fetcher.position == 18
        assert not fetcher.is_done

    broker = fetching(Script(holding(batch(8) + batch(13), aborted=aborted)), act, version=version)
    assert asked_for(broker) == [METADATA, FETCH]
    request = FetchRequest.decode(broker.asked[1].body, 0, version)
    [topic] = request.topics
    assert (topic.topic_id if version >= 13 else topic.topic) == (ORDERS_ID if version >= 13 else "orders")
    assert topic.partitions[0].fetch_offset == 10
    assert request.isolation_level == 1


def test_a_batch_that_is_cut_off_is_left_for_the_next_answer() -> None:
    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        assert fetcher.position == 15
        assert fetcher.next() is not None
        assert fetcher.is_done

    fetching(Script(holding(batch(10) + batch(15)[:-3]), holding(batch(15))), act)


def test_what_is_held_is_never_written_over() -> None:
    def act(fetcher: RangeFetcher) -> None:
        held = [fetched for fetched in (fetcher.next() for _ in range(5)) if fetched is not None]
        assert [int(each.batches.last_offsets[-1]) for each in held] == [10, 11, 12, 13, 14]
        assert [next(iterate_records(each.batches.data, 100)).offset for each in held] == [10, 11, 12, 13, 14]
        held.clear()
        before = {id(buffer) for buffer in fetcher._buffers}
        for _ in range(4):
            assert fetcher.next() is not None
        assert {id(buffer) for buffer in fetcher._buffers} <= before, "free buffers are used again"

    fetching(Script(*[holding(batch(offset, 1)) for offset in range(10, 20)]), act)


@pytest.mark.parametrize(
    "trouble",
    [
        closed,
        throttled,
        holding(end=9),
        *[
            holding(error=error)
            for error in (
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.UNKNOWN_LEADER_EPOCH,
                ErrorCode.FENCED_LEADER_EPOCH,
                ErrorCode.OFFSET_NOT_AVAILABLE,
                ErrorCode.REPLICA_NOT_AVAILABLE,
                ErrorCode.KAFKA_STORAGE_ERROR,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode.UNKNOWN_TOPIC_ID,
            )
        ],
    ],
)
def test_what_may_pass_is_tried_again_of_whoever_leads_then(trouble: Answer) -> None:
    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        assert fetcher.position == 15

    broker = fetching(Script(trouble, trouble, holding(batch(10))), act)
    assert asked_for(broker) == [METADATA, FETCH] * 3


@pytest.mark.parametrize(
    ("trouble", "failure", "message"),
    [
        (closed, ConnectionLost, "the broker closed it"),
        (throttled, CannotFetch, "no answer about orders-0 from 10 up to before 20"),
        (holding(end=12), OffsetsGone, "from 2 up to before 12: the records from 10 on"),
        (holding(error=ErrorCode.NOT_LEADER_OR_FOLLOWER), KafkaRefused, "NOT_LEADER_OR_FOLLOWER"),
    ],
)
def test_but_not_for_ever(trouble: Answer, failure: type[Exception], message: str) -> None:
    time = FakeTime()

    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(failure, match=message):
            fetcher.next()

    fetching(Script(*[trouble] * 1000), act, time=time)
    assert 58 <= time.now <= 61


def test_offsets_that_are_gone_are_named_with_those_that_are_there() -> None:
    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(OffsetsGone, match="from 15 up to before 30: the records from 10 on were deleted") as gone:
            fetcher.next()
        assert (gone.value.log_start_offset, gone.value.end_offset) == (15, 30)

    fetching(Script(holding(error=ErrorCode.OFFSET_OUT_OF_RANGE)), act)


def test_offsets_that_only_a_former_leader_does_not_have_are_not_gone() -> None:
    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        assert fetcher.next() is not None
        assert fetcher.is_done

    fetching(Script(holding(batch(10)), holding(error=ErrorCode.OFFSET_OUT_OF_RANGE), holding(batch(15))), act)


def test_a_topic_that_stays_away_is_gone_after_seconds() -> None:
    time = FakeTime()
    script = Script(*[holding(error=ErrorCode.UNKNOWN_TOPIC_ID)] * 100)
    script.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(TopicGone, match="no partition 0 of topic 'orders'"):
            fetcher.next()

    fetching(script, act, time=time)
    assert 5 <= time.now <= 8


def test_a_topic_that_was_created_anew_is_not_the_one_that_was_read() -> None:
    script = Script(holding(batch(10)), holding(error=ErrorCode.UNKNOWN_TOPIC_ID), holding(batch(15)))
    script.topic_ids = [ORDERS_ID, OTHER_ID]

    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        with pytest.raises(TopicGone, match=r"deleted and created anew.* the records from 15 on are gone"):
            fetcher.next()

    fetching(script, act)


def test_a_tail_that_was_compacted_away_is_no_reason_to_wait() -> None:
    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        assert fetcher.next() is None
        assert fetcher.is_done

    fetching(Script(holding(batch(10)), holding(), holding()), act)


def test_what_a_broker_waits_for_itself_is_not_taken_to_be_compacted_away() -> None:
    """It answers with nothing while it gets old records from a remote storage."""
    script = Script(*[holding()] * 4, holding(batch(10)))
    script.local_start = 25

    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None
        assert fetcher.position == 15

    fetching(script, act)


def test_records_that_a_broker_does_not_get_in_time_are_not_lost() -> None:
    script = Script(*[holding()] * 1000)
    script.local_start = 25

    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(CannotFetch, match="sends nothing from 10 on") as raised:
            fetcher.next()
        assert not isinstance(raised.value, OffsetsGone)

    fetching(script, act)


OLD_MAGIC = bytearray(batch(10))
OLD_MAGIC[16] = 1
WRONG_CHECKSUM = bytearray(batch(10))
WRONG_CHECKSUM[-1] ^= 1


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (bytes(OLD_MAGIC), "orders-0 at 10: a batch with magic 1"),
        (bytes(WRONG_CHECKSUM), "orders-0 at 10: the batch at offset 10 does not have the checksum"),
        (bytes(100), "no record batch"),
        (batch(10)[:-1], "do not hold it"),
        (batch(3), "do not hold it"),
    ],
)
def test_what_cannot_be_is_refused(records: bytes, message: str) -> None:
    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(CorruptRecords, match=message):
            fetcher.next()

    fetching(Script(holding(records)), act)


def test_a_request_that_is_refused_for_good_is_not_repeated() -> None:
    def act(fetcher: RangeFetcher) -> None:
        with pytest.raises(KafkaRefused, match="TOPIC_AUTHORIZATION_FAILED"):
            fetcher.next()

    broker = fetching(Script(holding(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)), act)
    assert asked_for(broker) == [METADATA, FETCH]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, FetchSettings(4 * 1024 * 1024, 500, True)),
        ({"check.crcs": "FALSE"}, FetchSettings(4 * 1024 * 1024, 500, False)),
        ({"max.partition.fetch.bytes": "100", "fetch.max.wait.ms": "7"}, FetchSettings(100, 7, True)),
    ],
)
def test_settings(given: dict[str, str], wanted: FetchSettings) -> None:
    assert fetch_settings(client_properties("localhost", given)) == wanted


@pytest.mark.parametrize(
    ("name", "value"), [("check.crcs", "yes"), ("max.partition.fetch.bytes", "-1"), ("fetch.max.wait.ms", "soon")]
)
def test_settings_that_cannot_be(name: str, value: str) -> None:
    with pytest.raises(InvalidClientProperty, match=f"{name}={value}"):
        fetch_settings(client_properties("localhost", {name: value}))


def test_a_checksum_may_be_left_unchecked() -> None:
    with scripted_broker(offering(), *[Script(holding(bytes(WRONG_CHECKSUM)))] * 9) as broker:
        script = broker._script[0]
        assert isinstance(script, Script)
        script.address = broker.address
        with Cluster(client_properties(str(broker.address))) as cluster:
            settings = SETTINGS._replace(check_crcs=False)
            assert RangeFetcher(cluster, WANTED, Isolation.READ_COMMITTED, settings).next() is not None


def test_codecs_are_not_looked_at() -> None:
    def act(fetcher: RangeFetcher) -> None:
        assert fetcher.next() is not None

    fetching(Script(holding(batch(10, codec=Codec.ZSTD))), act)


def test_of_a_short_range_not_much_more_is_asked_for_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as it is known how large the records of the topic are; a worker reads many short ranges of a long topic."""
    monkeypatch.setattr(range_fetcher, "_typical_bytes", {})

    def act(fetcher: RangeFetcher) -> None:
        fetcher._settings = SETTINGS._replace(partition_bytes=10_000_000)
        assert fetcher.next() is not None
        assert fetcher.next() is not None

    large = build_batch([Record(value=bytes(100_000))], base_offset=10)
    broker = fetching(Script(holding(large), holding(batch(11))), act)
    asked = [FetchRequest.decode(each.body, 0, 17).topics[0].partitions[0] for each in broker.asked[1:]]
    assert asked[0].partition_max_bytes == 10_000_000
    assert 9 * 100_000 < asked[1].partition_max_bytes < 1_500_000
