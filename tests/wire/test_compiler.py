"""Every message in every version: what is encoded decodes to an equal, and what is not a message is refused as malformed."""

import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.decoder_source import MAX_ELEMENTS
from stoker.wire.messages.fetch import FetchRequest, FetchResponse, NodeEndpoint
from stoker.wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.schema import Message
from tests.wire.examples import MESSAGES, METADATA_RECORDS, MessageAndVersion, examples_of, instances, name_of

EVERY_MESSAGE = MESSAGES + METADATA_RECORDS


@pytest.mark.parametrize("message_and_version", EVERY_MESSAGE, ids=name_of)
def test_round_trip(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version

    @settings(max_examples=8)
    @given(original=instances(message, version))
    def round_trip(original: Message) -> None:
        encoded = original.encode(version)
        assert message.decode(memoryview(encoded), 0, version) == original
        assert message.decode(b"before" + encoded + b"after", 6, version) == original

    round_trip()


@pytest.mark.parametrize("message_and_version", EVERY_MESSAGE, ids=name_of)
def test_a_message_cut_short_is_malformed(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    for original in examples_of(message, version, 2):
        encoded = memoryview(original.encode(version))
        step = max(1, len(encoded) // 100)
        for length in range(0, len(encoded), step):
            with pytest.raises(MalformedMessage, match=rf"^{message.__name__} v{version}\b"):
                message.decode(encoded[:length], 0, version)


@pytest.mark.parametrize("message_and_version", EVERY_MESSAGE, ids=name_of)
def test_a_mutated_message_decodes_or_is_malformed(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    random = Random(name_of(message_and_version))
    for original in examples_of(message, version, 2):
        encoded = original.encode(version)
        for _ in range(40 if encoded else 0):
            mutated = bytearray(encoded)
            for _ in range(random.choice((1, 1, 2, 5))):
                mutated[random.randrange(len(mutated))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            decoded = decoded_or_reason(message, version, mutated)
            assert isinstance(decoded, message) or str(decoded).startswith(f"{message.__name__} v{version}")


@settings(max_examples=1000)
@given(st.sampled_from(EVERY_MESSAGE), st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_are_malformed(message_and_version: MessageAndVersion, data: bytes) -> None:
    message, version = message_and_version
    decoded = decoded_or_reason(message, version, data)
    if isinstance(decoded, Message):
        # Compared as bytes, because a float that is not a number is not equal to itself.
        again = message.decode(decoded.encode(version), 0, version)
        assert again.encode(version) == decoded.encode(version)
    else:
        assert decoded.startswith(f"{message.__name__} v{version}")


def decoded_or_reason(message: type[Message], version: int, data: bytes | bytearray) -> Message | str:
    """The message, or why it is malformed; any other exception is the failure that these tests look for."""
    try:
        return message.decode(memoryview(data), 0, version)
    except MalformedMessage as error:
        return str(error)


HOSTILE_BODIES = [
    b"\xff" * 64,
    b"\x7f" * 64,
    b"\xff\xff\xff\xff\x07" * 16,
    b"\x00\x00\x00\x00\x7f\xff\xff\xff" * 8,
    b"\x7f\xff\xff\xff" * 16,
    b"\x01" * 64,
]


@pytest.mark.parametrize("body", HOSTILE_BODIES, ids=lambda body: body[:8].hex())
def test_claimed_sizes_do_not_take_memory(body: bytes) -> None:
    for message, version in EVERY_MESSAGE:
        message.DECODERS[version]
    tracemalloc.start()
    try:
        for message, version in EVERY_MESSAGE:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            try:
                message.decode(memoryview(body), 0, version)
            except MalformedMessage:
                pass
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < 50_000, f"{message.__name__} v{version}"
    finally:
        tracemalloc.stop()


def test_the_number_of_elements_is_limited() -> None:
    element = b"\x01\x00"
    count = MAX_ELEMENTS + 1
    body = bytes((count + 1 & 127 | 128, count + 1 >> 7 & 127 | 128, count + 1 >> 14)) + element * count
    with pytest.raises(MalformedMessage, match=f"field topics.*exceed {MAX_ELEMENTS} array elements"):
        MetadataRequest.decode(memoryview(body), 0, 9)


MALFORMED = {
    "short": (MetadataRequest, 0, b"\x00\x00", "topics, near byte 0 of 2: ends too early"),
    "too many": (MetadataRequest, 0, b"\x00\x00\x00\x09\x00\x00", "topics,.* has 9 elements, 2 bytes are left"),
    "negative count": (MetadataRequest, 1, b"\xff\xff\xff\xfe", "topics,.* has length -2"),
    "null array": (MetadataRequest, 0, b"\xff\xff\xff\xff", "topics,.* is null and must not be"),
    "null compact string": (
        MetadataRequest,
        9,
        b"\x02\x00\x00\x00\x00\x00\x00",
        "topics.name,.* is null and must not be",
    ),
    "long string": (MetadataRequest, 0, b"\x00\x00\x00\x01\x00\x05abc", "topics.name,.* takes 5 bytes, 3 are left"),
    "bad UTF-8": (MetadataRequest, 0, b"\x00\x00\x00\x01\x00\x02\xc3\x28", "topics.name,.* is not UTF-8"),
    "varint of 6 bytes": (MetadataRequest, 9, b"\xff\xff\xff\xff\xff\x01", "topics,.* varint of more than 5 bytes"),
    "varint of 35 bits": (MetadataRequest, 9, b"\xff\xff\xff\xff\x7f", "topics,.* varint of more than 32 bits"),
    "tag past the end": (MetadataRequest, 9, b"\x00\x01\x00\x00\x01\x05\x09x", "tagged fields,.* end after the end"),
    "known tag of wrong size": (
        FetchRequest,
        12,
        FetchRequest().encode(12)[:-1] + b"\x01\x00\x04\x02abc",
        "cluster_id,.* is not as long as its tag says",
    ),
    "known tag past the end": (
        FetchRequest,
        12,
        FetchRequest().encode(12)[:-1] + b"\x01\x00\x09\x02a",
        "tagged fields,.* takes 9 bytes, 2 are left",
    ),
}


@pytest.mark.parametrize(("message", "version", "body", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_wrong_is_named(message: type[Message], version: int, body: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=f"{message.__name__} v{version}, field .*{reason}"):
        message.decode(memoryview(body), 0, version)


def test_a_compact_string_may_not_be_longer_than_a_plain_one() -> None:
    body = b"\x02\x81\x80\x02" + b"x" * 32768 + b"\x00\x00\x00\x00\x00"
    with pytest.raises(MalformedMessage, match="is a string of 32768 bytes, 32767 are allowed"):
        MetadataRequest.decode(memoryview(body), 0, 9)
    too_long = MetadataRequest(topics=[MetadataRequestTopic(name="x" * 32768)])
    for version in (0, 9):
        with pytest.raises(UnencodableMessage, match=r"field topics\.name: is longer than 32767 bytes"):
            too_long.encode(version)


def test_unknown_tagged_fields_are_skipped() -> None:
    known_and_unknown = b"\x03" + b"\x00\x03\x03ab" + b"\x09\x02xy" + b"\x80\x80\x04\x00"
    body = FetchRequest(max_wait_ms=7).encode(12)[:-1] + known_and_unknown
    assert FetchRequest.decode(memoryview(body), 0, 12) == FetchRequest(max_wait_ms=7, cluster_id="ab")
    many = b"\x80\x01" + b"\x07\x00" * 128
    body = MetadataRequest(topics=[]).encode(12)[:-1] + many
    assert MetadataRequest.decode(memoryview(body), 0, 12) == MetadataRequest(topics=[])


def test_records_are_views_of_the_buffer() -> None:
    partition = PartitionProduceData(index=3, records=b"batch")
    request = ProduceRequest(topic_data=[TopicProduceData(name="orders", partition_data=[partition])])
    buffer = bytearray(request.encode(9))
    decoded = ProduceRequest.decode(memoryview(buffer), 0, 9)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0:5] = b"BATCH"
    assert b"BATCH" in buffer


def test_tagged_fields_are_written_only_if_they_differ_from_their_defaults() -> None:
    plain = FetchResponse(responses=[]).encode(16)
    assert plain.endswith(b"\x01\x00")
    tagged = FetchResponse(responses=[], node_endpoints=[NodeEndpoint(node_id=1, host="h", port=2)]).encode(16)
    assert tagged == plain[:-1] + b"\x01\x00\x0d\x02" + b"\0\0\0\x01" + b"\x02h" + b"\0\0\0\x02" + b"\0" + b"\0"


def test_a_field_that_the_version_lacks() -> None:
    ignorable = FetchRequest(rack_id="a")
    assert ignorable.encode(4) == FetchRequest().encode(4)
    needed = FindCoordinatorResponse(coordinators=[Coordinator(key="group")])
    with pytest.raises(
        UnencodableMessage, match="FindCoordinatorResponse v3, field coordinators: is not in this version"
    ):
        needed.encode(3)


UNENCODABLE = {
    "number too large": (FetchRequest(max_wait_ms=2**31), "field .*format requires"),
    "null": (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), "field topics.name"),
    "wrong type": (MetadataRequest(topics=[MetadataRequestTopic(name=b"x")]), "field topics.name"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("message", "reason"), UNENCODABLE.values(), ids=UNENCODABLE)
def test_a_value_that_does_not_fit_its_field(message: Message, reason: str) -> None:
    version = 9 if isinstance(message, MetadataRequest) else 12
    with pytest.raises(UnencodableMessage, match=f"{type(message).__name__} v{version}, {reason}"):
        message.encode(version)


@pytest.mark.parametrize("version", [-1, 14])
def test_a_version_that_does_not_exist(version: int) -> None:
    with pytest.raises(UnencodableMessage, match=f"MetadataRequest has versions 0-13, not {version}"):
        MetadataRequest().encode(version)
    with pytest.raises(UnencodableMessage, match=f"MetadataRequest has versions 0-13, not {version}"):
        MetadataRequest.decode(b"", 0, version)
