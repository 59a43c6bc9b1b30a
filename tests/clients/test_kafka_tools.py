"""Kafka's own command-line tools, as tutorials write them; those of groups are in groups/test_group_tools.py."""

import json
import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from stoker import Broker
from tests.clients.client import Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.kafka_tools import TOOLS, KafkaTools

pytestmark = pytest.mark.java
ON_ONE_BROKER = pytest.mark.embedded_only("of one broker; on three, tests/kafka_tools compares ours with the originals")


@pytest.fixture(scope="module", params=TOOLS)
def tools(request: pytest.FixtureRequest, java: JavaClients) -> KafkaTools:
    """Kafka's own, and ours."""
    return TOOLS[request.param](java)


@pytest.fixture(scope="module")
def broker_id(confluent: ConfluentKafka) -> int:
    return confluent.broker_ids()[0]


def described(text: str) -> list[dict[str, str]]:
    """The lines of `kafka-topics.sh --describe`, each a table from its labels."""
    return [
        {name: value.strip() for name, value in re.findall(r"(\w+): ?([^\t]*)", line)} for line in text.splitlines()
    ]


@pytest.mark.acceptance("C004", "C005")
def test_a_topic_is_created_once_and_listed(tools: KafkaTools, confluent: ConfluentKafka) -> None:
    """`--create` says `Created topic test.`; the second time it fails with TopicExistsException; `--list` is sorted."""
    confluent.delete_if_there("test")
    create = (
        "kafka-topics.sh --create --topic test --partitions 3 --replication-factor 1 --bootstrap-server localhost:9092"
    )
    assert tools.output(create) == "Created topic test.\n"
    assert "TopicExistsException: Topic 'test' already exists." in tools.complaint(create)
    listed = tools.output("kafka-topics.sh --list --bootstrap-server localhost:9092").splitlines()
    assert "test" in listed
    assert listed == sorted(listed)


@ON_ONE_BROKER
@pytest.mark.acceptance("C017", "C018", "C022", "B034")
def test_an_ordered_topic_is_described(
    tools: KafkaTools, confluent: ConfluentKafka, refuses_three_replicas: bool, broker_id: int
) -> None:
    """RF 3 on one broker is refused by Kafka and made 1 by Stoker; `--describe` then shows partitions, leader, replicas, ISR, configs."""
    confluent.delete_if_there("orders")
    create = (
        "kafka-topics.sh --bootstrap-server broker1:9092 --create --topic orders --partitions 6 --replication-factor 3"
        " --config min.insync.replicas=2 --config retention.ms=604800000 # 7 days"
    )
    if refuses_three_replicas:
        assert "InvalidReplicationFactorException" in tools.complaint(create)
        create = create.replace("--replication-factor 3", "--replication-factor 1")
    assert "Created topic orders." in tools.output(create)
    describe = "kafka-topics.sh --bootstrap-server broker1:9092 --describe --topic orders"
    text = eventually(lambda: tools.run(describe).output, lambda output: "Partition: 5" in output)
    topic, *partitions = described(text)
    assert (topic["PartitionCount"], topic["ReplicationFactor"]) == ("6", "1")
    assert re.fullmatch(r"[\w-]{22}", topic["TopicId"])
    assert {"min.insync.replicas=2", "retention.ms=604800000"} <= set(topic["Configs"].split(","))
    assert [each["Partition"] for each in partitions] == list("012345")
    for each in partitions:
        assert (each["Leader"], each["Replicas"], each["Isr"]) == (str(broker_id),) * 3
        assert (each["Elr"], each["LastKnownElr"]) == ("", "")


