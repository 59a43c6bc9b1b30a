"""What is told of a group's lag."""

import pytest

from stoker.cli.group_description import GroupDescription, PartitionProgress
from stoker.client.admin.groups import CLASSIC, EMPTY, Group
from stoker.client.topic_partition import TopicPartition


@pytest.mark.parametrize(
    ("progress", "lag", "words"),
    [
        ([], None, "nothing committed"),
        ([(None, 10)], None, "nothing committed"),
        ([(4, 10)], 6, "lag 6"),
        ([(10, 10)], 0, "lag 0"),
        ([(12, 10)], 0, "lag 0"),
        ([(4, 10), (None, 10)], 6, "lag 6, nothing committed in 1 of 2 partitions"),
        ([(4, None)], None, "lag unknown, no end known of 1 of 1 partition"),
        (
            [(4, None), (None, None), (4, 10)],
            6,
            "lag 6, nothing committed in 1 of 3 partitions, no end known of 1 of 3 partitions",
        ),
    ],
)
def test_the_lag_is_of_what_is_known(
    progress: list[tuple[int | None, int | None]], lag: int | None, words: str
) -> None:
    """Where it is known of no partition, it is not known: 0 would say that all is read."""
    group = Group(
        group_id="billing", type=CLASSIC, state=EMPTY, protocol_type="consumer", assignor="", coordinator=1, members=()
    )
    description = GroupDescription(
        group=group,
        partitions=tuple(
            PartitionProgress(partition=TopicPartition("orders", index), committed=committed, log_end=end, member=None)
            for index, (committed, end) in enumerate(progress)
        ),
    )
    assert description.as_json()["lag"] == lag
    assert description.summary == f"Group 'billing' (Classic) is Empty: no members, {words}."
