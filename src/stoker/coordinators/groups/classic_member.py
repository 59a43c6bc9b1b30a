"""One member of a classic group."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from stoker.wire.group_records import MemberMetadata


class MemberProtocol(NamedTuple):
    """A way of assigning that a member knows, and what it tells the leader in case this one is chosen."""

    name: str
    metadata: bytes


class _Protocol(Protocol):
    name: str
    metadata: bytes


def distinct_protocols(protocols: Iterable[_Protocol]) -> tuple[MemberProtocol, ...]:
    """In the same order, each name once: what is said of it first counts."""
    found: dict[str, bytes] = {}
    for protocol in protocols:
        found.setdefault(protocol.name, protocol.metadata)
    return tuple(MemberProtocol(name, metadata) for name, metadata in found.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassicMember:
    """What a group knows of a member; `protocols` in the order in which it would choose, each name once."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""

    @classmethod
    def from_record(cls, member: MemberMetadata, protocol_name: str) -> "ClassicMember":
        """Only the protocol that was chosen is written; the others come back when the member rejoins."""
        return cls(
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            # -1: written by a Kafka that did not know it yet.
            rebalance_timeout_ms=member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout,
            session_timeout_ms=member.session_timeout,
            protocols=(MemberProtocol(protocol_name, member.subscription),),
            assignment=member.assignment,
        )

    def to_record(self, protocol_name: str, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata(protocol_name),
            assignment=assignment,
        )

    def metadata(self, protocol_name: str) -> bytes:
        """What it tells the leader. It is an error to ask for a protocol that it does not speak."""
        return dict(self.protocols)[protocol_name]
