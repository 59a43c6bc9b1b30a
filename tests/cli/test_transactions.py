"""`stoker transactions` as its users meet it: what hangs is found and aborted, what does not is left alone."""

import subprocess
from collections.abc import Iterator
from uuid import uuid4

import pytest

from stoker.client.admin.producers import ActiveProducer, Producers
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from stoker.wire.messages.list_transactions import ListTransactionsRequest
from stoker.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.cli.command_line import BOTH, CommandLine
from tests.cli.test_application import at_a_terminal, complete
from tests.client.scripted_broker import Answer, Asked, framed, scripted_broker
from tests.clients.client import eventually
from tests.raw_transactional_producer import (
    HOUR_MS,
    TIMEOUT_MS,
    TransactionalProducer,
    last_stable_offset,
    let_hang,
    without_verification,
)

COLUMNS_OF_KAFKAS_TOOL = (
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "transaction_start_offset",
    "last_timestamp",
)


@pytest.fixture
def name() -> str:
    """A transactional id that nobody else uses."""
    return f"payments-{uuid4().hex[:8]}"


@pytest.fixture
def cluster(address: str) -> Iterator[Cluster]:
    with Cluster(client_properties(address)) as connected:
        yield connected


@pytest.fixture
def ongoing(cluster: Cluster, name: str, topic: str) -> TransactionalProducer:
    """In both partitions of the topic, with a record in the first that is an hour old."""
    producer = TransactionalProducer(cluster, name)
    producer.add(TopicPartition(topic, 0), TopicPartition(topic, 1))
    producer.produce(TopicPartition(topic, 0), age_ms=HOUR_MS)
    return producer


@pytest.fixture
def hanging(address: str, name: str, topic: str) -> int:
    """Where a transaction hangs in the second partition of the topic: behind one that is committed, and its marker."""
    with without_verification(address) as cluster:
        return let_hang(cluster, f"{name}-old", TopicPartition(topic, 1))


@BOTH
def test_a_transaction_that_is_open(run: CommandLine, name: str, topic: str, ongoing: TransactionalProducer) -> None:
    """All that coordinators and partitions tell of it."""
    producer = [str(ongoing.producer_id), str(ongoing.producer_epoch)]
    listed = run.rows("transactions", "list")
    assert listed[0] == ["TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER-ID", "STATE"]
    (coordinator,) = (row[1] for row in listed if row[0] == name)
    assert coordinator in [str(each["id"]) for each in run.json("brokers")]
    assert [name, coordinator, producer[0], "Ongoing"] in listed
    header, row = run.rows("transactions", "describe", name)
    assert header == [
        "TRANSACTIONAL-ID",
        "COORDINATOR",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "STATE",
        "TIMEOUT",
        "START",
        "DURATION",
        "PARTITIONS",
    ]
    assert row[:6] == [name, coordinator, *producer, "Ongoing", "10m"]
    assert row[8] == f"{topic}-0,{topic}-1"
    (described,) = run.json("transactions", "describe", "--transactional-id", name)
    assert described["timeout_ms"] == TIMEOUT_MS
    assert described["duration_ms"] >= 0
    assert described["partitions"] == [{"topic": topic, "partition": index} for index in (0, 1)]
    header, row = run.rows("transactions", "producers", topic)
    assert header[:4] == ["TOPIC", "PARTITION", "PRODUCER-ID", "PRODUCER-EPOCH"]
    assert row[:6] == [topic, "0", *producer, "-", "0"]
    assert (header[7], row[7]) == ("START-OFFSET", "0")
    assert run.json("transactions", "producers", f"{topic}:0", "--broker", "1")[0]["transaction_start_offset"] == 0
    assert run("transactions", "producers", f"{topic}:1") == ""
    assert run.stderr == "No producers are known there: none has written with a producer id lately.\n"


@BOTH
def test_a_transaction_that_has_ended(run: CommandLine, name: str, topic: str, ongoing: TransactionalProducer) -> None:
    """It is still known, but has no partitions and no duration."""
    ongoing.commit()
    (_, row) = run.rows("transactions", "describe", name)
    assert row[4] == "CompleteCommit"
    assert row[7:] == ["-", "-"]
    (producer,) = run.json("transactions", "producers", f"{topic}:0")
    assert (producer["transaction_start_offset"], producer["coordinator_epoch"]) == (None, 0)


