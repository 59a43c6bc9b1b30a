"""`stoker consume` against a real broker."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.apache_kafka import ApacheKafka
from tests.cli.running import Finished, create_topic, read_topic, run, running, wait_until
from tests.faults.broker_process import STOKER, BrokerProcess

TIME: Final = 1_767_225_600_000  # 2026-01-01T00:00:00Z
UNREACHABLE: Final = "127.0.0.1:1"

ORDERS: Final = [
    # value, partition and hour; partition 2 has nothing
    ("apple", 0, 0),
    ("banana", 0, 2),
    ("cherry", 0, 4),
    ("damson", 1, 1),
    ("elder", 1, 3),
    ("fig", 1, 5),
]
ALL: Final = ["apple", "banana", "cherry", "damson", "elder", "fig"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """In a process of its own, as in tests/clients/conftest.py, and for the same reason."""
    config = {
        "auto.create.topics.enable": False,
        "group.initial.rebalance.delay.ms": 0,
        "group.consumer.min.heartbeat.interval.ms": 100,
        "group.consumer.heartbeat.interval.ms": 100,  # a member learns at its next heartbeat what it is to read
        "log.retention.ms": -1,  # these records are from New Year
    }
    with BrokerProcess(tmp_path_factory.mktemp("broker"), options=config) as started:
        address = started.bootstrap_servers
        for name, partitions in {"orders": 3, "letters": 1, "odd": 1, "live": 2, "shared": 2, "copy": 2}.items():
            create_topic(address, name, partitions)
        producer = Producer({"bootstrap.servers": address})
        for value, partition, hour in ORDERS:
            producer.produce("orders", value, value[0], partition, timestamp=TIME + hour * 3_600_000)
        for letter in "abcdefghij":
            producer.produce("letters", letter, timestamp=TIME)
        producer.produce("odd", None, b"\xff", headers=[("a", b"1"), ("a", None), ("b", b"\xfe")], timestamp=TIME)
        producer.produce("odd", "grün".encode(), timestamp=TIME)
        assert producer.flush(30) == 0
        yield started


def consume(broker: BrokerProcess, *arguments: str) -> Finished:
    return run(broker.bootstrap_servers, "consume", *arguments)


def produce(broker: BrokerProcess, topic: str, *values: str, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


END: Final = ["--until", "end"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        # Where to begin
        (["--from-beginning", *END], ALL),
        (["--offset", "earliest", *END], ALL),
        (["--offset", "1", "-p", "0", "-p", "1", *END], ["banana", "cherry", "elder", "fig"]),
        (["--offset", "-1", *END], ["cherry", "fig"]),
        (["--offset", "1:2", *END], ["fig"]),
        (["-o", "0:1,1:-1", *END], ["banana", "cherry", "fig"]),
        (["--from", "2026-01-01T03:00", *END], ["cherry", "elder", "fig"]),
        (["--from", str(TIME + 3_600_001), *END], ["banana", "cherry", "elder", "fig"]),
        (["--from", "1969-01-01", *END], ALL),
        (["--from", "-1s", *END], []),
        (END, []),
        (["--offset", "latest", *END], []),
        # Which
        (["--partition", "1", "--from-beginning", *END], ["damson", "elder", "fig"]),
        (["--partition", "2", "--from-beginning", *END], []),
        (["--from-beginning", "--grep", "an|ig", *END], ["banana", "fig"]),
        (["--from-beginning", "--grep-key", "^[ab]$", *END], ["apple", "banana"]),
        (["--from-beginning", "--grep", "e", "--grep-key", "a", *END], ["apple"]),
        # Where to stop
        (["--from-beginning", "--until", "2026-01-01T03:00Z"], ["apple", "banana", "damson"]),
        (["--from-beginning", "-p", "0", "--max", "2"], ["apple", "banana"]),
        (["--from-beginning", "--grep", "e", "-p", "1", "-n", "1"], ["elder"]),
        (["--from-beginning", "--timeout", "1.5"], ALL),
        (["--from-beginning", "--until", "now"], ALL),
    ],
)
def test_what_is_read(broker: BrokerProcess, arguments: list[str], values: list[str]) -> None:
    finished = consume(broker, "orders", *arguments)
    assert (finished.code, sorted(finished.lines)) == (0, values)
    if "--grep" not in arguments and "--grep-key" not in arguments:
        counted = "1 record" if len(values) == 1 else f"{len(values)} records"
        assert finished.err == f"consumed {counted}\n"


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--last", "1"], ["fig"]),
        (["--last", "3"], ["elder", "cherry", "fig"]),
        (["--last", "5"], ["damson", "banana", "elder", "cherry", "fig"]),
        (["--last", "100"], ["apple", "damson", "banana", "elder", "cherry", "fig"]),
        (["--last", "2", "--partition", "0"], ["banana", "cherry"]),
        (["--last", "1", "--partition", "2"], []),
        (["--last", "3", "--grep", "r"], ["elder", "cherry"]),
        (["--last", "3", "--max", "2"], ["elder", "cherry"]),
    ],
)
def test_the_last_of_all_partitions_in_order_of_time(
    broker: BrokerProcess, arguments: list[str], values: list[str]
) -> None:
    assert consume(broker, "orders", *arguments, "--until", "end").lines == values


def test_what_grep_leaves_out_is_counted(broker: BrokerProcess) -> None:
    finished = consume(broker, "orders", "--from-beginning", "--until", "end", "--grep", "fig")
    assert finished.err == "consumed 6 records, 1 of them matched\n"


def test_several_topics(broker: BrokerProcess) -> None:
    finished = consume(broker, "orders", "letters", "--from-beginning", "--until", "end", "--format", r"%t:%s\n")
    assert sorted(finished.lines) == sorted(
        [f"orders:{value}" for value in ALL] + [f"letters:{each}" for each in "abcdefghij"]
    )


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ([], b"null\ngr\xc3\xbcn\n"),
        (["--null-value", "-"], b"-\ngr\xc3\xbcn\n"),
        (["--show", "key,offset"], b"Offset:0\t\xff\tnull\nOffset:1\tnull\tgr\xc3\xbcn\n"),
        (["--format", r"%p/%o %T %k=%s %S;"], b"0/0 %d \xff= -1;0/1 %d =gr\xc3\xbcn 5;" % (TIME, TIME)),
        (["--format", r"%s\0", "--null-value", "NULL"], b"NULL\0gr\xc3\xbcn\0"),
    ],
)
def test_formats(broker: BrokerProcess, arguments: list[str], output: bytes) -> None:
    assert consume(broker, "odd", "--from-beginning", "--until", "end", *arguments).out == output


def test_json(broker: BrokerProcess) -> None:
    lines = consume(broker, "odd", "--from-beginning", "--until", "end", "--json").lines
    assert [json.loads(line) for line in lines] == [
        {
            "topic": "odd",
            "partition": 0,
            "offset": 0,
            "timestamp": TIME,
            "timestamp_type": "CreateTime",
            "key": "/w==",
            "key_encoding": "base64",
            "value": None,
            "headers": [
                {"key": "a", "value": "1"},
                {"key": "a", "value": None},
                {"key": "b", "value": "/g==", "encoding": "base64"},
            ],
        },
        {
            "topic": "odd",
            "partition": 0,
            "offset": 1,
            "timestamp": TIME,
            "timestamp_type": "CreateTime",
            "key": None,
            "value": "grün",
            "headers": [],
        },
    ]


def test_what_was_consumed_can_be_produced_again(broker: BrokerProcess) -> None:
    address = broker.bootstrap_servers
    for topic in ("odd", "orders"):
        create_topic(address, f"again-{topic}-x", 3)
        lines = consume(broker, topic, "--from-beginning", "--until", "end", "--json").out
        assert run(address, "produce", f"again-{topic}-x", "--json-lines", stdin=lines).code == 0
        assert read_topic(address, f"again-{topic}-x") == read_topic(address, topic)


# Following ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_follows_until_a_signal(broker: BrokerProcess, number: signal.Signals) -> None:
    """What comes is written at once; ending that way is the normal end, with a count and exit code 0."""
    with running(broker.bootstrap_servers, "consume", "letters", "live", "--last", "1") as command:
        first = command.wait_for_lines(1)
        produce(broker, "live", "new", partition=1)
        assert command.wait_for_lines(2) == [*first, b"new"]
        finished = command.finish(number)
    assert (finished.code, finished.err) == (0, "consumed 2 records\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_end_that_was_asked_for(broker: BrokerProcess, number: signal.Signals, code: int) -> None:
    with running(broker.bootstrap_servers, "consume", "letters", "--from-beginning", "--max", "11") as command:
        command.wait_for_lines(10)
        finished = command.finish(number)
    assert (finished.code, finished.err) == (code, "consumed 10 records\n")


def test_until_a_moment_to_come(broker: BrokerProcess) -> None:
    finished = consume(broker, "orders", "--from-beginning", "--until", str(TIME * 2), "--max", "6")
    assert sorted(finished.lines) == ALL


@pytest.mark.parametrize("lines", [1, 10])
def test_a_reader_that_has_enough(broker: BrokerProcess, lines: int) -> None:
    """`| head` ends it quietly, also when there is nothing more to write and so no write can fail."""
    piped = subprocess.run(
        ["bash", "-c", f'"{STOKER}" consume letters --from-beginning | head -{lines}; echo "${{PIPESTATUS[0]}}"'],
        env=os.environ | {"STOKER_BOOTSTRAP_SERVER": broker.bootstrap_servers},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert piped.stdout.splitlines() == [*"abcdefghij"[:lines], "141"]
    assert piped.stderr == ""


def test_a_broker_that_comes_back(tmp_path: Path) -> None:
    """It is said once that nobody can be reached; what comes afterwards is written."""
    broker = BrokerProcess(tmp_path)
    with broker:
        create_topic(broker.bootstrap_servers, "orders")
        with running(broker.bootstrap_servers, "consume", "orders", "--from-beginning") as command:
            assert run(broker.bootstrap_servers, "produce", "orders", stdin=b"before\n").code == 0
            command.wait_for_lines(1)
            broker.stop(signal.SIGTERM)
            wait_until(lambda: b"\n" in command.err)
            broker.start()
            assert run(broker.bootstrap_servers, "produce", "orders", stdin=b"after\n").code == 0
            assert command.wait_for_lines(2) == [b"before", b"after"]
            finished = command.finish(signal.SIGINT)
    assert re.fullmatch(r"no broker can be reached: .*; trying again\nconsumed 2 records\n", finished.err)


# Groups -------------------------------------------------------------------------------------------------------------


def committed(broker: BrokerProcess, group: str, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    try:
        partitions = consumer.list_topics(topic, 30).topics[topic].partitions
        found = consumer.committed([TopicPartition(topic, number) for number in partitions], timeout=30)
        return {each.partition: each.offset for each in found if each.offset >= 0}
    finally:
        consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_where_it_was(broker: BrokerProcess, protocol: str) -> None:
    """What was written is committed, and no more; the next member begins there."""
    group = ["--group", f"group-{protocol}", "--group-protocol", protocol, "--from-beginning"]
    first = consume(broker, "letters", *group, "--max", "4")
    assert (first.code, first.lines) == (0, list("abcd"))
    assert committed(broker, f"group-{protocol}", "letters") == {0: 4}
    matching = consume(broker, "letters", *group, "--grep", "f", "--max", "1")
    assert matching.lines == ["f"]
    assert committed(broker, f"group-{protocol}", "letters") == {0: 6}
    rest = consume(broker, "letters", *group, "--until", "end")
    assert rest.lines == list("ghij")
    nothing = consume(broker, "letters", *group, "--until", "end")
    assert (nothing.code, nothing.lines) == (0, [])


def test_a_group_and_a_signal(broker: BrokerProcess) -> None:
    """What was written is committed, and the member leaves at once: the next gets its partitions without a time-out."""
    produce(broker, "shared", *"abc")
    produce(broker, "shared", *"de", partition=1)
    arguments = ["consume", "shared", "--group", "readers", "--from-beginning"]
    with running(broker.bootstrap_servers, *arguments) as command:
        assert sorted(command.wait_for_lines(5)) == [b"a", b"b", b"c", b"d", b"e"]
        finished = command.finish(signal.SIGINT)
    assert (finished.code, finished.err) == (0, "consumed 5 records\n")
    assert committed(broker, "readers", "shared") == {0: 3, 1: 2}
    produce(broker, "shared", "f")
    with running(broker.bootstrap_servers, *arguments, "--max", "1") as command:
        assert command.wait().lines == ["f"]


def test_a_group_begins_with_what_comes(broker: BrokerProcess) -> None:
    """Without --from-beginning, where nothing is committed."""
    finished = consume(broker, "letters", "--group", "newcomer", "--until", "end")
    assert (finished.code, finished.lines) == (0, [])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_group_has_not_read_yet_is_not_passed_over(broker: BrokerProcess, protocol: str) -> None:
    """Where nothing was read the start is committed, so that lag is seen and the next member begins there."""
    topic = f"unread-{protocol}"
    create_topic(broker.bootstrap_servers, topic, partitions=3)
    for partition in range(3):
        produce(broker, topic, "a", "b", partition=partition)
    group = ["--group", topic, "--group-protocol", protocol]
    first = consume(broker, topic, *group, "--from-beginning", "--max", "1")
    assert first.code == 0
    assert sorted(committed(broker, topic, topic).values()) == [0, 0, 1]
    rest = consume(broker, topic, *group, "--until", "end")  # would begin at the end where nothing is committed
    assert len(rest.lines) == 5
    assert committed(broker, topic, topic) == {0: 2, 1: 2, 2: 2}


def test_a_pattern_that_nothing_matches_yet(broker: BrokerProcess) -> None:
    finished = consume(broker, "^not-yet.*", "--group", "patient", "--timeout", "1")
    assert (finished.code, finished.err) == (0, "consumed 0 records\n")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_and_a_pattern(broker: BrokerProcess, protocol: str) -> None:
    finished = consume(
        broker, "^(letters|odd)$", "--group", f"patterns-{protocol}", "--group-protocol", protocol,
        "--from-beginning", "--max", "12",
    )  # fmt: skip
    assert (finished.code, len(finished.lines)) == (0, 12)


def test_without_a_group_nothing_is_committed(broker: BrokerProcess) -> None:
    assert consume(broker, "letters", "--from-beginning", "--until", "end").code == 0
    assert committed(broker, "stoker-consume", "letters") == {}


def test_the_group_of_a_file_is_not_joined_by_the_way(broker: BrokerProcess, tmp_path: Path) -> None:
    file = tmp_path / "application.properties"
    file.write_text("group.id=mine\n")
    finished = consume(broker, "letters", "--last", "1", "--until", "end", "--command-config", str(file))
    assert finished.lines == ["j"]
    assert finished.err.startswith("group.id of the file is left aside: --group NAME joins a group\n")
    assert committed(broker, "mine", "letters") == {}


# What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ordrs"], "topic 'ordrs' does not exist; did you mean 'orders'?"),
        (["ordrs", "--group", "g"], "topic 'ordrs' does not exist; did you mean 'orders'?"),
        (["orders", "-p", "3"], "topic 'orders' has no partition 3; it has partitions 0 to 2"),
        (["letters", "-o", "1:0"], "topic 'letters' has no partition 1; it has only partition 0"),
        (["letters", "--offset", "11"], "letters-0 has no offset 11: it goes from 0 to 10"),
        (["^[", "--group", "g"], "'^[': no regular expression that librdkafka takes"),
    ],
)
def test_failures(broker: BrokerProcess, arguments: list[str], complaint: str) -> None:
    finished = consume(broker, *arguments)
    assert finished.code == 1
    assert finished.err.startswith(f"stoker consume: {complaint}")
    assert finished.err.count("\n") == 1


def test_an_unreachable_broker_is_named_once() -> None:
    finished = run(UNREACHABLE, "consume", "orders")
    assert finished.code == 1
    assert finished.err.startswith(f"stoker consume: cannot connect to {UNREACHABLE}: Connection refused")
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--from-beginning", "--last", "3"], "--from-beginning, --offset, --from and --last exclude each other"),
        (["--offset", "x"], "--offset: 'x' is no offset"),
        (["--from", "noon"], "--from: 'noon' is no point in time"),
        (["--until", "noon"], "--until: 'noon' is no point in time"),
        (["--json", "--show", "key"], "--show, --format and --json exclude each other"),
        (["--json", "--null-value", "-"], "--null-value and --json exclude each other"),
        (["--show", "keys"], "--show knows no 'keys'"),
        (["--format", "%x"], "knows no %x; the choices are %t topic"),
        (["--grep", "("], "'(' is no regular expression"),
        (["--max", "0"], "0"),
        (["^ord.*"], "the pattern '^ord.*' needs --group"),
        (["--group", "g", "--partition", "0"], "--partition and --group exclude each other"),
        (["--group", "g", "--last", "1"], "a group begins where it has committed"),
        (["--group", "g", "--group-protocol", "new"], "new"),
        (["-X", "group.id=mine"], "--group NAME says which group reads"),
        (["--consumer-property", "fetch.min.byts=1"], "there is no client property 'fetch.min.byts'"),
    ],
)
def test_wrong_usage(arguments: list[str], complaint: str) -> None:
    """Exit code 2, before anything is connected to."""
    finished = run(UNREACHABLE, "consume", "orders", *arguments)
    assert finished.code == 2
    assert complaint in " ".join(finished.err.split())


# Transactions -------------------------------------------------------------------------------------------------------


@pytest.mark.java
def test_offsets_without_records() -> None:
    """Markers of transactions take offsets: the last records are found behind them, and the end is seen past them."""
    with ApacheKafka() as kafka:
        address = kafka.bootstrap_servers
        create_topic(address, "orders")
        producer = Producer({"bootstrap.servers": address, "transactional.id": "t"})
        producer.init_transactions(30)
        for number in range(20):
            producer.begin_transaction()
            producer.produce("orders", str(number))
            producer.flush(30)
            if number % 2:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
        everything = run(address, "consume", "orders", "--from-beginning", "--until", "end")
        assert everything.lines == [str(number) for number in range(20)]
        last = run(address, "consume", "orders", "--last", "15", "--until", "end")
        assert last.lines == [str(number) for number in range(5, 20)]
        read_committed = ["--isolation", "read_committed"]
        committed_only = run(address, "consume", "orders", "--last", "4", "--until", "end", *read_committed)
        assert committed_only.lines == ["13", "15", "17", "19"]
        producer.begin_transaction()
        producer.produce("orders", "open")
        producer.flush(30)
        visible = run(address, "consume", "orders", "--offset", "-1", "--until", "end", *read_committed)
        assert visible.lines == []
        producer.abort_transaction(30)
