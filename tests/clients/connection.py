"""A bare connection that speaks the protocol in kafka-python's words, for what no client lets one see or do.

One request, one answer; what goes into a Produce and comes out of a Fetch is the bytes of record batches.
"""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from kafka.record.default_records import DefaultRecordBatchBuilder

from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.targets import LeaderOf
from tests.clients.client import CODECS, WAIT_SECONDS, Code, Codec, eventually

ATTRIBUTES = struct.Struct(">h")
ATTRIBUTES_POSITION = 21
CODEC_MASK = 0x07
FROM_ATTRIBUTES_ON = slice(ATTRIBUTES_POSITION, None)
"""The part of a batch that the broker may not touch: all that follows base offset, length, leader epoch, magic and CRC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Produced:
    error_code: int
    base_offset: int


class Connection:
    """To the broker that leads partition 0 of the topic."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        with Cluster(client_properties(bootstrap_servers)) as cluster:
            leader = cluster.leader_of(LeaderOf(topic, 0))
            self._socket = socket.create_connection(cluster.brokers()[leader], timeout=WAIT_SECONDS)
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def produce(self, topic: str, batch: bytes, *, acks: int = -1) -> Produced:
        """Append the batch to partition 0."""
        answer = self._ask(_produce_request(topic, batch, acks), ProduceResponse, 7)
        [partition] = answer.responses[0].partition_responses
        return Produced(error_code=partition.error_code, base_offset=partition.base_offset)

    def produce_unacknowledged(self, topic: str, *batches: bytes) -> None:
        """Send the batches to partition 0 with acks=0, a request each, all at once, and read nothing."""
        self._socket.sendall(b"".join(self._frame(_produce_request(topic, each, 0), 7) for each in batches))

    def fetch(self, topic: str, offset: int) -> bytes:
        """The batches of partition 0 from the one that holds `offset` on."""
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=int(WAIT_SECONDS * 1000),
            min_bytes=1,
            max_bytes=10_000_000,
            isolation_level=0,
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic,
                    partitions=[
                        FetchRequest.FetchTopic.FetchPartition(
                            partition=0, fetch_offset=offset, partition_max_bytes=10_000_000
                        )
                    ],
                )
            ],
        )
        [partition] = self._ask(request, FetchResponse, 4).responses[0].partitions
        assert partition.error_code == 0
        return bytes(partition.records)

    def new_producer_id(self) -> tuple[int, int]:
        """A producer id and its epoch, as an idempotent producer asks for."""

        def ask() -> Any:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            return self._ask(request, InitProducerIdResponse, 0)

        answer = eventually(ask, lambda found: found.error_code != Code.COORDINATOR_LOAD_IN_PROGRESS)
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    def api_versions_correlation(self) -> tuple[int, int]:
        """Ask for the API versions; the correlation id that was sent, and that of the next answer on this connection."""
        self._send(ApiVersionsRequest(), 0)
        frame = self._receive()
        assert ApiVersionsResponse.decode(frame, version=0, header=True).error_code == 0
        return self._correlation_id, int.from_bytes(frame[:4], "big")

    def _ask(self, request: Any, response: Any, version: int) -> Any:
        self._send(request, version)
        return response.decode(self._receive(), version=version, header=True)

    def _send(self, request: Any, version: int) -> None:
        self._socket.sendall(self._frame(request, version))

    def _frame(self, request: Any, version: int) -> bytes:
        self._correlation_id += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self._correlation_id, client_id="bare")
        return bytes(request.encode(version=version, header=True, framed=True))

    def _receive(self) -> bytes:
        [length] = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            more = self._socket.recv(count - len(received))
            assert more, "the broker closed the connection"
            received += more
        return received


def batch(
    values: Sequence[bytes], *, codec: Codec = "none", producer_id: int = -1, epoch: int = -1, sequence: int = -1
) -> bytes:
    """A record batch as a producer would send it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS.index(codec),
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        batch_size=10_000_000,
    )
    for number, value in enumerate(values):
        builder.append(number, timestamp=1_700_000_000_000, key=b"key", value=value, headers=[])
    return bytes(builder.build())


def codec_of(batch_bytes: bytes) -> Codec:
    attributes: int = ATTRIBUTES.unpack_from(batch_bytes, ATTRIBUTES_POSITION)[0]
    return CODECS[attributes & CODEC_MASK]


def _produce_request(topic: str, batch_bytes: bytes, acks: int) -> Any:
    data = ProduceRequest.TopicProduceData
    return ProduceRequest(
        transactional_id=None,
        acks=acks,
        timeout_ms=int(WAIT_SECONDS * 1000),
        topic_data=[
            data(name=topic, partition_data=[data.PartitionProduceData(index=0, records=batch_bytes)]),
        ],
    )