@BOTH
def test_filters(run: CommandLine, cluster: Cluster, name: str, topic: str, ongoing: TransactionalProducer) -> None:
    other = TransactionalProducer(cluster, f"{name}-other")

    def listed(*filters: str) -> set[str]:
        return {each for each in run("transactions", "list", "--names", *filters).split() if each.startswith(name)}

    assert listed() == {name, f"{name}-other"}
    assert listed("--state", "ongoing,preparecommit") == {name}
    assert listed("--state", "Empty") == {f"{name}-other"}
    assert listed("--producer-id", str(other.producer_id)) == {f"{name}-other"}
    both = ["--producer-id", str(other.producer_id), "--producer-id", str(ongoing.producer_id)]
    assert listed(*both) == {name, f"{name}-other"}
    assert listed("--transactional-id-pattern", f"{name}-.*r") == {f"{name}-other"}
    assert listed("--duration-filter", "PT10H") == set()
    assert listed("--duration-filter", "36000000") == set()
    assert listed("--duration-filter", "9" * 30) == set()
    eventually(lambda: listed("--duration-filter", "0"), lambda found: found == {name})
    assert run("transactions", "list", "--state", "Ongoing", "--producer-id", str(other.producer_id)) == ""
    assert run.stderr == "There are no such transactions.\n"
    assert "INVALID_REGULAR_EXPRESSION" in run.fails("transactions", "list", "--transactional-id-pattern", "(")


@BOTH
def test_abort_by_transactional_id(
    run: CommandLine, cluster: Cluster, name: str, topic: str, ongoing: TransactionalProducer
) -> None:
    """It ends in all its partitions, readers get on, and its producer is not heard any more."""
    first = TopicPartition(topic, 0)
    assert last_stable_offset(cluster, first) == 0
    (aborted,) = run.json("transactions", "abort", name)["aborted"]
    assert run.stderr == (
        f"Aborted the transaction of '{name}' in {topic}-0, {topic}-1. Its producer, id {ongoing.producer_id} epoch "
        f"{ongoing.producer_epoch}, is fenced.\n"
    )
    assert aborted["partitions"] == [{"topic": topic, "partition": index} for index in (0, 1)]
    assert (aborted["producer_id"], aborted["producer_epoch"]) == (ongoing.producer_id, ongoing.producer_epoch)
    assert last_stable_offset(cluster, first) == 2, "the record and the marker"
    assert [each["transaction_start_offset"] for each in run.json("transactions", "producers", topic)] == [None, None]
    assert ongoing.try_to_produce(first)[0] is ErrorCode.INVALID_PRODUCER_EPOCH
    assert ongoing.end(committed=True) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    error = f"stoker transactions: transactional id '{name}' has no open transaction: it is "
    assert run.fails("transactions", "abort", name).startswith(error)


@BOTH
def test_nothing_is_aborted_if_one_cannot_be(
    run: CommandLine, cluster: Cluster, name: str, ongoing: TransactionalProducer
) -> None:
    TransactionalProducer(cluster, f"{name}-idle")
    error = f"stoker transactions: transactional id '{name}-idle' has no open transaction: it is Empty"
    assert run.fails("transactions", "abort", name, f"{name}-idle") == error
    assert run.json("transactions", "describe", name)[0]["state"] == "Ongoing"


@BOTH
def test_a_hanging_transaction_is_found_and_aborted(
    run: CommandLine, cluster: Cluster, name: str, topic: str, hanging: int, ongoing: TransactionalProducer
) -> None:
    """One that its coordinator will end is not taken for one, however old; the command that is shown ends the other."""
    second = TopicPartition(topic, 1)
    assert hanging == 2, "behind a record and a marker"
    assert last_stable_offset(cluster, second) == 2
    header, row = run.rows("transactions", "find-hanging", "--topic", topic)
    assert header == [
        "TOPIC",
        "PARTITION",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "COORDINATOR-EPOCH",
        "START-OFFSET",
        "LAST-TIMESTAMP",
        "DURATION",
        "TRANSACTIONAL-ID",
    ]
    assert row[:2] == [topic, "1"]
    assert row[5] == "2"
    assert row[7:] == ["1h", f"{name}-old"]
    command = f"stoker transactions abort --topic {topic} --partition 1 --start-offset 2"
    assert run.stderr == f"`{command}` aborts the first of them.\n"
    (found,) = [each for each in run.json("transactions", "find-hanging", "--broker", "1") if each["topic"] == topic]
    assert (found["partition"], found["transaction_start_offset"]) == (1, 2)
    assert found["duration_ms"] >= HOUR_MS
    younger = ["--topic", topic, "--max-transaction-timeout", "61"]
    assert run("transactions", "find-hanging", *younger) == ""
    assert run.stderr == "No transactions hang. Partitions that were looked at: 2.\n"

    (aborted,) = run.json(*command.split()[1:])["aborted"]
    assert (aborted["topic"], aborted["partition"], aborted["transaction_start_offset"]) == (topic, 1, 2)
    assert f"The last transaction of this producer, '{name}-old', was committed: if these" in run.stderr
    assert run.stderr.endswith(f" in {topic}-1 that started at offset 2.\n")
    assert run.json("transactions", "find-hanging", "--topic", topic, "--partition", "1") == []
    assert last_stable_offset(cluster, second) == 4
    assert run.json("transactions", "describe", name)[0]["state"] == "Ongoing"


