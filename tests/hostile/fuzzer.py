"""Sends spoiled frames to a broker over many connections at once, and finds out each time that it still answers."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from struct import Struct

from stoker.wire.messages.api_versions import ApiVersionsRequest
from stoker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.schema import Request
from tests.broker.sensible_requests import Target, sensible_requests
from tests.hostile.bystander import TOPICS as BYSTANDERS
from tests.hostile.group_members import requests_of_members
from tests.hostile.mutations import mutated, with_spoiled_field
from tests.hostile.transactional_producers import requests_of_producers
from tests.raw_connection import Address, RawConnection, request_frame

_TARGET = "fuzz"
_SPARE = "spare"
_PATIENCE_SECONDS = 0.05
"""After a frame that makes the broker wait (for the rest of it, or for records) the connection is given up."""
_PING_ID = 0x5EED_5EED
_PING = request_frame(ApiVersionsRequest(), 0, _PING_ID)
_LENGTH = Struct(">i")
_BOUNDS = ("num_partitions", "count", "validate_only")
"""Fields whose extremes are legal requests for ten thousand partitions. Tests of their own send those."""


@dataclass
class Tally:
    """What became of the frames."""

    sent: int = 0
    answered: int = 0
    closed: int = 0
    silent: int = 0


@dataclass
class Fuzzer:
    """The same seed sends the same frames. Topics that frames happened to make are removed every `tidy_every` frames."""

    address: Address
    seed: int
    connections: int = 16
    tidy_every: int = 5_000
    tally: Tally = field(default_factory=Tally)

    def run(self, frames: int) -> None:
        remaining = frames
        while remaining > 0:
            stock = self._prepare()
            count = min(self.tidy_every, remaining)
            asyncio.run(self._send_all(self._spoiled(stock, count)))
            remaining -= count

    def _prepare(self) -> list[tuple[Request, int]]:
        """Remove all topics but the bystanders', make ours anew, and make the honest requests about them."""
        with RawConnection(self.address) as connection:
            everything = connection.call(MetadataRequest(topics=None), 12).topics
            doomed = [
                DeleteTopicState(name=topic.name) for topic in everything if not topic.name.startswith(BYSTANDERS)
            ]
            connection.call(DeleteTopicsRequest(topics=doomed, timeout_ms=10_000), 6)
            wanted = CreatableTopic(name=_TARGET, num_partitions=2, replication_factor=1)
            connection.call(CreateTopicsRequest(topics=[wanted]), 7)
            described = connection.call(MetadataRequest(topics=[MetadataRequestTopic(name=_TARGET)]), 12)
            target = Target(topic=_TARGET, topic_id=described.topics[0].topic_id, spare_topic=_SPARE)
            deeper = [*requests_of_members(connection, target), *requests_of_producers(connection, target)]
        return [(request, version) for _, version, request in sensible_requests(target)] + deeper

    def _spoiled(self, stock: list[tuple[Request, int]], count: int) -> Iterator[bytes]:
        random = Random(f"{self.seed} {self.tally.sent}")
        frames = [request_frame(request, version) for request, version in stock]
        while count:
            index = random.randrange(len(stock))
            frame: bytes | None
            if random.random() < 0.3:
                frame = with_spoiled_field(*stock[index], random, keep=_BOUNDS)
            else:
                frame = mutated(frames[index], frames, random)
            if frame:
                count -= 1
                yield frame

    async def _send_all(self, frames: Iterator[bytes]) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.connections):
                group.create_task(self._send_some(frames))

    async def _send_some(self, frames: Iterator[bytes]) -> None:
        reader, writer = await asyncio.open_connection(*self.address)
        for frame in frames:
            self.tally.sent += 1
            if not await self._send(frame, reader, writer):
                writer.close()
                reader, writer = await asyncio.open_connection(*self.address)
        writer.close()

    async def _send(self, frame: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is still good for another frame."""
        try:
            writer.write(frame + _PING)
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await _read_until_ping(reader)
        except TimeoutError:
            self.tally.silent += 1
            return False
        except (ConnectionError, asyncio.IncompleteReadError):
            self.tally.closed += 1
            return False
        self.tally.answered += 1
        return True


async def _read_until_ping(reader: asyncio.StreamReader) -> None:
    while True:
        (length,) = _LENGTH.unpack(await reader.readexactly(4))
        frame = await reader.readexactly(length)
        if frame[:4] == _LENGTH.pack(_PING_ID):
            return
