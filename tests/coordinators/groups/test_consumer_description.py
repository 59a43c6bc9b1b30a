"""ConsumerGroupDescribe."""

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from tests.coordinators.groups.consumer_driver import GROUP, ConsumerDriver, FakeMember, settle
from tests.coordinators.groups.driver import Topics


def test_a_group_is_described_with_what_its_members_have_and_are_to_have() -> None:
    broker = ConsumerDriver(Topics(orders=2))
    a = FakeMember(broker, "a", ["orders"], regex="none.*", instance_id="one", server_assignor="range")
    b = FakeMember(broker, "b", ["orders"])
    settle(a)
    b.join()
    a.beat(at_once=False)

    def of_orders(*partitions: int) -> Assignment:
        topic = TopicPartitions(topic_id=broker.topic_id("orders"), topic_name="orders", partitions=list(partitions))
        return Assignment(topic_partitions=[topic] if partitions else [])

    described = broker.coordinator.consumer.describe(GROUP)
    assert described == DescribedGroup(
        group_id=GROUP,
        group_state="Reconciling",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="range",
        members=[
            Member(
                member_id="a",
                instance_id="one",
                member_epoch=2,
                client_id="client",
                client_host="/127.0.0.1",
                subscribed_topic_names=["orders"],
                subscribed_topic_regex="none.*",
                assignment=of_orders(0, 1),
                target_assignment=of_orders(0),
                member_type=1,
            ),
            Member(
                member_id="b",
                member_epoch=3,
                client_id="client",
                client_host="/127.0.0.1",
                subscribed_topic_names=["orders"],
                subscribed_topic_regex="",
                assignment=of_orders(),
                target_assignment=of_orders(1),
                member_type=1,
            ),
        ],
    )


def test_a_topic_that_was_deleted_is_left_out() -> None:
    broker = ConsumerDriver(Topics(orders=2, payments=1))
    FakeMember(broker, "a", ["orders", "payments"]).join()
    broker.topics.set("payments", None)
    (member,) = broker.coordinator.consumer.describe(GROUP).members
    assert [topic.topic_name for topic in member.assignment.topic_partitions] == ["orders"]


def test_a_group_that_is_not_there_or_of_the_other_protocol_is_not_found() -> None:
    broker = ConsumerDriver(Topics(orders=2))
    assert broker.coordinator.consumer.describe(GROUP).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    broker.coordinator.classic.get_or_create_empty(GROUP)
    described = broker.coordinator.consumer.describe(GROUP)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described.error_message is not None
    assert "not a consumer group" in described.error_message
