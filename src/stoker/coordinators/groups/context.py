"""What the parts of the group coordinator share."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from stoker.coordinators.groups.group import Group
from stoker.coordinators.groups.timers import Timers
from stoker.wire.uuids import uuid_text


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientInfo:
    """Who sent a request. `host` as Kafka shows it, "/127.0.0.1"."""

    client_id: str
    host: str


class Topics(Protocol):
    """The topics of the cluster as they are now."""

    @property
    def version(self) -> int:
        """Another number whenever a topic was made, grown or deleted."""

    def topic_id(self, name: str) -> UUID | None: ...

    def topic_name(self, topic_id: UUID) -> str | None: ...

    def partition_count(self, name: str) -> int | None: ...

    def names(self) -> Collection[str]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerGroupSettings:
    """What a KIP-848 group may set for itself (kafka-configs.sh --entity-type groups), else the broker's."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


def _no_overrides(group_id: str) -> ConsumerGroupSettings:
    return ConsumerGroupSettings()


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSettings:
    """The broker's settings of groups, with Kafka's defaults."""

    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """Those that are offered; the first is the default."""
    consumer_migration_policy: str = "bidirectional"
    """disabled, upgrade, downgrade or bidirectional."""
    consumer_regex_refresh_interval_ms: int = 600_000
    consumer_group: Callable[[str], ConsumerGroupSettings] = _no_overrides
    """The settings of the group with this id."""
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000


@dataclass(kw_only=True, slots=True)
class GroupContext:
    """Shared by all parts of one coordinator. `settings` is read anew by each request: the broker may replace it."""

    settings: GroupSettings
    topics: Topics
    wall_clock: Callable[[], int]
    """Milliseconds since 1970, for what is written."""
    timer_clock: Callable[[], int]
    """Milliseconds that never jump, for deadlines."""
    new_uuid: Callable[[], UUID]
    groups: dict[str, Group] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)
    loading: bool = False
    """While the log is replayed at start: no timers are set, `loaded` of each protocol sets them afterwards."""

    def new_member_id(self) -> str:
        """A name for somebody who came without one, as Kafka writes UUIDs."""
        return uuid_text(self.new_uuid())
