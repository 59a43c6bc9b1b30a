"""`stoker transactions`: list, describe and abort transactions, and find those that hang."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from stoker.cli.choices import choices
from stoker.cli.completion import complete_brokers, complete_topics, complete_transactional_ids
from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.durations import parse_duration_ms
from stoker.cli.failure import CommandFailed, no_such, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, print_json, print_table, say
from stoker.cli.partition_scope import partitions_in
from stoker.cli.topics import existing_topics
from stoker.cli.transaction_tables import (
    hanging_as_json,
    print_descriptions,
    print_hanging,
    print_producers,
    producer_as_json,
    transaction_as_json,
)
from stoker.client.admin.hanging_transactions import find_hanging as find_hanging_among
from stoker.client.admin.producers import Producers, describe_producers
from stoker.client.admin.topics import list_topics
from stoker.client.admin.transactions import (
    ANY_DURATION,
    OPEN_STATES,
    STATES,
    TransactionDescription,
    describe_transaction,
    list_transactions,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode

application = noun("transactions", "List, describe and abort transactions; find those that hang.")

_HIGHEST: Final = 2**63 - 1
"""What the protocol has room for."""
_MINUTE_MS: Final = 60_000
_DEFAULT_MAX_TIMEOUT: Final = 15
"""Minutes: what brokers have for transaction.max.timeout.ms unless they are told otherwise."""

TransactionalIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TRANSACTIONAL_ID", help="Ids of producers' transactions.", autocompletion=complete_transactional_ids
    ),
]
TransactionalIdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--transactional-id",
        metavar="ID",
        help="The same as an argument; may be repeated.",
        autocompletion=complete_transactional_ids,
    ),
]
PartitionOption = Annotated[
    int | None, typer.Option("--partition", "-p", min=0, metavar="N", help="A partition of --topic.")
]
BrokerOption = Annotated[
    int | None,
    typer.Option(
        "--broker",
        min=0,
        metavar="ID",
        help="What the replicas on this broker know; else the leaders are asked.",
        autocompletion=complete_brokers,
    ),
]


@application.command(
    "list",
    epilog=examples(
        "stoker transactions list",
        "stoker transactions list --state Ongoing,PrepareCommit",
        "stoker transactions list --duration-filter 10m --names",
        "stoker transactions list --transactional-id-pattern 'payments-.*' --json",
    ),
)
def list_(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE,...", help=f"Only these states: {', '.join(STATES)}.")
    ] = None,
    producer_id: Annotated[
        list[int] | None,
        typer.Option(
            "--producer-id", min=0, max=_HIGHEST, metavar="N", help="Only of this producer id; may be repeated."
        ),
    ] = None,
    duration_filter: Annotated[
        str | None,
        typer.Option(
            "--duration-filter",
            metavar="DURATION",
            help="Only transactions that have been open for longer: milliseconds, or 90s, 10m, PT2H.",
        ),
    ] = None,
    transactional_id_pattern: Annotated[
        str | None,
        typer.Option("--transactional-id-pattern", metavar="PATTERN", help="Only ids that this RE2 pattern matches."),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print only the ids, one a line.")] = False,
    json: Json = False,
) -> None:
    """List the transactional ids that coordinators know, and the states of their transactions."""
    states = choices("--state", state, STATES)
    if duration_filter is not None and not states:  # else brokers count from the start of what has ended too
        states = list(OPEN_STATES)
    longer_than_ms = ANY_DURATION if duration_filter is None else _milliseconds("--duration-filter", duration_filter)
    with _connected(bootstrap_server, command_config) as cluster:
        transactions = list_transactions(
            cluster,
            states=states,
            producer_ids=producer_id or [],
            longer_than_ms=longer_than_ms,
            id_pattern=transactional_id_pattern,
        )
    if json:
        print_json([transaction._asdict() for transaction in transactions])
    elif names:
        for transaction in transactions:
            print(transaction.transactional_id)
    elif transactions:
        print_table(("TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER-ID", "STATE"), transactions)
    else:
        filtered = state or producer_id or duration_filter or transactional_id_pattern
        say("There are no such transactions." if filtered else "There are no transactions.")


@application.command(
    epilog=examples(
        "stoker transactions describe payments-1", "stoker transactions describe --transactional-id payments-1 --json"
    )
)
def describe(
    transactional_ids: TransactionalIds = None,
    transactional_id: TransactionalIdOption = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Show producer, state, age and partitions of transactions, as their coordinators know them."""
    ids = [*(transactional_ids or []), *(transactional_id or [])]
    if not ids:
        wrong_usage("name one or more transactional ids; `stoker transactions list` shows them")
    with _connected(bootstrap_server, command_config) as cluster:
        descriptions = [existing_transaction(cluster, each) for each in dict.fromkeys(ids)]
    now = _now_ms()
    if json:
        print_json([transaction_as_json(description, now) for description in descriptions])
    else:
        print_descriptions(descriptions, now)