@pytest.mark.acceptance("C023")
def test_all_topics_are_described(tools: KafkaTools, orders: str) -> None:
    """`--describe` without a topic tells of all; `--unavailable-partitions` and `--under-replicated-partitions` find none."""
    names = {
        line["Topic"] for line in described(tools.output("kafka-topics.sh --bootstrap-server broker1:9092 --describe"))
    }
    listed = set(tools.output("kafka-topics.sh --bootstrap-server broker1:9092 --list").splitlines())
    assert orders in names
    assert names == listed
    for wanted in ("--unavailable-partitions", "--under-replicated-partitions"):
        assert tools.output(f"kafka-topics.sh --bootstrap-server broker1:9092 --describe {wanted}") == ""


@pytest.mark.acceptance("C019", "C025", "B018")
def test_partitions_are_added_and_never_removed(tools: KafkaTools, orders: str, confluent: ConfluentKafka) -> None:
    """`--alter --partitions 12` adds partitions and keeps the data; a lower number is INVALID_PARTITIONS."""
    confluent.produce(orders, [Record(value=b"old")])
    tools.output("kafka-topics.sh --bootstrap-server broker1:9092 --alter --topic orders --partitions 12")
    assert eventually(lambda: confluent.partition_count(orders), lambda count: count == 12) == 12
    assert [each.value for each in confluent.read(orders, 0, count=1)] == [b"old"]
    complaint = tools.complaint(
        "kafka-topics.sh --bootstrap-server localhost:9092 --alter --topic orders --partitions 6"
    )
    assert "InvalidPartitionsException" in complaint


@pytest.mark.acceptance("C020", "C021")
def test_a_deleted_topic_is_no_longer_listed(tools: KafkaTools, orders: str) -> None:
    """`--delete` takes the topic out of `--list`; deleting it again says that it does not exist."""
    delete = "kafka-topics.sh --bootstrap-server broker1:9092 --delete --topic orders"
    list_all = "kafka-topics.sh --bootstrap-server broker1:9092 --list"
    tools.output(delete)
    assert orders not in eventually(lambda: tools.output(list_all).splitlines(), lambda names: orders not in names)
    assert "does not exist" in tools.complaint(delete)
    assert "does not exist" in tools.complaint(
        "kafka-topics.sh --bootstrap-server broker1:9092 --describe --topic orders"
    )


@pytest.mark.acceptance("C026", "C029", "C030")
@pytest.mark.parametrize(
    ("topic", "change"),
    [
        ("user-profiles", "cleanup.policy=compact,min.cleanable.dirty.ratio=0.5,delete.retention.ms=86400000"),
        ("orders", "retention.ms=604800000,min.insync.replicas=2"),
        ("high-volume-events", "retention.ms=86400000"),
        ("customer-profiles", "cleanup.policy=compact,min.cleanable.dirty.ratio=0.1,segment.ms=86400000"),
    ],
)
def test_the_configs_of_a_topic_are_altered_and_described(
    tools: KafkaTools, confluent: ConfluentKafka, topic: str, change: str
) -> None:
    """`--alter --add-config` sets several overrides at once; `--describe` shows them with their source and synonyms."""
    confluent.create_anew(topic)
    entity = f"kafka-configs.sh --bootstrap-server broker1:9092 --entity-type topics --entity-name {topic}"
    assert tools.output(f"{entity} --alter --add-config {change}") == f"Completed updating config for topic {topic}.\n"
    last = change.split(",")[-1]
    shown = eventually(lambda: tools.output(f"{entity} --describe"), lambda output: last in output)
    for each in change.split(","):
        assert f"  {each} sensitive=false synonyms={{DYNAMIC_TOPIC_CONFIG:{each}" in shown
    everything = tools.output(f"{entity} --describe --all")
    assert (
        "  max.message.bytes=1048588 sensitive=false synonyms={DEFAULT_CONFIG:message.max.bytes=1048588}" in everything
    )
    tools.output(f"{entity} --alter --delete-config {change.partition('=')[0]}")
    first = change.split(",")[0]
    assert first not in eventually(lambda: tools.output(f"{entity} --describe"), lambda output: first not in output)


