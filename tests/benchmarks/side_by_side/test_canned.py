"""The canned requests say what they are meant to say, read by the broker's own codec."""

import struct

from side_by_side import canned
from stoker.wire.frames import decode_request_header
from stoker.wire.messages.fetch import FetchRequest
from stoker.wire.messages.produce import ProduceRequest
from stoker.wire.record_batch import crc_is_valid, iterate_records, read_header


def test_a_produce_frame_holds_one_valid_batch_for_the_partition_written_into_it() -> None:
    batch = canned.record_batch(value_size=100, about_bytes=5_000)
    frame = canned.produce("load-1", batch)
    data = bytearray(frame.data)
    struct.pack_into(">i", data, frame.partition_at, 3)
    view = memoryview(data)[4:]
    header, position = decode_request_header(view)
    request = ProduceRequest.decode(view, position, header.api_version)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (header.api_version, request.acks, topic.name, partition.index) == (9, -1, "load-1", 3)
    assert partition.records is not None
    records = memoryview(partition.records)
    assert crc_is_valid(records, 0, read_header(records, 0))
    values = [record.value for record in iterate_records(records, 1_000_000)]
    assert len(values) == batch.records
    assert sum(len(value or b"") for value in values) == batch.value_bytes


def test_a_fetch_frame_asks_for_the_partition_and_offset_written_into_it() -> None:
    frame = canned.fetch("load-1", max_bytes=1_000)
    data = bytearray(frame.data)
    struct.pack_into(">i", data, frame.partition_at, 3)
    struct.pack_into(">q", data, frame.offset_at, 77)
    view = memoryview(data)[4:]
    header, position = decode_request_header(view)
    request = FetchRequest.decode(view, position, header.api_version)
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (header.api_version, request.session_id, request.session_epoch) == (12, 0, -1)
    assert (topic.topic, partition.partition, partition.fetch_offset, partition.partition_max_bytes) == (
        *("load-1", 3),
        *(77, 1_000),
    )
