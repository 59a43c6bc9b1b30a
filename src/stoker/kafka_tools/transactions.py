"""kafka-transactions.sh: list, describe and abort transactions, and find those that hang."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stoker.client.admin.hanging_transactions import find_hanging
from stoker.client.admin.producers import ActiveProducer, abort_in_partition, describe_producers
from stoker.client.admin.transactions import ANY_DURATION, describe_transaction, fence_producer, list_transactions
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.argument_parser import Action, Argument, Parser, TerseFailure, Values, run, subcommand
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.failure import KAFKA_VERSION, java_error
from stoker.kafka_tools.printing import print_table
from stoker.wire.error_codes import ErrorCode

_TOOL: Final = "kafka-transactions.sh"
_TOPIC: Final = Argument(("--topic",), "topic name")
_PARTITION: Final = Argument(("--partition",), "partition number", kind=int)
PARSER: Final = Parser(
    name=_TOOL,
    description="This tool is used to analyze the transactional state of producers in the cluster. "
    "It can be used to detect and recover from hanging transactions.",
    arguments=(
        Argument(("-v", "--version"), "show the version of this Kafka distribution and exit", Action.FLAG),
        Argument(
            ("--command-config",), "property file containing configs to be passed to admin client", metavar="FILE"
        ),
        Argument(
            ("--bootstrap-server",),
            "hostname and port for the broker to connect to, in the form `host:port` "
            "(multiple comma-separated entries can be given)",
            metavar="host:port",
            required=True,
        ),
    ),
    commands=(
        subcommand(
            _TOOL,
            "list",
            "list transactions",
            arguments=(
                Argument(
                    ("--duration-filter",),
                    "Duration (in millis) to filter by: if < 0, all transactions will be returned; "
                    "otherwise, only transactions running longer than this duration will be returned",
                    kind=int,
                    java_type="Long",
                ),
                Argument(("--transactional-id-pattern",), "Transactional id regular expression pattern to filter by"),
            ),
        ),
        subcommand(
            _TOOL,
            "describe",
            "describe the state of an active transactional-id",
            arguments=(Argument(("--transactional-id",), "transactional id", required=True),),
        ),
        subcommand(
            _TOOL,
            "describe-producers",
            "describe the states of active producers for a topic partition",
            arguments=(
                Argument(
                    ("--broker-id",),
                    "optional broker id to describe the producer state on a specific replica",
                    kind=int,
                ),
                replace(_TOPIC, required=True),
                replace(_PARTITION, required=True),
            ),
        ),
        subcommand(
            _TOOL,
            "abort",
            "abort a hanging transaction (requires administrative privileges)",
            arguments=(
                replace(_TOPIC, required=True),
                replace(_PARTITION, required=True),
                Argument(("--start-offset",), "start offset of the transaction to abort", kind=int, java_type="Long"),
                Argument(("--producer-id",), "producer id", kind=int, java_type="Long"),
                Argument(("--producer-epoch",), "producer epoch", kind=int, java_type="Short"),
                Argument(("--coordinator-epoch",), "coordinator epoch", kind=int),
            ),
        ),
        subcommand(
            _TOOL,
            "find-hanging",
            "find hanging transactions",
            arguments=(
                Argument(("--broker-id",), "broker id to search for hanging transactions", kind=int),
                Argument(
                    ("--max-transaction-timeout",),
                    "maximum transaction timeout in minutes to limit the scope of the search (15 minutes by default)",
                    kind=int,
                    default=15,
                ),
                Argument(("--topic",), "topic name to limit search to (required if --partition is specified)"),
                _PARTITION,
            ),
        ),
        subcommand(
            _TOOL,
            "forceTerminateTransaction",
            "Force abort an ongoing transaction on transactionalId (requires administrative privileges)",
            arguments=(Argument(("--transactionalId",), "transactional id", required=True),),
        ),
    ),
)
_NONE: Final = "None"
_MINUTE_MS: Final = 60_000
_TERMINATION_TIMEOUT_MS: Final = 60_000


def main(arguments: Sequence[str]) -> int:
    if any(each in ("-v", "--version") for each in arguments):
        print(KAFKA_VERSION)
        return 0
    return run(PARSER, arguments, _execute)


def _execute(values: Values) -> int:
    handler = {
        "list": _list,
        "describe": _describe,
        "describe-producers": _describe_producers,
        "abort": _abort,
        "find-hanging": _find_hanging,
        "forceTerminateTransaction": _terminate,
    }[values["command"]]
    with connect_with(values["bootstrap_server"], values["command_config"]) as cluster:
        handler(cluster, values)
    return 0


def _list(cluster: Cluster, values: Values) -> None:
    duration = values["duration_filter"]
    try:
        found = list_transactions(
            cluster,
            longer_than_ms=ANY_DURATION if duration is None else duration,
            id_pattern=values["transactional_id_pattern"],
        )
    except ClientError as error:
        raise _failure("Failed to list transactions", error) from error
    print_table(
        ("TransactionalId", "Coordinator", "ProducerId", "TransactionState"),
        [(each.transactional_id, str(each.coordinator), str(each.producer_id), each.state) for each in found],
    )


def _describe(cluster: Cluster, values: Values) -> None:
    name = values["transactional_id"]
    try:
        found = describe_transaction(cluster, name)
    except ClientError as error:
        if isinstance(error, KafkaRefused) and error.error_code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            why = f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not be found"
            error = KafkaRefused(error.error_code, why)
        raise _failure(f"Failed to describe transaction state of transactional-id `{name}`", error) from error
    start = found.start_time_ms
    row = (
        str(found.coordinator),
        name,
        str(found.producer_id),
        str(found.producer_epoch),
        found.state,
        str(found.timeout_ms),
        _NONE if start is None else str(start),
        _NONE if start is None else str(_now_ms() - start),
        ",".join(map(str, found.partitions)),
    )
    columns = ("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions")
    print_table(
        ("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", *columns), [row]
    )


def _describe_producers(cluster: Cluster, values: Values) -> None:
    partition, broker = TopicPartition(values["topic"], values["partition"]), values["broker_id"]
    where = "leader" if broker is None else f"broker {broker}"
    what = f"Failed to describe producers for partition {partition} on {where}"
    rows = [
        (
            str(each.producer_id),
            str(each.producer_epoch),
            _number(each.coordinator_epoch),
            _number(each.last_sequence),
            _number(each.last_timestamp),
            _NONE if each.transaction_start_offset is None else str(each.transaction_start_offset),
        )
        for each in _producers(cluster, partition, broker, what)
    ]
    columns = ("LatestCoordinatorEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset")
    print_table(("ProducerId", "ProducerEpoch", *columns), rows)


def _abort(cluster: Cluster, values: Values) -> None:
    partition = TopicPartition(values["topic"], values["partition"])
    start, producer_id = values["start_offset"], values["producer_id"]
    if start is None and producer_id is None:
        raise TerseFailure(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    if start is None:
        for name in ("producer_epoch", "coordinator_epoch"):
            if values[name] is None:
                raise TerseFailure(f"Missing required argument --{name.replace('_', '-')}")
        producer = ActiveProducer(
            producer_id, values["producer_epoch"], max(0, values["coordinator_epoch"]), None, None, None
        )
    else:
        what = f"Failed to validate producer state for partition {partition}"
        known = _producers(cluster, partition, None, what)
        open_there = [each for each in known if each.transaction_start_offset == start]
        if not open_there:
            raise TerseFailure(
                f"Could not find any open transactions starting at offset {start} on partition {partition}"
            )
        producer = open_there[0]
    try:
        abort_in_partition(cluster, partition, producer)
    except ClientError as error:
        named = (
            f"AbortTransactionSpec(topicPartition={partition}, producerId={producer.producer_id}, "
            f"producerEpoch={producer.producer_epoch}, coordinatorEpoch={producer.coordinator_epoch or 0})"
        )
        raise _failure(f"Failed to abort transaction {named}", error) from error


def _find_hanging(cluster: Cluster, values: Values) -> None:
    topic, index, broker = values["topic"], values["partition"], values["broker_id"]
    if topic is None and broker is None:
        raise TerseFailure(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if index is not None and topic is None:
        raise TerseFailure("The --partition argument requires --topic to be provided")
    if index is not None:
        partitions = [TopicPartition(topic, index)]
    else:
        partitions = _partitions_to_search(cluster, topic, broker)
    producers = describe_producers(cluster, partitions, on_broker=broker)
    for result in producers.values():
        if isinstance(result, KafkaRefused):
            shown_broker = "Optional.empty" if broker is None else f"Optional[{broker}]"
            what = f"Failed to describe producers for {len(partitions)} partitions on broker {shown_broker}"
            raise _failure(what, result)
    now = _now_ms()
    hanging = find_hanging(cluster, producers, silent_since=now - values["max_transaction_timeout"] * _MINUTE_MS)
    rows = [
        (
            each.partition.topic,
            str(each.partition.partition),
            str(each.producer.producer_id),
            str(each.producer.producer_epoch),
            _number(each.producer.coordinator_epoch),
            _number(each.producer.transaction_start_offset),
            _number(each.producer.last_timestamp),
            str((now - (each.producer.last_timestamp or 0)) // _MINUTE_MS),
        )
        for each in hanging
    ]
    columns = ("ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp", "Duration(min)")
    print_table(("Topic", "Partition", "ProducerId", *columns), rows)


def _terminate(cluster: Cluster, values: Values) -> None:
    name = values["transactionalId"]
    try:
        fence_producer(cluster, name, timeout_ms=_TERMINATION_TIMEOUT_MS)
    except ClientError as error:
        raise _failure(f"Failed to force terminate transactionalId `{name}`", error) from error


def _partitions_to_search(cluster: Cluster, topic: str | None, broker: int | None) -> list[TopicPartition]:
    metadata = cluster.metadata(None if topic is None else [topic])
    for each in metadata.topics:
        if each.error_code:
            raise _failure("Failed to describe 1 topics", KafkaRefused(each.error_code))
    return sorted(
        TopicPartition(each.name or "", partition.partition_index)
        for each in metadata.topics
        for partition in each.partitions
        if broker is None or broker in partition.replica_nodes
    )


def _producers(cluster: Cluster, partition: TopicPartition, broker: int | None, what: str) -> list[ActiveProducer]:
    try:
        found = describe_producers(cluster, [partition], on_broker=broker)[partition]
    except ClientError as error:
        raise _failure(what, error) from error
    if isinstance(found, KafkaRefused):
        raise _failure(what, found)
    return found


def _failure(what: str, error: ClientError) -> TerseFailure:
    return TerseFailure(f"{what}: {java_error(error).message}. Enable debug logging for additional detail.")


def _number(number: int | None) -> str:
    return "-1" if number is None else str(number)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