@pytest.mark.acceptance("C029")
@pytest.mark.parametrize(
    ("change", "named"), [("retention.msec=1", "retention.msec"), ("retention.ms=a-week", "retention.ms")]
)
def test_a_wrong_topic_config_is_refused_by_name(tools: KafkaTools, orders: str, change: str, named: str) -> None:
    """An unknown name or a bad value is INVALID_CONFIG, and the message names the config."""
    alter = f"kafka-configs.sh --bootstrap-server broker1:9092 --entity-type topics --entity-name orders --alter --add-config {change}"
    complaint = tools.complaint(alter)
    assert re.search(rf"InvalidConfigurationException: .*{re.escape(named)}", complaint)


@pytest.mark.acceptance("C031")
def test_a_config_command_without_an_address_is_a_usage_error(tools: KafkaTools) -> None:
    """`kafka-configs.sh --alter --add-config ...` alone names what is missing and exits with 1."""
    complaint = tools.complaint("kafka-configs.sh --alter --add-config retention.ms=86400000")
    assert "--bootstrap-server" in complaint


@pytest.mark.acceptance("C028")
def test_a_broker_config_changes_without_a_restart(tools: KafkaTools, broker_id: int) -> None:
    """A dynamic broker config is set, shown with its synonyms, and deleted again."""
    entity = f"kafka-configs.sh --bootstrap-server broker1:9092 --entity-type brokers --entity-name {broker_id}"
    done = f"Completed updating config for broker {broker_id}.\n"
    assert tools.output(f"{entity} --alter --add-config log.retention.ms=86400000") == done
    change = "log.retention.ms=86400000"
    expected = f"{change} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{change}"
    try:
        shown = eventually(lambda: tools.output(f"{entity} --describe"), lambda output: expected in output)
        assert expected in shown
        assert "DEFAULT_CONFIG:log.retention.hours=168" in shown
    finally:
        assert tools.output(f"{entity} --alter --delete-config log.retention.ms") == done
    assert change not in eventually(lambda: tools.output(f"{entity} --describe"), lambda output: change not in output)


@pytest.mark.acceptance("C007", "C037")
def test_the_console_producer_and_consumer_meet(tools: KafkaTools, confluent: ConfluentKafka) -> None:
    """A line becomes a record with a null key; the consumer of a partition prints it and stops at the number asked for."""
    confluent.create_anew("test", partitions=1)
    tools.output("kafka-console-producer.sh --topic test --bootstrap-server localhost:9092", stdin="hello kafka\n")
    [found] = confluent.read("test", 0, count=1)
    assert (found.key, found.value) == (None, b"hello kafka")

    confluent.produce("test", [Record(value=str(number).encode()) for number in range(1, 120)])
    consume = (
        "kafka-console-consumer.sh --bootstrap-server broker1:9092 --topic test --partition 0"
        " --offset 100 --max-messages 10"
    )
    finished = tools.run(consume)
    assert finished.status == 0
    assert finished.output.split() == [str(number) for number in range(100, 110)]
    assert "Processed a total of 10 messages" in finished.error
    assert tools.run(consume.replace("--offset 100", "--offset earliest")).output.startswith("hello kafka\n1\n")


@pytest.mark.acceptance("C034", "C035")
def test_the_console_producer_splits_keys_from_values(
    tools: KafkaTools, orders: str, confluent: ConfluentKafka
) -> None:
    """Each line is split at the first separator; a line without one is named in the error."""
    produce = (
        "kafka-console-producer.sh --bootstrap-server broker1:9092 --topic orders"
        ' --property "key.separator=:" --property "parse.key=true"'
    )
    tools.output(produce, stdin='order-123:{"amount":99.99}\n')
    [partition] = [each for each in range(3) if confluent.offset_range(orders, each)[1] == 1]
    [found] = confluent.read(orders, partition, count=1)
    assert (found.key, found.value) == (b"order-123", b'{"amount":99.99}')
    consume = (
        f"kafka-console-consumer.sh --bootstrap-server broker1:9092 --topic orders --partition {partition} --offset 0"
        ' --max-messages 1 --property print.key=true --property key.separator=" | " --property print.timestamp=true'
    )
    assert f'CreateTime:{found.timestamp} | order-123 | {{"amount":99.99}}\n' in tools.output(consume)
    assert "No key separator found on line number 1" in tools.complaint(produce, stdin="no separator\n")


