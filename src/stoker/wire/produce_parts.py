"""A Produce request as the parts that it is sent in: the record batches are not copied into it.

The schema in messages/produce.py is the specification: a property test holds this to it.
"""

from collections.abc import Mapping, Sequence
from struct import Struct as Layout

from stoker.wire.primitives import element_count
from stoker.wire.schema import Buffer

LAST_WITH_TOPIC_NAMES = 12

_ACKS_AND_TIMEOUT = Layout(">hi")
_INT16 = Layout(">h")
_INDEX = Layout(">i")
_FIRST_FLEXIBLE = 9
_NO_TAGGED_FIELDS = b"\0"


def produce_parts(
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
    topics: Mapping[str, Sequence[tuple[int, Sequence[Buffer]]]],
    version: int,
) -> list[Buffer]:
    """The body of the request in a version from 3 to 12, part by part. By topic: partitions, and the parts of their batches."""
    flexible = version >= _FIRST_FLEXIBLE
    end = _NO_TAGGED_FIELDS if flexible else b""
    small = bytearray(_string(transactional_id, flexible))
    small += _ACKS_AND_TIMEOUT.pack(acks, timeout_ms)
    small += element_count(len(topics), flexible)
    parts: list[Buffer] = []
    for name, partitions in topics.items():
        small += _string(name, flexible)
        small += element_count(len(partitions), flexible)
        for index, records in partitions:
            small += _INDEX.pack(index)
            small += element_count(sum(map(len, records)), flexible)
            parts += (small, *records)
            small = bytearray(end)
        small += end
    small += end
    parts.append(small)
    return parts


def _string(text: str | None, flexible: bool) -> bytes:
    if text is None:
        return b"\0" if flexible else _INT16.pack(-1)
    content = text.encode()
    return (element_count(len(content), True) if flexible else _INT16.pack(len(content))) + content
