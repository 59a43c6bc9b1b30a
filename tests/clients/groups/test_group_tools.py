"""kafka-consumer-groups.sh and the group-reading console consumer, as tutorials write them."""

import json
import signal
import subprocess
from contextlib import closing
from functools import partial
from itertools import takewhile
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.clients.client import WAIT_SECONDS, BrokerRefused, Code, Record
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.groups.group import Group, Groups
from tests.clients.groups.kinds import CONFLUENT, CONFLUENT_CONSUMER, Kind, parameters
from tests.clients.groups.members import Member
from tests.clients.kafka_tools import MAIN_CLASSES, TOOLS, KafkaTools
from tests.clients.records import KEEP_FOREVER

pytestmark = pytest.mark.java

TOOL = "kafka-consumer-groups.sh --bootstrap-server broker1:9092"
COLUMNS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
FIRST_TIMESTAMP = 1_705_276_800_000
"""2024-01-15T00:00:00Z, when a tutorial has offsets reset to."""


@pytest.fixture(scope="module", params=TOOLS)
def tools(request: pytest.FixtureRequest, java: JavaClients) -> KafkaTools:
    """Kafka's own, and ours."""
    return TOOLS[request.param](java)


@pytest.fixture
def orders(orders: str, confluent: ConfluentKafka) -> str:
    """The topic of the tutorials; it keeps records whose time is years ago."""
    confluent.set_topic_configs(orders, KEEP_FOREVER)
    return orders


@pytest.fixture
def group(groups: Groups, orders: str, confluent: ConfluentKafka) -> Group:
    """The group of the tutorials. Of its topic, each partition has ten records, one a second from FIRST_TIMESTAMP - 5 s on."""
    confluent.forget_group("order-processing-group")
    confluent.produce(
        orders,
        [
            Record(value=b"", partition=partition, timestamp=FIRST_TIMESTAMP + (number - 5) * 1_000)
            for partition in range(3)
            for number in range(10)
        ],
    )
    return groups.new(CONFLUENT, name="order-processing-group", topic=orders)


@pytest.fixture
def member(group: Group) -> Member:
    """Its only member; it has committed 4 of partition 0 and 10 of partition 1."""
    member = group.join()
    group.settle(member)
    member.commit({("orders", 0): 4, ("orders", 1): 10})
    return member


@pytest.fixture
def inactive(group: Group, member: Member) -> Group:
    """The group without its member, but with its commits."""
    member.leave()
    return group


def table(text: str) -> list[list[str]]:
    """The words of each line that is one of a table."""
    return [words for line in text.splitlines() if len(words := line.split()) > 1]


@pytest.mark.acceptance("C046")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, CONFLUENT_CONSUMER]))
def test_groups_of_both_protocols_are_listed(kind: Kind, tools: KafkaTools, groups: Groups) -> None:
    """`--list` has one group id a line; with --state and --type a table, which can be narrowed to a state and a type."""
    group = groups.new(kind)
    group.settle(group.join())
    group.wait_until_stable()
    assert group.name in tools.output(f"{TOOL} --list").splitlines()
    kinds = {"classic": "Classic", "consumer": "Consumer"}
    assert [group.name, kinds[kind.protocol], "Stable"] in [
        line.split() for line in tools.output(f"{TOOL} --list --state --type").splitlines()
    ]
    other = {"classic": "consumer", "consumer": "classic"}[kind.protocol]
    assert group.name in tools.output(f"{TOOL} --list --state stable --type {kind.protocol}")
    assert group.name not in tools.output(f"{TOOL} --list --type {other}")
    assert group.name not in tools.output(f"{TOOL} --list --state empty")


