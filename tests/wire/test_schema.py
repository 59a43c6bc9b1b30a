"""What declared classes offer: constructors, defaults, equality, version ranges, and a start-up that compiles nothing."""

import subprocess
import sys
from uuid import UUID

import pytest

from stoker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from stoker.wire.messages.fetch import FetchRequest, ReplicaState
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from stoker.wire.messages.sasl_handshake import SaslHandshakeRequest
from stoker.wire.schema import Versions, parse_versions
from tests.wire.examples import MESSAGES

VERSIONS = {"": (0, -1), "3": (3, 3), "3-5": (3, 5), "0+": (0, 32767), "12-13": (12, 13)}


@pytest.mark.parametrize(("text", "versions"), VERSIONS.items())
def test_version_ranges(text: str, versions: Versions) -> None:
    assert parse_versions(text) == versions


def test_what_a_class_says_of_itself() -> None:
    assert (MetadataRequest.API_KEY, MetadataRequest.MIN_VERSION, MetadataRequest.MAX_VERSION) == (3, 0, 13)
    assert [version for version in range(14) if MetadataRequest.is_flexible(version)] == [9, 10, 11, 12, 13]
    assert not SaslHandshakeRequest.is_flexible(1)


def test_defaults() -> None:
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.cluster_id, request.topics) == (-1, 0x7FFFFFFF, None, [])
    assert request.replica_state == ReplicaState(replica_id=-1, replica_epoch=-1)
    assert MetadataRequest().allow_auto_topic_creation
    assert MetadataRequestTopic().topic_id == UUID(int=0)
    assert DescribeTopicPartitionsRequest().cursor is None


def test_defaults_are_not_shared() -> None:
    one, other = FetchRequest(), FetchRequest()
    one.topics.append("topic")  # type: ignore[arg-type]
    one.replica_state.replica_id = 5
    assert (other.topics, other.replica_state.replica_id) == ([], -1)
    decoded = FetchRequest.decode(FetchRequest().encode(4), 0, 4)
    decoded.replica_state.replica_id = 5
    assert FetchRequest.decode(FetchRequest().encode(4), 0, 4).replica_state.replica_id == -1


def test_constructors_take_only_keywords_that_are_fields() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'topic'"):
        MetadataRequest(topic=[])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        MetadataRequest([])  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        MetadataRequest().topic = []  # type: ignore[attr-defined]


def test_equality_and_repr() -> None:
    topic = MetadataRequestTopic(name="orders")
    assert topic == MetadataRequestTopic(name="orders")
    assert topic != MetadataRequestTopic(name="other")
    assert MetadataRequest() != MetadataResponse()
    assert repr(topic) == f"MetadataRequestTopic(topic_id={UUID(int=0)!r}, name='orders')"
    with pytest.raises(TypeError, match="unhashable"):
        hash(topic)


def test_encoding_into_a_buffer_appends() -> None:
    out = bytearray(b"header")
    MetadataRequest(topics=[]).encode_into(out, 12)
    assert bytes(out) == b"header" + MetadataRequest(topics=[]).encode(12)


def test_importing_every_message_compiles_none() -> None:
    modules = sorted({message.__module__ for message, _version in MESSAGES})
    program = f"import sys, {', '.join(modules)}; sys.exit('stoker.wire.compiler' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
