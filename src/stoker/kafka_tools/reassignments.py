"""What kafka-reassign-partitions.sh does, each action a function that prints as Kafka's own does."""

import time
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from stoker.client.admin.log_dirs import ReplicaLogDirs, alter_replica_log_dirs, replica_log_dirs
from stoker.client.admin.placement import CannotPlace, StripedPlacer
from stoker.client.admin.reassignments import Reassignment, alter_reassignments, list_reassignments
from stoker.client.admin.replication_throttle import (
    Move,
    throttle_log_dirs,
    throttle_moves,
    unthrottle_brokers,
    unthrottle_topics,
)
from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError
from stoker.kafka_tools.failure import COMMAND_FAILED, OPERATION_FAILED, JavaError, java_error
from stoker.kafka_tools.hash_order import hash_map_order
from stoker.kafka_tools.reassignment_json import (
    InvalidReassignment,
    ReassignmentFile,
    Replica,
    duplicates,
    read_topics,
    written_reassignment,
)
from stoker.wire.error_codes import ErrorCode

_EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create "
    "a new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
_VERIFY_PERIODICALLY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
_PAUSE_SECONDS = 0.1


class TerseFailure(StokerError):
    """What Kafka's tool says on stdout, without a stack trace, before it ends with 1."""


# -- generate ------------------------------------------------------------------------------------------------------------


def generate(cluster: Cluster, topics_json: str, broker_list: str, *, with_racks: bool) -> None:
    """Print where the topics are, and a proposal for these brokers. Raises ClientError, JavaError, InvalidReassignment."""
    brokers = _broker_ids(broker_list)
    if doubled := duplicates(brokers):
        raise InvalidReassignment(f"Broker list contains duplicate entries: [{', '.join(map(str, doubled))}]")
    topics = read_topics(topics_json)
    if repeated := duplicates(topics):
        raise InvalidReassignment(f"List of topics to reassign contains duplicate entries: [{', '.join(repeated)}]")
    current = _replicas_of_topics(cluster, topics)
    log_dirs = _log_dirs(cluster, current)
    racks = _racks(cluster, brokers, with_racks=with_racks)
    proposed = _proposal(current, racks)
    print(f"Current partition replica assignment\n{written_reassignment(current, log_dirs)}\n")
    print(f"Proposed partition reassignment configuration\n{written_reassignment(proposed)}")


def _broker_ids(text: str) -> list[int]:
    found = []
    for part in text.split(","):
        try:
            found.append(int(part))
        except ValueError:
            raise JavaError("java.lang.NumberFormatException", f'For input string: "{part}"') from None
    return found


def _racks(cluster: Cluster, wanted: Sequence[int], *, with_racks: bool) -> dict[int, str | None]:
    metadata = cluster.metadata([])
    found = {each.node_id: each.rack if with_racks else None for each in metadata.brokers if each.node_id in wanted}
    rackless = sum(rack is None for rack in found.values())
    if with_racks and rackless not in (0, len(found)):
        raise JavaError(
            OPERATION_FAILED,
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information.",
        )
    return found


def _proposal(
    current: Mapping[TopicPartition, Sequence[int]], racks: Mapping[int, str | None]
) -> dict[TopicPartition, list[int]]:
    proposed: dict[TopicPartition, list[int]] = {}
    random = Random()
    for topic in dict.fromkeys(partition.topic for partition in current):
        partitions = [partition for partition in current if partition.topic == topic]
        placer = StripedPlacer(racks, random)
        try:
            for index in range(len(partitions)):
                proposed[TopicPartition(topic, index)] = placer.place(len(current[partitions[0]]))
        except CannotPlace as error:
            raise JavaError("org.apache.kafka.common.errors.InvalidReplicationFactorException", str(error)) from None
    return proposed


# -- execute -------------------------------------------------------------------------------------------------------------