@pytest.mark.acceptance("B098", "C047", "C052", "C057", "S122", "S123")
def test_an_active_group_is_described(tools: KafkaTools, group: Group, member: Member) -> None:
    """One row a partition with lag, the end offset less the committed one, and its member; without a commit both are a dash."""
    header, *rows = table(tools.output(f"{TOOL} --describe --group order-processing-group"))
    assert header == COLUMNS
    consumer_id = rows[0][6]
    assert consumer_id.startswith(member.name)
    here = [consumer_id, "/127.0.0.1", member.name]
    assert rows == [
        [group.name, "orders", "0", "4", "10", "6", *here],
        [group.name, "orders", "1", "10", "10", "0", *here],
        [group.name, "orders", "2", "-", "10", "-", *here],
    ]
    _, [*line] = table(tools.output(f"{TOOL} --describe --group {group.name} --members --verbose"))
    assert line == [group.name, *here, "3", "-", "orders:0,1,2", "-", "-"]
    [*_, strategy, state, count] = table(tools.output(f"{TOOL} --describe --group {group.name} --state"))[1]
    assert (strategy, state, count) == ("range", "Stable", "1")


@pytest.mark.acceptance("C047", "C053", "C054")
def test_an_inactive_group_is_described(tools: KafkaTools, inactive: Group) -> None:
    """Without members a note goes to stderr and their columns are dashes; LAG is the sixth of all groups' columns; an unknown group is named."""
    finished = tools.run(f"{TOOL} --describe --group order-processing-group")
    assert finished.error.strip() == "Consumer group 'order-processing-group' has no active members."
    rows = [
        [inactive.name, "orders", "0", "4", "10", "6", "-", "-", "-"],
        [inactive.name, "orders", "1", "10", "10", "0", "-", "-", "-"],
    ]
    assert table(finished.output) == [COLUMNS, *rows]
    everything = table(tools.output(f"{TOOL} --describe --all-groups"))
    assert COLUMNS in everything
    assert [words for words in everything if words[0] == inactive.name] == rows
    assert "Group my-consumer-group not found." in tools.run(f"{TOOL} --describe --group my-consumer-group").output


@pytest.mark.acceptance("B088", "B089", "C048", "C051")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, CONFLUENT_CONSUMER]))
def test_an_active_group_keeps_what_it_has(
    kind: Kind, tools: KafkaTools, groups: Groups, confluent: ConfluentKafka
) -> None:
    """While a member is in, offsets are not reset, the group is not deleted (GROUP_NOT_EMPTY), nor are offsets of a topic it reads."""
    group = groups.new(kind)
    group.produce(30)
    member = group.join()
    group.settle(member)
    member.commit({(group.topic, 0): 4})
    reset = tools.output(f"{TOOL} --group {group.name} --topic {group.topic} --reset-offsets --to-earliest --execute")
    assert (
        f"Error: Assignments can only be reset if the group '{group.name}' is inactive, but the current state is Stable."
        in reset
    )
    assert "GroupNotEmptyException" in tools.output(f"{TOOL} --delete --group {group.name}")
    with pytest.raises(BrokerRefused) as refusal:
        confluent.delete_group(group.name)
    assert refusal.value.code == Code.NON_EMPTY_GROUP
    deleted = tools.output(f"{TOOL} --delete-offsets --group {group.name} --topic {group.topic}:0")
    assert "GroupSubscribedToTopicException" in deleted
    assert group.committed() == {(group.topic, 0): 4}


RESETS = {
    "--to-earliest": [0, 0, 0],
    "--to-latest": [10, 10, 10],
    "--to-offset 7": [7, 7, 7],
    "--to-offset 500": [10, 10, 10],
    "--to-offset -1": [0, 0, 0],
    "--to-current": [4, 10, 10],
    "--shift-by -3": [1, 7],
    "--shift-by 3": [7, 10],
    "--shift-by -100": [0, 0],
    "--to-datetime 2024-01-15T00:00:00.000": [5, 5, 5],
    "--to-datetime 2024-01-15T00:00:00.500Z": [6, 6, 6],
    "--to-datetime 2026-02-01T00:00:00.000": [10, 10, 10],
    "--by-duration PT1H": [10, 10, 10],
    "--by-duration P10000D": [0, 0, 0],
}