@application.command(
    epilog=examples(
        "stoker transactions producers orders",
        "stoker transactions producers orders:0,1 --broker 1",
        "stoker transactions producers orders:0 --json",
    )
)
def producers(
    partitions: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]", help="Topics, or some of their partitions.", autocompletion=complete_topics
        ),
    ],
    broker: BrokerOption = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Show the producers that partitions know, and where their open transactions start."""
    with _connected(bootstrap_server, command_config) as cluster:
        _check_broker(cluster, broker)
        found = describe_producers(cluster, partitions_in(cluster, partitions), on_broker=broker)
    rows = [(each, producer) for each, known in found.items() if isinstance(known, list) for producer in known]
    if json:
        print_json([producer_as_json(partition, producer) for partition, producer in rows])
    elif rows:
        print_producers(rows)
    _fail_for_refused(found, broker)
    if not (rows or json):
        say("No producers are known there: none has written with a producer id lately.")


@application.command(
    epilog=examples(
        "stoker transactions abort payments-1",
        "stoker transactions abort --transactional-id payments-1 --yes",
        "stoker transactions abort --topic orders --partition 0 --start-offset 3",
    )
)
def abort(
    transactional_ids: TransactionalIds = None,
    transactional_id: TransactionalIdOption = None,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Where a transaction hangs; --partition and --start-offset go with it.",
            autocompletion=complete_topics,
        ),
    ] = None,
    partition: PartitionOption = None,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", min=0, metavar="N", help="Where the hanging transaction starts.")
    ] = None,
    yes: Yes = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Abort open transactions. Of a transactional id, whose producer is fenced; or one that hangs in a partition."""
    from stoker.cli.transaction_abort import abort_hanging, abort_of_ids

    ids = list(dict.fromkeys([*(transactional_ids or []), *(transactional_id or [])]))
    place = (topic, partition, start_offset)
    if bool(ids) == any(each is not None for each in place):
        wrong_usage("name one or more transactional ids, or give --topic, --partition and --start-offset")
    with _connected(bootstrap_server, command_config) as cluster:
        if ids:
            aborted = abort_of_ids(cluster, [existing_transaction(cluster, each) for each in ids], yes=yes)
        elif topic is None or partition is None or start_offset is None:
            wrong_usage("a transaction that hangs is named by all of --topic, --partition and --start-offset")
        else:
            (where,) = partitions_in(cluster, [f"{topic}:{partition}"])
            aborted = abort_hanging(cluster, where, start_offset, yes=yes)
    if json:
        print_json({"aborted": aborted})


