"""`stoker decommission` on brokers that move replicas as the test says; tests/kafka_tools has a real cluster."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stoker.client.admin.configs import Operation, ResourceType
from stoker.client.admin.replication_throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from stoker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from stoker.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from stoker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    ReplicaState,
)
from stoker.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from stoker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.schema import Response
from tests.cli.command_line import CommandLine
from tests.client.scripted_broker import Asked, ScriptedBroker, framed, offering, scripted_broker

ORDERS, EVENTS, OTHER = TopicPartition("orders", 0), TopicPartition("events", 0), TopicPartition("other", 0)
STANDING_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATE = "50000"
AGAIN = "Run `stoker decommission 4` again to go on watching: at the end it takes the throttle off."
MAY_STOP = "Broker 4 holds no replicas: it may be stopped."
OFF = "The replication throttle is off."

APIS = (
    MetadataRequest,
    ListPartitionReassignmentsRequest,
    AlterPartitionReassignmentsRequest,
    IncrementalAlterConfigsRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
)


class MovingCluster:
    """Brokers 1 to 4, all at one address; the first three are controllers. A move takes until `arrive` is called."""

    def __init__(self) -> None:
        self.replicas: dict[TopicPartition, tuple[int, ...]] = {}
        self.targets: dict[TopicPartition, tuple[int, ...]] = {}
        """Of the moves under way."""
        self.begun: list[dict[TopicPartition, tuple[int, ...]]] = []
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.refused: dict[TopicPartition, ErrorCode] = {}
        self.refuses_all = False
        self.is_lost = False
        self.live = [1, 2, 3, 4]
        self.broker: ScriptedBroker

    def move(self, partition: TopicPartition, *target: int) -> None:
        """Metadata shows the target first, and behind it what will go."""
        self.targets[partition] = target
        self.replicas[partition] = tuple(dict.fromkeys((*target, *self.replicas[partition])))

    def arrive(self) -> None:
        self.replicas |= self.targets
        self.targets = {}

    def throttled(self) -> set[tuple[str, str]]:
        """Which configs of a throttle are set, and of what."""
        return {(name, config) for (_, name), configs in self.configs.items() for config in configs}

    def __call__(self, asked: Asked) -> bytes | None:
        if self.is_lost:
            return None
        (request,) = [each for each in APIS if asked.header.api_key == each.API_KEY]
        decoded = request.decode(asked.body, 0, asked.header.api_version)
        if isinstance(decoded, MetadataRequest):
            answer: Response = self._metadata(decoded)
        elif isinstance(decoded, ListPartitionReassignmentsRequest):
            answer = self._moving()
        elif isinstance(decoded, AlterPartitionReassignmentsRequest):
            answer = self._begin(decoded)
        elif isinstance(decoded, IncrementalAlterConfigsRequest):
            answer = self._configure(decoded)
        elif isinstance(decoded, DescribeConfigsRequest):
            answer = self._configured(decoded)
        elif isinstance(decoded, DescribeQuorumRequest):
            answer = self._quorum()
        else:
            answer = DescribeLogDirsResponse()
        return framed(asked, answer)

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        host, port = self.broker.address
        brokers = [MetadataResponseBroker(node_id=each, host=host, port=port) for each in self.live]
        topics = [
            MetadataResponseTopic(
                name=topic,
                partitions=[
                    MetadataResponsePartition(
                        partition_index=index,
                        leader_id=1,
                        replica_nodes=list(self.replicas[TopicPartition(topic, index)]),
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(self.replicas).items()
        ]
        return MetadataResponse(brokers=brokers, controller_id=1, topics=topics if request.topics is None else [])

    def _quorum(self) -> DescribeQuorumResponse:
        partition = DescribeQuorumResponsePartitionData(
            leader_id=1, current_voters=[ReplicaState(replica_id=each) for each in (1, 2, 3)]
        )
        return DescribeQuorumResponse(topics=[DescribeQuorumResponseTopicData(partitions=[partition])])

    def _moving(self) -> ListPartitionReassignmentsResponse:
        return ListPartitionReassignmentsResponse(
            topics=[
                OngoingTopicReassignment(
                    name=partition.topic,
                    partitions=[
                        OngoingPartitionReassignment(
                            partition_index=partition.partition,
                            replicas=list(self.replicas[partition]),
                            adding_replicas=[target[0]],
                            removing_replicas=[each for each in self.replicas[partition] if each not in target],
                        )
                    ],
                )
                for partition, target in self.targets.items()
            ]
        )

    def _begin(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        if self.refuses_all:
            return AlterPartitionReassignmentsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        asked = {
            TopicPartition(topic.name, each.partition_index): tuple(each.replicas or ())
            for topic in request.topics
            for each in topic.partitions
        }
        self.begun.append(asked)
        for partition, target in asked.items():
            if partition not in self.refused:
                self.move(partition, *target)
        return AlterPartitionReassignmentsResponse(
            responses=[
                ReassignableTopicResponse(
                    name=topic,
                    partitions=[
                        ReassignablePartitionResponse(
                            partition_index=index, error_code=self.refused.get(TopicPartition(topic, index), 0)
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(asked).items()
            ]
        )

    def _configure(self, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        for resource in request.resources:
            configs = self.configs.setdefault((resource.resource_type, resource.resource_name), {})
            for each in resource.configs:
                if each.config_operation == Operation.SET:
                    configs[each.name] = each.value or ""
                else:
                    configs.pop(each.name, None)
        return IncrementalAlterConfigsResponse(responses=[AlterConfigsResourceResponse()])

    def _configured(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    configs=[
                        DescribeConfigsResourceResult(name=name, value=value)
                        for name, value in self.configs.get((each.resource_type, each.resource_name), {}).items()
                    ],
                )
                for each in request.resources
            ]
        )


@pytest.fixture
def cluster() -> Iterator[MovingCluster]:
    moving = MovingCluster()
    with scripted_broker(offering(*APIS), *[moving] * 500) as moving.broker:
        yield moving


@pytest.fixture
def run(cluster: MovingCluster) -> CommandLine:
    return CommandLine(str(cluster.broker.address))


def while_waiting(monkeypatch: pytest.MonkeyPatch, *happenings: object) -> None:
    """What happens, one after the other, where the command would sleep between two looks."""
    left = list(happenings)

    def sleep(seconds: float) -> None:
        happening = left.pop(0)
        if isinstance(happening, type) and issubclass(happening, BaseException):
            raise happening
        assert callable(happening)
        happening()

    monkeypatch.setattr("stoker.cli.decommission.sleep", sleep)


def throttle_by_hand(cluster: MovingCluster, throttled: str, *, topic: str = "orders") -> None:
    cluster.configs[ResourceType.TOPIC, topic] = {LEADER_REPLICAS: throttled, FOLLOWER_REPLICAS: "0:3"}
    for node_id in "1234":
        cluster.configs[ResourceType.BROKER, node_id] = {LEADER_RATE: RATE, FOLLOWER_RATE: RATE, STANDING_RATE: "7"}


def standing(brokers: Sequence[str] = "1234") -> set[tuple[str, str]]:
    return {(each, STANDING_RATE) for each in brokers}


def test_replicas_are_moved_and_the_throttle_is_taken_off(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (1, 2)}
    seen: list[set[tuple[str, str]]] = []
    while_waiting(monkeypatch, lambda: seen.append(cluster.throttled()), cluster.arrive)
    run("decommission", "4", "--throttle", RATE)
    assert ("orders", LEADER_REPLICAS) in seen[0]
    assert {(each, LEADER_RATE) for each in "134"} <= seen[0]
    assert cluster.throttled() == set()
    assert cluster.replicas[ORDERS] == (3, 1)
    assert OFF in run.stderr
    assert MAY_STOP in run.stderr


def test_a_controller_is_more_than_its_replicas(cluster: MovingCluster, run: CommandLine) -> None:
    cluster.replicas = {ORDERS: (1, 2)}
    run("decommission", "3")
    assert "It is one of the controllers, too (1, 2, 3): while it is stopped, more than half of 3 must" in run.stderr
    run("decommission", "4")
    assert MAY_STOP in run.stderr
    assert "controllers" not in run.stderr


def test_another_broker_is_dead(cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a replica of what moves; no rate can be set on it, and none is needed."""
    cluster.live.remove(2)
    cluster.replicas = {ORDERS: (4, 1, 2)}
    seen: list[set[tuple[str, str]]] = []
    while_waiting(monkeypatch, lambda: seen.append(cluster.throttled()), cluster.arrive)
    run("decommission", "4", "--throttle", RATE)
    assert {each for each, name in seen[0] if name == LEADER_RATE} == {"1", "3", "4"}
    assert cluster.throttled() == set()
    assert MAY_STOP in run.stderr