@pytest.mark.acceptance("C048", "C050", "C058", "C060")
def test_offsets_are_reset_to_each_target(tools: KafkaTools, inactive: Group) -> None:
    """The plan names GROUP TOPIC PARTITION NEW-OFFSET; out of range is the nearest end; --execute commits it and a dry run does not."""
    before = inactive.committed()
    reset = f"{TOOL} --group order-processing-group --reset-offsets"
    for target, expected in RESETS.items():
        scope = "--topic orders:0,1" if len(expected) == 2 else "--topic orders"
        header, *rows = table(tools.output(f"{reset} {scope} {target} --dry-run"))[-len(expected) - 1 :]
        assert (target, header) == (target, ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"])
        assert (target, rows) == (
            target,
            [[inactive.name, "orders", str(partition), str(offset)] for partition, offset in enumerate(expected)],
        )
    assert inactive.committed() == before
    for target in ("--to-earliest", "--to-datetime 2024-01-15T00:00:00.000", "--to-latest"):
        assert len(table(tools.output(f"{reset} --topic orders {target} --execute"))) == 4
        assert inactive.committed() == {("orders", number): offset for number, offset in enumerate(RESETS[target])}


@pytest.mark.acceptance("C049", "C056", "C059")
def test_a_reset_is_narrow_and_careful(tools: KafkaTools, inactive: Group, tmp_path: Path) -> None:
    """One partition alone is reset, beyond its end to the end; without a scope, a target or --execute nothing happens; a plan travels by file."""
    reset = f"{TOOL} --group order-processing-group --reset-offsets"
    done = tools.output(f"{reset} --topic orders:0 --to-offset 500 --execute")
    assert table(done)[-1] == [inactive.name, "orders", "0", "10"]
    committed = {("orders", 0): 10, ("orders", 1): 10}
    assert inactive.committed() == committed
    assert (
        "No action will be performed as the --execute option is missing"
        in tools.run(f"{reset} --topic orders --to-earliest").error
    )
    assert "takes one of these options: " in tools.complaint(f"{TOOL} --reset-offsets")
    assert "requires one of the following scenarios: " in tools.complaint(f"{reset} --all-topics")
    assert "Invalid topic arg 'orders:2:10000'" in tools.complaint(
        f"{reset} --topic orders:2:10000 --to-offset 10000 --execute"
    )
    assert inactive.committed() == committed

    plan = tmp_path / "plan.csv"
    plan.write_text(tools.output(f"{reset} --all-topics --shift-by -2 --export --dry-run"))
    assert plan.read_text().split() == ["orders,0,8", "orders,1,8"]
    done = tools.output(f"{reset} --from-file {plan} --execute")
    assert table(done)[-2:] == [[inactive.name, "orders", partition, "8"] for partition in "01"]
    assert inactive.committed() == {("orders", 0): 8, ("orders", 1): 8}


@pytest.mark.acceptance("B072", "C051", "C055")
def test_a_group_is_deleted(tools: KafkaTools, inactive: Group, confluent: ConfluentKafka) -> None:
    """The commits are records of __consumer_offsets that name the next offset; a deleted group leaves tombstones; an unknown one is GROUP_ID_NOT_FOUND."""
    assert offsets_topic(tools, confluent, inactive.name) == {0: 4, 1: 10, 2: None}
    deleted = tools.output(f"{TOOL} --delete-offsets --group {inactive.name} --topic orders:1")
    assert table(deleted)[1:] == [["TOPIC", "PARTITION", "STATUS"], ["orders", "1", "Successful"]]
    assert inactive.committed() == {("orders", 0): 4}
    done = f"Deletion of requested consumer groups ('{inactive.name}') was successful."
    assert done in tools.output(f"{TOOL} --delete --group order-processing-group")
    assert inactive.name not in tools.output(f"{TOOL} --list").splitlines()
    assert offsets_topic(tools, confluent, inactive.name) == {0: None, 1: None, 2: None}
    assert "GroupIdNotFoundException" in tools.output(f"{TOOL} --delete --group old-group")


def record_count(bootstrap_servers: str, topic: str, partition: int) -> int:
    """Less than its offsets, where transactions have ended."""
    properties = {"bootstrap.servers": bootstrap_servers, "group.id": "counting", "enable.partition.eof": True}
    with closing(Consumer(properties | {"enable.auto.commit": False})) as consumer:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        polled = iter(partial(consumer.poll, WAIT_SECONDS), None)
        return len(list(takewhile(lambda record: record.error() is None, polled)))


def offsets_topic(tools: KafkaTools, confluent: ConfluentKafka, group: str) -> dict[int, int | None]:
    """What the offsets topic says last of each of three partitions, as Kafka's own formatter reads it; nothing and a tombstone are None."""
    partitions = confluent.partition_count("__consumer_offsets")
    partition = java_hash(group) % partitions
    count = record_count(confluent.bootstrap_servers, "__consumer_offsets", partition)
    text = tools.output(
        f"kafka-console-consumer.sh --bootstrap-server broker1:9092 --topic __consumer_offsets --partition {partition}"
        f" --offset earliest --max-messages {count} --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
    )
    found: dict[int, int | None] = dict.fromkeys(range(3))
    for record in json.loads(f"[{text.replace('}{', '},{')}]"):  # the formatter ends no lines
        key, value = record["key"]["data"], record["value"]
        if key["group"] == group:
            found[key["partition"]] = None if value is None else value["data"]["offset"]
    return found


def java_hash(text: str) -> int:
    """String.hashCode without its sign, by which Kafka chooses a partition of the offsets topic."""
    found = 0
    for letter in text:
        found = (found * 31 + ord(letter)) & 0xFFFFFFFF
    return abs(found - (1 << 32) if found >> 31 else found)


@pytest.mark.acceptance("C036", "C038")
def test_the_console_consumer_reads_in_a_group(tools: KafkaTools, orders: str, confluent: ConfluentKafka) -> None:
    """Keys and timestamps are printed with their separator, a null key as null, and it stops at the number asked for."""
    confluent.produce(orders, [Record(key=b"order-123", value=b'{"amount":99.99}', timestamp=1_700_000_000_000)])
    consume = "kafka-console-consumer.sh --bootstrap-server broker1:9092 --topic orders --from-beginning"
    keyed = tools.output(f'{consume} --property print.key=true --property key.separator=" | " --max-messages 1')
    assert keyed.splitlines()[-1:] == ['order-123 | {"amount":99.99}']
    confluent.produce(orders, [Record(value=b"keyless", timestamp=1_700_000_000_000)] * 9)
    timed = tools.output(f"{consume} --max-messages 5 --property print.key=true --property print.timestamp=true")
    assert timed.splitlines()[-5:] == [
        'CreateTime:1700000000000\torder-123\t{"amount":99.99}',
        *["CreateTime:1700000000000\tnull\tkeyless"] * 4,
    ]


@pytest.mark.acceptance("C008")
def test_the_console_consumer_streams_until_it_is_interrupted(confluent: ConfluentKafka) -> None:
    """It prints what is there, then what comes, and Ctrl-C ends it with a count."""
    confluent.create_anew("test")
    confluent.produce("test", [Record(value=b"hello kafka")])
    main = MAIN_CLASSES["kafka-console-consumer.sh"]
    arguments = ["--topic", "test", "--from-beginning", "--bootstrap-server", confluent.bootstrap_servers]
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    consumer = subprocess.Popen(
        ["java", *FAST_START, logging, "-cp", CLASS_PATH, main, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "hello kafka\n"
        confluent.produce("test", [Record(value=b"more")])
        assert consumer.stdout.readline() == "more\n"
        consumer.send_signal(signal.SIGINT)
        _, error = consumer.communicate(timeout=WAIT_SECONDS)
        assert "Processed a total of 2 messages" in error
    finally:
        consumer.kill()
        consumer.communicate()