@application.command(
    epilog=examples(
        "stoker transactions find-hanging --broker 1",
        "stoker transactions find-hanging --topic orders --partition 0",
        "stoker transactions find-hanging --topic orders --max-transaction-timeout 60 --json",
    )
)
def find_hanging(
    broker: BrokerOption = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", "-t", metavar="TOPIC", help="Look only in this topic.", autocompletion=complete_topics),
    ] = None,
    partition: PartitionOption = None,
    max_transaction_timeout: Annotated[
        int,
        typer.Option(
            "--max-transaction-timeout",
            min=0,
            metavar="MINUTES",
            help="Pass over transactions that have written since: they may still be ended.",
        ),
    ] = _DEFAULT_MAX_TIMEOUT,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Find transactions that are open in partitions and that no coordinator will end. They keep what is behind them from readers with read_committed."""
    if topic is None and broker is None:
        wrong_usage("give --topic or --broker: where to look")
    if partition is not None and topic is None:
        wrong_usage("--partition needs --topic")
    now = _now_ms()
    with _connected(bootstrap_server, command_config) as cluster:
        _check_broker(cluster, broker)
        searched = _partitions_to_search(cluster, broker, topic, partition)
        known = describe_producers(cluster, searched, on_broker=broker)
        hanging = find_hanging_among(cluster, known, silent_since=now - max_transaction_timeout * _MINUTE_MS)
    if json:
        print_json([hanging_as_json(each, now) for each in hanging])
    elif hanging:
        print_hanging(hanging, now)
    _fail_for_refused(known, broker)
    if hanging and not json:
        (name, number), first = hanging[0].partition, hanging[0].producer.transaction_start_offset
        command = f"stoker transactions abort --topic {name} --partition {number} --start-offset {first}"
        say(f"`{command}` aborts the first of them.")
    elif not hanging and not json:
        say(f"No transactions hang. Partitions that were looked at: {len(searched)}.")


def existing_transaction(cluster: Cluster, transactional_id: str) -> TransactionDescription:
    """What its coordinator knows. Raises CommandFailed, with what was perhaps meant, if there is no such id."""
    try:
        return describe_transaction(cluster, transactional_id)
    except KafkaRefused as refused:
        if refused.error_code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise CommandFailed(f"transactional id {transactional_id!r}: {refused}") from refused
        known = [each.transactional_id for each in list_transactions(cluster)]
        raise no_such("transactional id", transactional_id, known) from refused


@contextmanager
def _connected(bootstrap_server: str | None, command_config: Path | None) -> Iterator[Cluster]:
    with connect(bootstrap_server, command_config) as cluster:
        try:
            yield cluster
        except UnsupportedByBroker as error:
            raise CommandFailed(f"{error}; Kafka tells of transactions from version 3.0 on (KIP-664)") from error


def _partitions_to_search(
    cluster: Cluster, broker: int | None, topic: str | None, partition: int | None
) -> list[TopicPartition]:
    """One partition, all of a topic, or all; of these those that the broker, if one is given, has replicas of."""
    if topic is not None and partition is not None:
        return partitions_in(cluster, [f"{topic}:{partition}"])
    topics = list_topics(cluster) if topic is None else existing_topics(cluster, [topic])
    return [
        TopicPartition(each.name, one.partition)
        for each in topics
        for one in each.partitions
        if broker is None or broker in one.replicas
    ]


def _check_broker(cluster: Cluster, broker: int | None) -> None:
    if broker is not None and broker not in cluster.brokers():
        raise CommandFailed(f"there is no broker {broker}; there are {', '.join(map(str, sorted(cluster.brokers())))}")


def _fail_for_refused(producers: Producers, broker: int | None) -> None:
    """After what was found has been printed. Raises CommandFailed if there are partitions of which nothing was told."""
    place = "its leader" if broker is None else f"broker {broker}"
    refused = [f"{each} on {place}: {why}" for each, why in producers.items() if isinstance(why, KafkaRefused)]
    if refused:
        raise CommandFailed(f"the producers are not known of {'; '.join(refused)}")


def _milliseconds(option: str, text: str) -> int:
    """A plain number is milliseconds, as for Kafka's tool."""
    given = int(text) if text.isascii() and text.isdigit() else parse_duration_ms(option, text)
    return min(given, _HIGHEST)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