@pytest.mark.java
@BOTH
def test_kafkas_tool_agrees(
    run: CommandLine, name: str, topic: str, hanging: int, ongoing: TransactionalProducer
) -> None:
    """kafka-transactions.sh finds the same transaction hanging, and says the same of it."""
    tool = ["java", *FAST_START, "-cp", CLASS_PATH, "org.apache.kafka.tools.TransactionsCommand"]
    printed = subprocess.run(
        [*tool, "--bootstrap-server", run.address, "find-hanging", "--topic", topic],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    _, *rows = [line.split() for line in printed.splitlines()]
    ours = [
        [each["topic"], *(str(each[key]) for key in COLUMNS_OF_KAFKAS_TOOL)]
        for each in run.json("transactions", "find-hanging", "--topic", topic)
    ]
    assert len(ours) == 1
    assert [row[:7] for row in rows] == ours


@BOTH
def test_a_transaction_of_a_producer_that_no_coordinator_knows(run: CommandLine, name: str, topic: str) -> None:
    """Whose id has expired, say: nobody will ever end it, and no transaction of it has ended here before."""
    with without_verification(run.address) as cluster:
        stranger = TransactionalProducer(cluster, name, producer_id=987_654_321)
        assert stranger.produce(TopicPartition(topic, 0), age_ms=HOUR_MS) == 0
    (found,) = run.json("transactions", "find-hanging", "--topic", topic)
    assert (found["producer_id"], found["coordinator_epoch"]) == (987_654_321, None)
    assert (found["transactional_id"], found["state"]) == (None, None)
    run("transactions", "abort", "-t", topic, "-p", "0", "--start-offset", "0")
    assert run.stderr == (
        f"Aborted the transaction of producer id 987654321 epoch 0 in {topic}-0 that started at offset 0.\n"
    )
    assert run.json("transactions", "find-hanging", "--topic", topic) == []


@BOTH
def test_what_does_not_hang_is_not_aborted_by_hand(
    run: CommandLine, name: str, topic: str, ongoing: TransactionalProducer
) -> None:
    """A marker in one partition would tear the transaction apart; what is said instead works."""
    place = ["--topic", topic, "--partition", "0", "--start-offset"]
    error = run.fails("transactions", "abort", *place, "0")
    assert error == (
        f"stoker transactions: the transaction in {topic}-0 does not hang: its coordinator knows it as '{name}', "
        f"Ongoing; `stoker transactions abort {name}` aborts it in all its partitions"
    )
    assert run.fails("transactions", "abort", *place, "7").endswith(
        f"{topic}-0 has no open transaction that starts at offset 7; those that are open start at 0"
    )
    run("transactions", "abort", name)
    assert run.fails("transactions", "abort", *place, "0").endswith(
        f"{topic}-0 has no open transaction that starts at offset 0; none is open there"
    )


@BOTH
def test_names_that_are_mistyped(run: CommandLine, name: str, topic: str, ongoing: TransactionalProducer) -> None:
    error = f"stoker transactions: transactional id '{name}x' does not exist; did you mean '{name}'?"
    assert run.fails("transactions", "describe", f"{name}x") == error
    assert run.fails("transactions", "abort", name, f"{name}x") == error
    assert run.json("transactions", "describe", name)[0]["state"] == "Ongoing", "nothing is aborted"
    assert "does not exist; did you mean" in run.fails("transactions", "producers", f"{topic}x")
    assert "does not exist; did you mean" in run.fails("transactions", "find-hanging", "-t", f"{topic}x")
    missing = f"stoker transactions: topic '{topic}' has no partition 7; it has 2, from 0"
    for arguments in (
        ["producers", f"{topic}:7"],
        ["find-hanging", "-t", topic, "-p", "7"],
        ["abort", "-t", topic, "-p", "7", "--start-offset", "0"],
    ):
        assert run.fails("transactions", *arguments) == missing
    brokers = ", ".join(str(each["id"]) for each in run.json("brokers"))
    for command in (["find-hanging"], ["producers", topic]):
        assert run.fails("transactions", *command, "--broker", "7") == (
            f"stoker transactions: there is no broker 7; there are {brokers}"
        )


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["{name}"], "Abort what is open of '{name}' ({topic}-0, {topic}-1), and fence the producer? [y/N]"),
        (
            ["--topic", "{topic}", "--partition", "1", "--start-offset", "2"],
            " in {topic}-1 that starts at offset 2? [y/N]",
        ),
    ],
)
@BOTH
def test_a_person_is_asked(
    run: CommandLine,
    name: str,
    topic: str,
    hanging: int,
    ongoing: TransactionalProducer,
    arguments: list[str],
    question: str,
) -> None:
    command = ["transactions", "abort", *[each.format(name=name, topic=topic) for each in arguments]]
    code, shown = at_a_terminal(run.address, b"n\n", *command)
    assert question.format(name=name, topic=topic) in shown
    assert "Nothing was changed." in shown
    assert code == 1
    assert run.json("transactions", "describe", name)[0]["state"] == "Ongoing"
    assert len(run.json("transactions", "find-hanging", "--topic", topic)) == 1
    code, shown = at_a_terminal(run.address, b"", *command, "--yes")
    assert "[y/N]" not in shown
    assert code == 0


