"""The lists of kafka-consumer-groups.sh."""

from collections.abc import Sequence
from typing import Final

from stoker.client.admin.groups import CLASSIC, CONSUMER, CONSUMER_PROTOCOL_TYPE, ListedGroup, list_groups
from stoker.client.cluster import Cluster
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError

_TYPES: Final = (CLASSIC, CONSUMER)
_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
_GROUP_WIDTH: Final = 15


def consumer_groups(cluster: Cluster, *, types: Sequence[str] = (), states: Sequence[str] = ()) -> list[ListedGroup]:
    """Groups of consumers: of both protocols, and classic ones that only commit. Raises ClientError."""
    found = list_groups(cluster, types=types or _TYPES, states=states)
    return [group for group in found if group.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)]


def parse_states(text: str) -> list[str]:
    return _parsed(text, _STATES, "Invalid state list '{}'. Valid states are: {}")


def parse_types(text: str) -> list[str]:
    return _parsed(text, _TYPES, "Invalid types list '{}'. Valid types are: {}")


def _parsed(text: str, known: Sequence[str], complaint: str) -> list[str]:
    if not text:
        return []
    by_name = {name.lower(): name for name in known}
    try:
        return [by_name[part.strip().lower()] for part in text.split(",")]
    except KeyError:
        raise JavaError(ILLEGAL_ARGUMENT, complaint.format(text, ", ".join(known))) from None


def print_groups(groups: Sequence[ListedGroup], *, with_type: bool, with_state: bool) -> None:
    width = max((len(group.group_id) for group in groups), default=0)
    width = max(width, _GROUP_WIDTH) + 10
    rows = [("GROUP", "TYPE", "STATE"), *((group.group_id, group.type, group.state) for group in groups)]
    for group_id, type_, state in rows:
        line = f"{group_id:<{width}}"
        if with_type:
            line += f" {type_:<20}"
        if with_state:
            line += f" {state:<20}"
        print(line)