@pytest.mark.acceptance("C027")
def test_the_console_producer_writes_tombstones(tools: KafkaTools, orders: str, confluent: ConfluentKafka) -> None:
    """With null.marker a value becomes null, which is what deletes a key from a compacted topic."""
    produce = (
        "kafka-console-producer.sh --bootstrap-server broker1:9092 --topic orders"
        " --property parse.key=true --property key.separator=: --property null.marker=NULL"
    )
    tools.output(produce, stdin="user-123:NULL\n")
    [partition] = [each for each in range(3) if confluent.offset_range(orders, each)[1] == 1]
    [found] = confluent.read(orders, partition, count=1)
    assert (found.key, found.value) == (b"user-123", None)


@pytest.mark.acceptance("C129")
def test_offsets_are_told(tools: KafkaTools, orders: str, confluent: ConfluentKafka) -> None:
    """`topic:partition:offset` for the latest, the earliest, a time and the largest timestamp."""
    confluent.produce(orders, [Record(value=b"", timestamp=time) for time in (1_000, 3_000, 2_000)])
    ask = "kafka-get-offsets.sh --bootstrap-server source-broker1:9092 --topic-partitions orders:0 --time"
    found = {when: tools.output(f"{ask} {when}").strip() for when in ("-1", "-2", "2500", "max-timestamp")}
    assert found == {"-1": "orders:0:3", "-2": "orders:0:0", "2500": "orders:0:1", "max-timestamp": "orders:0:1"}
    every = tools.output("kafka-get-offsets.sh --bootstrap-server source-broker1:9092 --topic orders --time -1")
    assert every.splitlines() == ["orders:0:3", "orders:1:0", "orders:2:0"]


@ON_ONE_BROKER
@pytest.mark.acceptance("C044")
def test_log_directories_are_described(
    tools: KafkaTools, orders: str, confluent: ConfluentKafka, broker_id: int
) -> None:
    """JSON of brokers, log directories and partition sizes; without --describe a usage error; unknown brokers are named."""
    confluent.produce(orders, [Record(value=b"x" * 1000)])
    ask = "kafka-log-dirs.sh --bootstrap-server broker1:9092 --topic-list orders --broker-list"
    assert 'Missing required argument "[describe]"' in tools.complaint(f"{ask} 1,2,3")
    assert "do not exist" in tools.complaint(f"{ask} {broker_id},7001,7002 --describe")
    answer = json.loads(tools.output(f"{ask} {broker_id} --describe").splitlines()[-1])
    [broker] = answer["brokers"]
    assert broker["broker"] == broker_id
    [directory] = broker["logDirs"]
    assert directory["error"] is None
    sizes = {each["partition"]: each["size"] for each in directory["partitions"]}
    assert set(sizes) == {"orders-0", "orders-1", "orders-2"}
    assert sizes["orders-0"] > 1000
    assert sizes["orders-1"] == 0
    assert {(each["offsetLag"], each["isFuture"]) for each in directory["partitions"]} == {(0, False)}


@pytest.mark.acceptance("C073", "C074", "C075", "C076")
@pytest.mark.parametrize("election", ["PREFERRED", "UNCLEAN"])
def test_a_leader_election_is_not_needed(tools: KafkaTools, orders: str, election: str) -> None:
    """One broker always leads: the election of one partition or of all is not needed, and exits with 0."""
    elect = f"kafka-leader-election.sh --bootstrap-server broker1:9092 --election-type {election}"
    assert "Valid replica already elected for partitions orders-0" in tools.output(
        f"{elect} --topic orders --partition 0"
    )
    tools.output(f"{elect} --all-topic-partitions")
    assert "UnknownTopicOrPartitionException" in tools.complaint(f"{elect} --topic {fresh_topic('no')} --partition 0")