@BOTH
def test_completion(run: CommandLine, name: str, ongoing: TransactionalProducer) -> None:
    assert complete(run, "transactions", "describe", name[:-1]) == [name]
    assert complete(run, "transactions", "abort", "--transactional-id", name[:-1]) == [name]
    assert complete(run, "transactions", "find") == ["find-hanging"]


def test_partitions_of_which_nothing_is_told(run: CommandLine, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, after what is known of the others."""

    def asked(cluster: Cluster, partitions: list[TopicPartition], *, on_broker: int | None) -> Producers:
        first, second = partitions
        return {first: [ActiveProducer(7, 0, 0, 3, 0, 12)], second: KafkaRefused(ErrorCode.LEADER_NOT_AVAILABLE)}

    monkeypatch.setattr("stoker.cli.transactions.describe_producers", asked)
    for command in (["producers", topic], ["find-hanging", "-t", topic]):
        shown = run("transactions", *command, code=1)
        assert shown.splitlines()[1].split()[:3] == [topic, "0", "7"]
        assert f"the producers are not known of {topic}-1 on its leader: " in run.stderr
        assert "LEADER_NOT_AVAILABLE" in run.stderr


def speaking(**highest: int) -> Answer:
    """The answer to ApiVersions of a broker that has Metadata, and of ListTransactions, if at all, old versions."""
    apis = [ApiVersion(api_key=MetadataRequest.API_KEY, min_version=0, max_version=MetadataRequest.MAX_VERSION)]
    apis += [
        ApiVersion(api_key=ListTransactionsRequest.API_KEY, min_version=0, max_version=version)
        for version in highest.values()
    ]
    return lambda asked: framed(asked, ApiVersionsResponse(api_keys=apis))


@pytest.mark.parametrize(
    ("versions", "filters", "words"),
    [
        (speaking(), [], "has no ListTransactions API; Kafka tells of transactions from version 3.0 on"),
        (speaking(list_transactions=0), ["--duration-filter", "1h"], "is too old for this request: ListTransactions"),
        (speaking(list_transactions=1), ["--transactional-id-pattern", "a.*"], "field transactional_id_pattern"),
    ],
)
def test_a_cluster_that_is_too_old(versions: Answer, filters: list[str], words: str) -> None:
    """What it cannot filter by is not passed over: all that it has would be taken for what was asked."""

    def metadata(asked: Asked) -> bytes:
        itself = MetadataResponseBroker(node_id=1, host=broker.address.host, port=broker.address.port)
        return framed(asked, MetadataResponse(brokers=[itself], controller_id=1))

    with scripted_broker(versions, metadata) as broker:
        error = CommandLine(str(broker.address)).fails("transactions", "list", *filters)
    assert error.startswith(f"stoker transactions: the broker at {broker.address} ")
    assert words in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--state", "Ongong"], "did you mean 'Ongoing'?"),
        (["list", "--duration-filter", "soon"], "--duration-filter soon: no duration; the form is PnDTnHnMnS"),
        (["list", "--producer-id", "x"], "'x' is not a whole number"),
        (["list", "--producer-id", str(2**63)], "9223372036854775808 is more than 9223372036854775807"),
        (["describe"], "name one or more transactional ids; `stoker transactions list` shows them"),
        (["producers"], "Missing argument"),
        (["producers", "t:x"], "'t:x' names no partitions"),
        (["abort"], "name one or more transactional ids, or give --topic, --partition and --start-offset"),
        (["abort", "x", "--topic", "t"], "name one or more transactional ids, or give --topic"),
        (
            ["abort", "--topic", "t", "--start-offset", "3"],
            "is named by all of --topic, --partition and --start-offset",
        ),
        (["abort", "--start-offset", "-1"], "-1 is less than 0"),
        (["find-hanging"], "give --topic or --broker: where to look"),
        (["find-hanging", "--broker", "1", "--partition", "0"], "--partition needs --topic"),
    ],
)
def test_wrong_usage(run: CommandLine, arguments: list[str], words: str) -> None:
    assert words in run.fails("transactions", *arguments, code=2)