@pytest.mark.parametrize("whole_request", [True, False])
def test_moves_that_are_refused_leave_no_throttle(
    cluster: MovingCluster, run: CommandLine, *, whole_request: bool
) -> None:
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (4, 2)}
    cluster.refuses_all = whole_request
    cluster.refused = dict.fromkeys((ORDERS, EVENTS), ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    error = run.fails("decommission", "4", "--throttle", RATE)
    assert error.startswith("stoker decommission: events-0, orders-0 cannot be moved: ")
    assert error.endswith("(CLUSTER_AUTHORIZATION_FAILED)")
    assert AGAIN not in run.stderr
    assert cluster.throttled() == set()


def test_what_is_not_refused_is_moved_to_its_end(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (4, 2)}
    cluster.refused = {ORDERS: ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    while_waiting(monkeypatch, cluster.arrive)
    error = run.fails("decommission", "4", "--throttle", RATE)
    assert error.startswith("stoker decommission: orders-0 cannot be moved: ")
    assert "1 of 1 replica moved" in run.stderr
    assert 4 not in cluster.replicas[EVENTS]
    assert cluster.throttled() == set()


def test_after_ctrl_c_it_is_run_again_goes_on_watching_and_takes_the_throttle_off(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.replicas = {ORDERS: (4, 1, 2)}
    while_waiting(monkeypatch, KeyboardInterrupt, cluster.arrive)
    run("decommission", "4", "--throttle", RATE, code=130)
    assert AGAIN in run.stderr
    assert "--cancel" not in run.stderr
    assert cluster.replicas == {ORDERS: (3, 1, 2, 4)}
    assert ("orders", LEADER_REPLICAS) in cluster.throttled()
    run("decommission", "4")
    assert "Already on the way: 1 replica." in run.stderr
    assert cluster.replicas == {ORDERS: (3, 1, 2)}
    assert len(cluster.begun) == 1
    assert cluster.throttled() == set()
    assert MAY_STOP in run.stderr


def test_a_connection_that_is_lost_leaves_moves_and_throttle(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("default.api.timeout.ms=200\n")
    cluster.replicas = {ORDERS: (4, 1)}
    while_waiting(monkeypatch, lambda: setattr(cluster, "is_lost", True))
    error = run.fails("decommission", "4", "--throttle", RATE, "--command-config", str(file))
    assert "was lost" in error
    assert AGAIN in run.stderr
    assert ("orders", LEADER_REPLICAS) in cluster.throttled()


def test_a_throttle_that_was_left_is_taken_off_when_there_is_nothing_to_move(
    cluster: MovingCluster, run: CommandLine
) -> None:
    """Only what this command sets: not the throttle between directories, nor that of a topic that does not name the broker."""
    cluster.replicas = {ORDERS: (3, 1), EVENTS: (1, 2)}
    throttle_by_hand(cluster, "0:4,0:1")
    cluster.configs[ResourceType.TOPIC, "events"] = {LEADER_REPLICAS: "*"}
    for arguments in (["--check"], ["--dry-run"]):
        before = cluster.throttled()
        run("decommission", "4", *arguments)
        assert cluster.throttled() == before
    run("decommission", "4")
    assert "There is nothing to move." in run.stderr
    assert OFF in run.stderr
    assert cluster.throttled() == {("events", LEADER_REPLICAS)} | standing()


@pytest.mark.parametrize("throttled", ["*", "0:14,4:1", ""])
def test_a_throttle_of_others_is_left_alone(cluster: MovingCluster, run: CommandLine, throttled: str) -> None:
    cluster.replicas = {ORDERS: (3, 1)}
    throttle_by_hand(cluster, throttled)
    before = cluster.throttled()
    run("decommission", "4")
    assert cluster.throttled() == before
    assert OFF not in run.stderr


def test_a_throttle_stays_while_others_move(cluster: MovingCluster, run: CommandLine) -> None:
    cluster.replicas = {ORDERS: (3, 1), OTHER: (1, 2)}
    cluster.move(OTHER, 3, 2)
    throttle_by_hand(cluster, "0:4,0:1")
    before = cluster.throttled()
    error = run.fails("decommission", "4")
    assert "The replication throttle stays on, for other replicas are moving: other-0." in run.stderr
    assert "should not be stopped while its throttle is on" in error
    assert MAY_STOP not in run.stderr
    assert cluster.throttled() == before
    cluster.arrive()
    cluster.live.remove(4)  # somebody has stopped it all the same
    assert "there is no live broker 4" in run.fails("decommission", "4")
    assert OFF in run.stderr
    assert cluster.throttled() == standing() | {("4", LEADER_RATE), ("4", FOLLOWER_RATE)}  # which nobody can reach


def test_a_throttle_that_brokers_have_not_heard_of_is_taken_off(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move took but a moment: whom this asks for the configs of topics tells of none yet."""
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (1, 2)}
    monkeypatch.setattr(MovingCluster, "_configured", lambda cluster, request: DescribeConfigsResponse())
    while_waiting(monkeypatch, cluster.arrive)
    run("decommission", "4", "--throttle", RATE)
    assert cluster.throttled() == set()


def test_a_broker_that_replicas_go_to_is_restarted(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much is copied is not known for a while; the moves go on, and are watched."""
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (1, 2)}
    while_waiting(monkeypatch, lambda: cluster.live.remove(3), lambda: cluster.live.append(3), cluster.arrive)
    answer = MovingCluster.__call__

    def answered(cluster: MovingCluster, asked: Asked) -> bytes | None:
        is_asked_for_sizes = asked.header.api_key == DescribeLogDirsRequest.API_KEY
        return None if is_asked_for_sizes and 3 not in cluster.live else answer(cluster, asked)

    monkeypatch.setattr(MovingCluster, "__call__", answered)
    run("decommission", "4", "--throttle", RATE)
    assert cluster.throttled() == set()
    assert MAY_STOP in run.stderr


def test_metadata_that_lags_behind_the_end_of_a_move(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller lists no move any more, and the broker that is asked for the topics has not heard of its end."""
    cluster.replicas = {ORDERS: (4, 1), EVENTS: (1, 2)}
    metadata, stale, looks = MovingCluster._metadata, dict(cluster.replicas), 0

    def lagging(cluster: MovingCluster, request: MetadataRequest) -> MetadataResponse:
        nonlocal looks
        is_stale = cluster.begun and not cluster.targets and request.topics is None and looks < 3
        looks += bool(is_stale)
        with monkeypatch.context() as patched:
            if is_stale:
                patched.setattr(cluster, "replicas", stale)
            return metadata(cluster, request)

    monkeypatch.setattr(MovingCluster, "_metadata", lagging)
    while_waiting(monkeypatch, cluster.arrive)
    run("decommission", "4")
    assert looks == 3
    assert MAY_STOP in run.stderr


def test_new_replicas_are_moved_beside_those_on_the_way(
    cluster: MovingCluster, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on its way off the broker is left as it is; another move that ends on the broker goes elsewhere."""
    cluster.replicas = {ORDERS: (4, 1, 2), EVENTS: (4, 1), OTHER: (1, 2)}
    cluster.move(ORDERS, 3, 1, 2)
    cluster.move(OTHER, 4, 2)
    while_waiting(monkeypatch, cluster.arrive)
    run("decommission", "4", "--throttle", RATE)
    assert [set(begun) for begun in cluster.begun] == [{EVENTS, OTHER}]
    assert "0 of 3 replicas moved" in run.stderr
    assert {partition: len(replicas) for partition, replicas in cluster.replicas.items()} == {
        ORDERS: 3,
        EVENTS: 2,
        OTHER: 2,
    }
    assert all(4 not in replicas for replicas in cluster.replicas.values())
    assert cluster.throttled() == set()


def test_a_dry_run_tells_of_moves_under_way_and_changes_nothing(cluster: MovingCluster, run: CommandLine) -> None:
    cluster.replicas = {ORDERS: (4, 1, 2), EVENTS: (4, 1)}
    cluster.move(ORDERS, 3, 1, 2)
    shown = run.rows("decommission", "4", "--dry-run")
    assert [row[0] for row in shown] == ["PARTITION", "events-0"]
    assert "Already on the way: 1 replica." in run.stderr
    assert cluster.begun == []