@ON_ONE_BROKER
@pytest.mark.acceptance("C061", "C062", "C063")
def test_reassignment_on_one_broker(tools: KafkaTools, orders: str, broker_id: int, tmp_path: Path) -> None:
    """A plan is generated, one for this broker runs and is complete at once, one for another broker is refused; none is in progress."""
    topics, here, elsewhere = tmp_path / "topics.json", tmp_path / "here.json", tmp_path / "elsewhere.json"
    topics.write_text('{"topics": [{"topic": "orders"}], "version": 1}')
    tool = "kafka-reassign-partitions.sh --bootstrap-server broker1:9092"
    generated = tools.output(f'{tool} --topics-to-move-json-file {topics} --broker-list "{broker_id}" --generate')
    _, current, _, _, proposed = generated.splitlines()
    for plan in (current, proposed):
        assert [each["replicas"] for each in json.loads(plan)["partitions"]] == [[broker_id]] * 3
    here.write_text(proposed)
    assert "Successfully started partition reassignment" in tools.output(
        f"{tool} --reassignment-json-file {here} --execute"
    )
    verified = tools.output(f"{tool} --reassignment-json-file {here} --verify")
    assert verified.count("is completed.") == 3
    elsewhere.write_text(proposed.replace(f"[{broker_id}]", "[7001]", 1))
    complaint = tools.complaint(f"{tool} --reassignment-json-file {elsewhere} --execute")
    assert "Unknown broker id 7001" in complaint
    assert tools.output(f"{tool} --list") == "No partition reassignments found.\n"


def test_records_are_deleted_by_file(tools: KafkaTools, orders: str, confluent: ConfluentKafka, tmp_path: Path) -> None:
    """kafka-delete-records.sh tells the new low watermark; beyond the end is OFFSET_OUT_OF_RANGE."""
    confluent.produce(orders, [Record(value=b"")] * 5)
    for offset, expected in ((3, "low_watermark: 3"), (9, "OffsetOutOfRangeException"), (-1, "low_watermark: 5")):
        offsets = tmp_path / "offsets.json"
        wanted = {"topic": orders, "partition": 0, "offset": offset}
        offsets.write_text(json.dumps({"partitions": [wanted], "version": 1}))
        tool = f"kafka-delete-records.sh --bootstrap-server localhost:9092 --offset-json-file {offsets}"
        assert expected in tools.output(tool)
    assert confluent.offset_range(orders, 0) == (5, 5)


@ON_ONE_BROKER
@pytest.mark.acceptance("B043", "B045")
def test_the_quorum_is_one_controller(tools: KafkaTools, broker_id: int) -> None:
    """Without ZooKeeper the quorum answers: one leader, which is this node, and no lag."""
    tool = "kafka-metadata-quorum.sh --bootstrap-server localhost:9092 describe"
    status = dict(re.findall(r"^(\w+): +(.*)$", tools.output(f"{tool} --status"), re.MULTILINE))
    assert (status["LeaderId"], status["MaxFollowerLag"]) == (str(broker_id), "0")
    assert [voter["id"] for voter in json.loads(status["CurrentVoters"])] == [broker_id]
    cluster = tools.output("kafka-cluster.sh cluster-id --bootstrap-server localhost:9092")
    assert cluster == f"Cluster ID: {status['ClusterId']}\n"
    _, *nodes = tools.output(f"{tool} --replication").splitlines()
    assert [(node.split()[0], node.split()[-1]) for node in nodes] == [(str(broker_id), "Leader")]