def execute(
    cluster: Cluster,
    file: ReassignmentFile,
    *,
    additional: bool,
    throttle: int,
    log_dirs_throttle: int,
    timeout_ms: int,
    allow_replication_factor_change: bool,
) -> None:
    """Start the moves of the file. Raises TerseFailure, ClientError, JavaError, InvalidReassignment."""
    file.check_for_execution()
    targets = file.targets
    moving = list_reassignments(cluster)
    if moving and not additional:
        raise TerseFailure(_EXISTING)
    _check_brokers(cluster, targets)
    current = _replicas_of_partitions(cluster, targets)
    written = written_reassignment(current, _log_dirs(cluster, current))
    print(
        f"Current partition replica assignment\n\n{written}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    if throttle >= 0 or log_dirs_throttle >= 0:
        print(_VERIFY_PERIODICALLY)
        if throttle >= 0:
            throttle_moves(cluster, moves(moving, targets, current), throttle)
            print(f"The inter-broker throttle limit was set to {throttle} B/s")
        if log_dirs_throttle >= 0:
            throttle_log_dirs(cluster, sorted({replica.broker for replica in file.log_dirs}), log_dirs_throttle)
            print(f"The replica-alter-dir throttle limit was set to {log_dirs_throttle} B/s")
    results = alter_reassignments(cluster, targets, allow_replication_factor_change=allow_replication_factor_change)
    if errors := _errors(results):
        raise TerseFailure(f"Error reassigning partition(s):\n{errors}")
    listed = ",".join(map(str, sorted(targets)))
    print(f"Successfully started partition reassignment{_plural(targets)} for {listed}")
    if file.log_dirs:
        _move_between_directories(cluster, file.log_dirs, timeout_ms)


def moves(
    moving: Mapping[TopicPartition, Reassignment],
    targets: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, Move]:
    """From where to where replicas are copied, by those that are under way and those that are to begin."""
    found = {
        partition: Move(sources=frozenset(each.replicas) - frozenset(each.adding), destinations=frozenset(each.adding))
        for partition, each in moving.items()
    }
    for partition, replicas in targets.items():
        sources = found[partition].sources if partition in found else frozenset(current[partition])
        found[partition] = Move(sources=sources, destinations=frozenset(replicas) - sources)
    return found


def _check_brokers(cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
    live = {broker.node_id for broker in cluster.metadata([]).brokers}
    unknown = sorted({broker for replicas in targets.values() for broker in replicas} - live)
    if unknown:
        raise JavaError(COMMAND_FAILED, f"Unknown broker id {unknown[0]}")


def _move_between_directories(cluster: Cluster, wanted: Mapping[Replica, str], timeout_ms: int) -> None:
    """A replica that is still on its way to the broker cannot be moved between its directories yet: ask until it can."""
    deadline = time.monotonic() + timeout_ms / 1000
    pending = dict(wanted)
    while True:
        started = _started(cluster, pending)
        for replica in sorted(started, key=lambda each: each.order):
            path = pending.pop(replica)
            print(
                f"Successfully started moving log directory to {path} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker} "
            )
        if not pending:
            return
        if time.monotonic() >= deadline:
            listed = ",".join(map(str, sorted(pending, key=lambda each: each.order)))
            raise TerseFailure(f"Timed out before log directory move{_plural(pending)} could be started for: {listed}")
        time.sleep(_PAUSE_SECONDS)


def _started(cluster: Cluster, wanted: Mapping[Replica, str]) -> list[Replica]:
    started: list[Replica] = []
    for broker in sorted({replica.broker for replica in wanted}):
        here = {replica.topic_partition: path for replica, path in wanted.items() if replica.broker == broker}
        for partition, refused in alter_replica_log_dirs(cluster, broker, here).items():
            if refused is None:
                started.append(Replica(*partition, broker))
            elif refused.error_code is not ErrorCode.REPLICA_NOT_AVAILABLE:
                raise JavaError(COMMAND_FAILED, f"Failed to alter dir for {Replica(*partition, broker)}") from refused
    return started


# -- verify --------------------------------------------------------------------------------------------------------------


def verify(cluster: Cluster, file: ReassignmentFile, *, keep_throttles: bool) -> None:
    """Print what became of the moves; when none is under way any more, take the throttles off. Raises ClientError."""
    moving = list_reassignments(cluster)
    replicas = _known_replicas(cluster, [partition for partition in file.targets if partition not in moving])
    print("Status of partition reassignment:")
    for partition, target in sorted(file.targets.items()):
        print(_state(partition, target, moving, replicas.get(partition, ())))
    states = _log_dir_states(cluster, file.log_dirs)
    lines = [_log_dir_state(replica, file.log_dirs[replica], state) for replica, state in states.items()]
    print("\n".join(lines))
    are_done = all(state.future is None for state in states.values())
    if not moving and are_done and not keep_throttles:
        _clear_throttles(cluster, file)


def _state(
    partition: TopicPartition,
    target: Sequence[int],
    moving: Mapping[TopicPartition, Reassignment],
    replicas: Sequence[int],
) -> str:
    if partition in moving:
        return f"Reassignment of partition {partition} is still in progress."
    if list(replicas) == list(target):
        return f"Reassignment of partition {partition} is completed."
    found, wanted = ",".join(map(str, replicas)), ",".join(map(str, target))
    return f"There is no active reassignment of partition {partition}, but replica set is {found} rather than {wanted}."


def _log_dir_states(cluster: Cluster, wanted: Mapping[Replica, str]) -> dict[Replica, ReplicaLogDirs]:
    """In the order of brokers. Raises KafkaRefused if one of them does not run."""
    found: dict[Replica, ReplicaLogDirs] = {}
    for broker in sorted({replica.broker for replica in wanted}):
        here = sorted(replica for replica in wanted if replica.broker == broker)
        states = replica_log_dirs(cluster, broker, [replica.topic_partition for replica in here])
        found |= {replica: states[replica.topic_partition] for replica in here}
    return found


def _log_dir_state(replica: Replica, target: str, state: ReplicaLogDirs) -> str:
    partition = replica.topic_partition
    if state.current is None:
        return (
            f"Partition {partition} is not found in any live log dir on broker {replica.broker}. There is likely an "
            "offline log directory on the broker."
        )
    if state.future is None and state.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    if state.future is None:
        where = f"on broker {replica.broker} is not being moved from log dir {state.current} to {target}"
        return f"Partition {partition} {where}."
    if state.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    where = f"on broker {replica.broker} is being moved to log dir {state.future} instead of {target}"
    return f"Partition {partition} {where}."


def _clear_throttles(cluster: Cluster, file: ReassignmentFile) -> None:
    brokers = {broker.node_id for broker in cluster.metadata([]).brokers}
    brokers |= {broker for replicas in file.targets.values() for broker in replicas}
    print(f"Clearing broker-level throttles on broker{_plural(brokers)} {','.join(map(str, sorted(brokers)))}")
    unthrottle_brokers(cluster, sorted(brokers))
    topics = hash_map_order(partition.topic for partition in file.targets)
    print(f"Clearing topic-level throttles on topic{_plural(topics)} {','.join(topics)}")
    unthrottle_topics(cluster, topics)


# -- cancel and list -----------------------------------------------------------------------------------------------------


def cancel(cluster: Cluster, file: ReassignmentFile, *, keep_throttles: bool, timeout_ms: int) -> None:
    """Stop what of the file is under way. Raises TerseFailure, ClientError, JavaError."""
    moving = sorted(
        partition
        for partition, each in list_reassignments(cluster, file.targets).items()
        if each.adding or each.removing
    )
    if moving:
        if errors := _errors(results := alter_reassignments(cluster, dict.fromkeys(moving))):
            refused = [why for why in results.values() if why is not None]
            raise TerseFailure(f"Error cancelling partition reassignment{_plural(refused)} for:\n{errors}")
        listed = ",".join(map(str, moving))
        print(f"Successfully cancelled partition reassignment{_plural(moving)} for: {listed}")
    else:
        print("None of the specified partition reassignments are active.")
    back = {
        replica: state.current
        for replica, state in _log_dir_states(cluster, file.log_dirs).items()
        if state.future is not None and state.current is not None
    }
    if back:
        _move_between_directories(cluster, back, timeout_ms)
    else:
        print("None of the specified partition moves are active.", end="")
    if not keep_throttles:
        _clear_throttles(cluster, file)


def list_moves(cluster: Cluster) -> None:
    """Raises ClientError."""
    moving = list_reassignments(cluster)
    if not moving:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for partition, each in moving.items():
        adding = f" adding: {','.join(map(str, each.adding))}." if each.adding else ""
        removing = f" removing: {','.join(map(str, each.removing))}." if each.removing else ""
        print(f"{partition}: replicas: {','.join(map(str, each.replicas))}.{adding}{removing}")


# -- what is where -------------------------------------------------------------------------------------------------------


def _replicas_of_topics(cluster: Cluster, topics: Sequence[str]) -> dict[TopicPartition, tuple[int, ...]]:
    found: dict[TopicPartition, tuple[int, ...]] = {}
    names = list(dict.fromkeys(topics))
    for name, topic in zip(names, describe_topics(cluster, names) if names else (), strict=True):
        if isinstance(topic, KafkaRefused):
            if topic.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise KafkaRefused(topic.error_code, f"Topic {name} not found.")
            raise topic
        found |= _replicas_of(topic)
    return found


def _replicas_of_partitions(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, ...]]:
    wanted = list(partitions)
    known = _replicas_of_topics(cluster, [partition.topic for partition in wanted])
    missing = [partition for partition in wanted if partition not in known]
    if missing:
        listed = ", ".join(map(str, missing))
        raise KafkaRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {listed}")
    return {partition: known[partition] for partition in wanted}


def _known_replicas(cluster: Cluster, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[int, ...]]:
    """Those of partitions that are there."""
    found: dict[TopicPartition, tuple[int, ...]] = {}
    names = list(dict.fromkeys(partition.topic for partition in partitions))
    for topic in describe_topics(cluster, names) if names else ():
        if isinstance(topic, Topic):
            found |= _replicas_of(topic)
        elif topic.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise topic
    return found


def _replicas_of(topic: Topic) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition(topic.name, each.partition): each.replicas for each in topic.partitions}


def _log_dirs(cluster: Cluster, replicas: Mapping[TopicPartition, Sequence[int]]) -> dict[Replica, str]:
    """Of the replicas on brokers that run."""
    live = cluster.brokers()
    found: dict[Replica, str] = {}
    for broker in sorted({each for brokers in replicas.values() for each in brokers} & live.keys()):
        held = [partition for partition, brokers in replicas.items() if broker in brokers]
        for partition, state in replica_log_dirs(cluster, broker, held).items():
            if state.current is not None:
                found[Replica(*partition, broker)] = state.current
    return found


def _errors(results: Mapping[TopicPartition, ClientError | None]) -> str:
    return "\n".join(
        f"{partition}: {java_error(why).message}" for partition, why in sorted(results.items()) if why is not None
    )


def _plural(things: Iterable[object]) -> str:
    return "" if len(list(things)) == 1 else "s"