@ON_ONE_BROKER
@pytest.mark.acceptance("B047")
def test_the_endpoints_are_listed(tools: KafkaTools, java: JavaClients, broker_id: int) -> None:
    """Each broker has a numeric id, a host and a port, and is unfenced."""
    _, endpoint = tools.output("kafka-cluster.sh list-endpoints --bootstrap-server localhost:9092").splitlines()
    identifier, host, port, _, state, kind = endpoint.split()
    assert (identifier, f"{host}:{port}", state, kind) == (str(broker_id), java.bootstrap_servers, "unfenced", "broker")


def test_a_small_performance_run(tools: KafkaTools, orders: str, confluent: ConfluentKafka) -> None:
    """kafka-producer-perf-test.sh sends what it says."""
    report = tools.output(
        "kafka-producer-perf-test.sh --topic orders --num-records 5000 --record-size 200 --throughput -1"
        " --producer-props bootstrap.servers=localhost:9092 compression.type=lz4"
    )
    assert "5000 records sent" in report
    assert sum(confluent.offset_range(orders, partition)[1] for partition in range(3)) == 5000


REQUIRED_APIS = {
    "Produce": 13,
    "Fetch": 18,
    "ListOffsets": 10,
    "Metadata": 13,
    "ApiVersions": 4,
    "CreateTopics": 7,
    "DeleteTopics": 6,
    "DeleteRecords": 2,
    "InitProducerId": 5,
    "OffsetForLeaderEpoch": 4,
    "DescribeConfigs": 4,
    "AlterConfigs": 2,
    "DescribeLogDirs": 4,
    "CreatePartitions": 3,
    "ElectLeaders": 2,
    "IncrementalAlterConfigs": 1,
    "AlterPartitionReassignments": 1,
    "ListPartitionReassignments": 0,
    "DescribeQuorum": 2,
    "DescribeCluster": 2,
    "DescribeProducers": 0,
    "DescribeTopicPartitions": 0,
}
"""The APIs that clients need before groups and transactions, and the newest version of each that they speak."""


@pytest.mark.acceptance("B033")
def test_the_api_versions_are_those_clients_want(tools: KafkaTools) -> None:
    """ApiVersions offers each API up to the version that current clients speak."""
    answer = tools.output("kafka-broker-api-versions.sh --bootstrap-server localhost:9092")
    usable = {name: int(version) for name, version in re.findall(r"(\w+)\(\d+\): .*\[usable: (\d+)\]", answer)}
    assert {name: usable.get(name, -1) for name in REQUIRED_APIS if usable.get(name, -1) < REQUIRED_APIS[name]} == {}
    assert "Produce(0): 0 to" in answer, "older librdkafka stops compressing when 0 is not offered (KAFKA-18659)"


@pytest.mark.acceptance("C032")
def test_a_shorter_retention_takes_effect_at_the_next_check() -> None:
    """After `--alter --add-config retention.ms=86400000` closed segments past one day go, and the newest stays."""
    checks_often = {"log.retention.check.interval.ms": 100, "log.initial.task.delay.ms": 0}
    two_days_ago = int((time.time() - 2 * 86_400) * 1000)
    with Broker(config=checks_often) as broker, closing(JavaClients(broker.bootstrap_servers)) as java:
        confluent = ConfluentKafka(broker.bootstrap_servers)
        confluent.create_ready_topic("high-volume-events", configs={"segment.bytes": str(1024 * 1024)})
        for timestamp in (two_days_ago, two_days_ago + 1, None):  # each too long for a segment that has one
            confluent.produce("high-volume-events", [Record(value=bytes(600_000), timestamp=timestamp)])
        assert confluent.offset_range("high-volume-events", 0) == (0, 3)
        KafkaTools(java).output(
            "kafka-configs.sh --bootstrap-server broker1:9092 --entity-type topics --entity-name high-volume-events"
            " --alter --add-config retention.ms=86400000 # 1 day instead of 7"
        )
        kept = eventually(lambda: confluent.offset_range("high-volume-events", 0), lambda offsets: offsets[0] == 2)
        assert kept == (2, 3)
