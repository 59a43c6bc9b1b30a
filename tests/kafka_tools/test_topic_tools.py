"""kafka-topics.sh, kafka-configs.sh, the console tools and those that look, beside Kafka's own on a three-broker Apache Kafka.

A scenario is some command lines. Kafka's tools run them with one topic, ours with another whose name is as long; what is printed and
how it ends must be the same, line by line.
"""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from stoker.client.admin.topics import list_topics
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.clusters import KafkaCluster
from tests.clients.client import eventually
from tests.clients.drivers.java import JavaClients
from tests.kafka_cluster import kafka_cluster
from tests.kafka_tools.comparison import Ran, original, ours

pytestmark = pytest.mark.java

SERVER: Final = "--bootstrap-server CLUSTER"
TOPICS: Final = f"kafka-topics.sh {SERVER}"
CONFIGS: Final = f"kafka-configs.sh {SERVER}"
PRODUCE: Final = f"kafka-console-producer.sh {SERVER} --topic TOPIC"
CONSUME: Final = f"kafka-console-consumer.sh {SERVER} --topic TOPIC"
OFFSETS: Final = f"kafka-get-offsets.sh {SERVER}"
DESERIALIZERS: Final = "org.apache.kafka.common.serialization"
STRING: Final = f"{DESERIALIZERS}.StringDeserializer"
LARGE: Final = "x" * 1200
SMALL_REQUESTS: Final = "--producer-property max.request.size=1000"

_TOPIC_ID: Final = re.compile(r"TopicId: [\w-]{22}")
_TIME: Final = re.compile(r"(CreateTime|LogAppendTime):\d+")

SCENARIOS: Final[dict[str, list[str]]] = {
    "a topic's life": [
        f"{TOPICS} --create --topic TOPIC --partitions 2 --config min.insync.replicas=2 --config retention.ms=604800000",
        f"{TOPICS} --create --topic TOPIC",
        f"{TOPICS} --create --topic TOPIC --if-not-exists",
        f"{TOPICS} --list --topic TOPIC",
        f"{TOPICS} --describe --topic TOPIC --under-replicated-partitions",
        f"{TOPICS} --describe --topic TOPIC --at-min-isr-partitions",
        f"{TOPICS} --describe --topic TOPIC --topics-with-overrides",
        f"{TOPICS} --alter --topic TOPIC --partitions 4",
        f"{TOPICS} --alter --topic TOPIC --partitions 3",
        f"{OFFSETS} --topic TOPIC",
        f"{OFFSETS} --topic-partitions TOPIC:1-3 --time earliest",
        f"{OFFSETS} --topic TOPIC --partitions 0,3 --time -1",
        f"{TOPICS} --delete --topic TOPIC",
        f"{TOPICS} --delete --topic TOPIC",
        f"{TOPICS} --delete --topic TOPIC --if-exists",
    ],
    "replicas by hand": [
        f"{TOPICS} --create --topic TOPIC --replica-assignment 1:2,2:3,3:1",
        f"{TOPICS} --describe --topic TOPIC",
        f"{TOPICS} --describe --topic TOPIC --partition-size-limit-per-response 1",
        f"{TOPICS} --alter --topic TOPIC --partitions 4 --replica-assignment 1:2,2:3,3:1,3:2",
        f"{TOPICS} --describe --topic TOPIC",
    ],
    "configs of a topic": [
        f"{TOPICS} --create --topic TOPIC --partitions 1",
        f"{CONFIGS} --entity-type topics --entity-name TOPIC --alter --add-config"
        " cleanup.policy=compact,min.cleanable.dirty.ratio=0.5,delete.retention.ms=86400000",
        f"{CONFIGS} --entity-type topics --entity-name TOPIC --describe",
        f"{CONFIGS} --topic TOPIC --describe --all",
        f"{TOPICS} --describe --topic TOPIC --topics-with-overrides",
        f"{CONFIGS} --topic TOPIC --alter --add-config cleanup.policy=[compact,delete]",
        f"{CONFIGS} --topic TOPIC --alter --delete-config cleanup.policy,delete.retention.ms",
        f"{CONFIGS} --topic TOPIC --alter --delete-config flush.ms",
        f"{CONFIGS} --topic TOPIC --describe",
        f"{CONFIGS} --topic TOPIC --alter --add-config follower.replication.throttled.replicas=[0:1,0:2]",
        f"{CONFIGS} --topic TOPIC --describe",
        f"{CONFIGS} --topic TOPIC --alter --add-config nosuch.config=1",
        f"{CONFIGS} --topic TOPIC --alter --add-config retention.ms=soon",
        f"{CONFIGS} --topic TOPIC --alter --add-config retention.ms",
        f"{CONFIGS} --topic TOPIC --alter",
    ],
    "configs of brokers": [
        f"{CONFIGS} --entity-type brokers --entity-name 1 --alter --add-config log.retention.ms=86400000",
        f"{CONFIGS} --entity-type brokers --entity-name 1 --describe",
        f"{CONFIGS} --entity-type brokers --entity-name 1 --alter --add-config leader.replication.throttled.rate=1000000",
        f"{CONFIGS} --broker 1 --describe",
        f"{CONFIGS} --entity-type brokers --entity-name 1 --alter --delete-config leader.replication.throttled.rate",
        f"{CONFIGS} --entity-type brokers --entity-name 1 --alter --delete-config leader.replication.throttled.rate",
        f"{CONFIGS} --entity-type brokers --entity-default --alter --add-config log.retention.ms=76400000",
        f"{CONFIGS} --entity-type brokers --describe",
        f"{CONFIGS} --broker-defaults --alter --delete-config log.retention.ms",
        f"{CONFIGS} --broker-defaults --describe",
        f"{CONFIGS} --broker 1 --alter --delete-config log.retention.ms",
        f"{CONFIGS} --broker 7 --describe",
        f"{CONFIGS} --broker-logger 1 --describe",
    ],
    "configs of a group and of metrics": [
        f"{CONFIGS} --group TOPIC --alter --add-config consumer.session.timeout.ms=50000",
        f"{CONFIGS} --group TOPIC --describe",
        f"{CONFIGS} --group TOPIC --alter --delete-config consumer.session.timeout.ms",
        f"{CONFIGS} --client-metrics TOPIC --alter --add-config interval.ms=60000",
        f"{CONFIGS} --client-metrics TOPIC --describe",
        f"{CONFIGS} --client-metrics TOPIC --alter --delete-config interval.ms",
    ],
    "records": [
        f"{TOPICS} --create --topic TOPIC --partitions 1",
        f"{PRODUCE} <<< hello kafka\\nsecond\\n",
        f"{PRODUCE} --property key.separator=: --property parse.key=true <<< order-1:a\\norder-2:b:c\\n",
        f"{PRODUCE} --reader-property parse.key=true --reader-property key.separator=: <<< k:v\\nno separator\\n",
        f"{PRODUCE} --reader-property parse.key=true --reader-property null.marker=NULL <<< k\\tNULL\\nNULL\\tx\\n",
        f"{PRODUCE} --reader-property parse.headers=true --sync <<< a:1,b:2\\twith headers\\n",
        f"{PRODUCE} --reader-property parse.headers=true --reader-property headers.delimiter=, <<< x",
        f"{PRODUCE} --compression-codec zstd --request-required-acks 1 --producer-property linger.ms=5 <<< compressed\\n",
        f"{CONSUME} --from-beginning --max-messages 4",
        f"{CONSUME} --from-beginning --max-messages 5 --property print.key=true --property print.timestamp=true",
        f"{CONSUME} --from-beginning --max-messages 5 --formatter-property print.key=true"
        " --formatter-property 'key.separator= | '",
        f"{CONSUME} --partition 0 --offset 2 --max-messages 3 --formatter-property print.offset=true"
        " --formatter-property print.partition=true",
        f"{CONSUME} --partition 0 --offset earliest --timeout-ms 2000 --formatter-property print.headers=true"
        " --formatter-property null.literal=nothing --formatter-property print.epoch=true",
        f"{CONSUME} --from-beginning --max-messages 2 --isolation-level read_committed --value-deserializer {STRING}",
        f"{CONSUME} --from-beginning --max-messages 1 --group TOPIC-group",
        f"{CONSUME} --max-messages 1 --group TOPIC-group --consumer-property client.id=second",
        f"kafka-console-consumer.sh {SERVER} --include TOP.*TOPIC --from-beginning --max-messages 3",
        f"{OFFSETS} --topic TOPIC",
        f"{OFFSETS} --topic TOPIC --time 0",
        f"{OFFSETS} --topic TOPIC --time max-timestamp",
        f"kafka-delete-records.sh {SERVER} --offset-json-file DIRECTORY/TOPIC.json",
        f"{OFFSETS} --topic TOPIC --time -2",
    ],
    "records that cannot be": [
        f"{TOPICS} --create --topic TOPIC --partitions 1",
        f"{PRODUCE} {SMALL_REQUESTS} <<< before\\n{LARGE}\\nbehind\\n",
        f"{PRODUCE} {SMALL_REQUESTS} --sync <<< before\\n{LARGE}\\nbehind\\n",
        f"{PRODUCE} {SMALL_REQUESTS} --sync --reader-property parse.key=true <<< k\\t{LARGE}\\n",
        f"{PRODUCE} --producer-property nosuch.property=1 <<< sent\\n",
        f"{PRODUCE} --reader-property parse.key=true --reader-property null.marker=NULL <<< 1234\\tNULL\\n",
        f"kafka-console-producer.sh {SERVER} --topic 'a b' <<< x\\n",
        f"kafka-console-producer.sh {SERVER} --topic 'a b' --sync <<< x\\n",
        f"{CONSUME} --from-beginning --timeout-ms 3000 --value-deserializer {DESERIALIZERS}.BytesDeserializer",
        f"{CONSUME} --partition 0 --offset 4 --max-messages 1 --key-deserializer {DESERIALIZERS}.IntegerDeserializer"
        f" --formatter-property print.key=true --value-deserializer {STRING}",
        f"{CONSUME} --from-beginning --max-messages 1 --value-deserializer {DESERIALIZERS}.IntegerDeserializer",
        f"{CONSUME} --consumer-property auto.offset.reset=none --timeout-ms 20000",
        f"{CONSUME} --group TOPIC-none --consumer-property auto.offset.reset=none --timeout-ms 20000",
        f"{CONSUME} --from-beginning --max-messages 1 --consumer-property nosuch.property=1",
    ],
    "what only looks": [
        f"{TOPICS} --list",
        f"{TOPICS} --list --exclude-internal",
        f"{TOPICS} --describe --unavailable-partitions",
        f"{TOPICS} --describe --under-min-isr-partitions",
        f"{TOPICS} --describe --topic nosuch",
        f"{TOPICS} --describe --topic nosuch --if-exists",
        f"{TOPICS} --describe --topic-id abc",
        f"{CONFIGS} --entity-type topics --entity-name nosuch --describe",
        f"{CONFIGS} --group nosuch --describe",
        f"{OFFSETS} --topic nosuch",
        f"kafka-broker-api-versions.sh {SERVER}",
        f"kafka-log-dirs.sh {SERVER} --describe --broker-list 7,8",
        f"kafka-log-dirs.sh {SERVER} --describe --broker-list 1,2 --topic-list orders-a0,orders-a1",
    ],
}

WRONG: Final = [
    *(
        f"{script} --help"
        for script in ("kafka-topics.sh", "kafka-configs.sh", "kafka-get-offsets.sh", "kafka-log-dirs.sh")
    ),
    *(f"{script} --help" for script in ("kafka-delete-records.sh", "kafka-broker-api-versions.sh")),
    *(f"{script} --help" for script in ("kafka-console-producer.sh", "kafka-console-consumer.sh")),
    "kafka-topics.sh",
    "kafka-topics.sh --version",
    "kafka-topics.sh --nosuch",
    "kafka-topics.sh --list",
    "kafka-topics.sh --list --create --bootstrap-server x:1",
    "kafka-topics.sh --describe --bootstrap-server",
    f"{TOPICS} --create",
    f"{TOPICS} --create --topic x --partitions many",
    f"{TOPICS} --create --topic x --partitions 0",
    f"{TOPICS} --create --topic x --replication-factor 9",
    f"{TOPICS} --create --topic x --replication-factor 99999",
    f"{TOPICS} --create --topic x --config nosuch.config=1",
    f"{TOPICS} --create --topic x --config retention.ms",
    f"{TOPICS} --create --topic 'a b'",
    f"{TOPICS} --create --topic x --replica-assignment 1:1",
    f"{TOPICS} --create --topic x --replica-assignment 1:2,1",
    f"{TOPICS} --create --topic x --replica-assignment 1:2 --partitions 3",
    f"{TOPICS} --list --partitions 3",
    f"{TOPICS} --alter --topic x",
    f"{TOPICS} --alter --topic nosuch --partitions 3",
    "kafka-configs.sh --alter --add-config retention.ms=86400000",
    f"{CONFIGS} --describe",
    f"{CONFIGS} --describe --alter",
    f"{CONFIGS} --describe --entity-type tables",
    f"{CONFIGS} --describe --entity-type topics --broker 1",
    f"{CONFIGS} --describe --broker one",
    f"{CONFIGS} --describe --topic 'a b'",
    f"{CONFIGS} --describe --entity-type broker-loggers",
    f"{CONFIGS} --alter --entity-type topics --add-config retention.ms=4",
    f"{CONFIGS} --alter --topic x --add-config 'a%b=1'",
    f"{CONFIGS} --alter --topic x --add-config a=1 --add-config-file x",
    f"{CONFIGS} --alter --topic nosuch --add-config retention.ms=5",
    "kafka-get-offsets.sh --topic x",
    "kafka-get-offsets.sh --bootstrap-server nowhere",
    f"{OFFSETS} --time yesterday",
    f"{OFFSETS} --topic-partitions a:b",
    f"{OFFSETS} --topic-partitions a --topic b",
    f"{OFFSETS} --partitions first",
    f"kafka-log-dirs.sh {SERVER}",
    f"kafka-log-dirs.sh {SERVER} --describe --broker-list a",
    f"kafka-delete-records.sh {SERVER} --offset-json-file /nowhere",
    "kafka-broker-api-versions.sh",
    "kafka-console-producer.sh --topic x",
    "kafka-console-producer.sh --topic x --bootstrap-server nowhere",
    f"kafka-console-producer.sh {SERVER} --topic x --batch-size large",
    f"kafka-console-producer.sh {SERVER} --topic x --property a=b --reader-property a=b",
    f"kafka-console-consumer.sh {SERVER}",
    f"kafka-console-consumer.sh {SERVER} --topic x --include y",
    f"kafka-console-consumer.sh {SERVER} --topic x --offset 3",
    f"kafka-console-consumer.sh {SERVER} --topic x --partition 0 --offset last",
    f"kafka-console-consumer.sh {SERVER} --topic x --partition 0 --group g",
    f"kafka-console-consumer.sh {SERVER} --topic x --partition 0 --from-beginning --offset 3",
    f"kafka-console-consumer.sh {SERVER} --topic x --from-beginning --command-property auto.offset.reset=latest",
]
"""Help, and what cannot be: nothing of it changes anything."""

BAD_OFFSETS: Final = {
    "twice": '{"partitions":[{"topic":"a","partition":0,"offset":0},{"topic":"a","partition":0,"offset":9}]}',
    "no partition": '{"partitions":[{"topic":"a","offset":0}]}',
    "no JSON": "nope",
    "another version": '{"version":2}',
    "no partitions": '{"version":1}',
    "no number": '{"partitions":[{"topic":"a","partition":"first","offset":0}]}',
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "broker.session.timeout.ms": "6000",
    }
    with kafka_cluster(tmp_path_factory.mktemp("cluster"), settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def address(cluster: KafkaCluster) -> str:
    return cluster.bootstrap_servers


@pytest.fixture(scope="module")
def java(address: str) -> Iterator[JavaClients]:
    with closing(JavaClients(address)) as clients:
        yield clients


@pytest.mark.acceptance(
    *("C017", "C018", "C019", "C020", "C021", "C022", "C023", "C024", "C025", "C026", "C028", "C029", "C030", "C033"),
    *("C007", "C008", "C034", "C036", "C037", "C038", "C044", "C068", "C069", "C079"),
)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_goes_as_with_kafkas_own_tools(address: str, java: JavaClients, tmp_path: Path, name: str) -> None:
    """Topics, configs, records and offsets: what ours print, and how they end, is what Kafka's own do, on three brokers."""
    number = list(SCENARIOS).index(name)
    theirs_topic, our_topic = f"orders-a{number}", f"orders-b{number}"
    for topic in (theirs_topic, our_topic):
        wanted = [{"topic": topic, "partition": 0, "offset": 3}]
        (tmp_path / f"{topic}.json").write_text(json.dumps({"partitions": wanted, "version": 1}))
    for line in SCENARIOS[name]:
        expected = _run(line, theirs_topic, tmp_path, java=java)
        found = _run(line, our_topic, tmp_path, address=address)
        if line.startswith("kafka-broker-api-versions.sh"):  # brokers whose hashes, made of their ports, fall together
            expected, found = (
                each._replace(output="\n".join(sorted(each.output.splitlines()))) for each in (expected, found)
            )
        assert found == expected, line
        _settle(address)


@pytest.mark.acceptance("C031")
@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_is_refused_in_kafkas_words(address: str, java: JavaClients, tmp_path: Path, line: str) -> None:
    """Bad arguments: the same complaint, the same help below it, the same exit code."""
    assert _run(line, "x", tmp_path, address=address) == _run(line, "x", tmp_path, java=java)


@pytest.mark.parametrize("text", BAD_OFFSETS.values(), ids=BAD_OFFSETS)
def test_a_wrong_offset_file_is_refused_in_kafkas_words(
    address: str, java: JavaClients, tmp_path: Path, text: str
) -> None:
    (tmp_path / "offsets.json").write_text(text)
    line = f"kafka-delete-records.sh {SERVER} --offset-json-file DIRECTORY/offsets.json"
    assert _run(line, "x", tmp_path, address=address) == _run(line, "x", tmp_path, java=java)


@pytest.mark.acceptance("C077", "C079")
def test_a_broker_is_killed(cluster: KafkaCluster, address: str, java: JavaClients, tmp_path: Path) -> None:
    """One line an under-replicated partition while a broker is down, those without a leader by themselves: as Kafka's own tool.

    It is the last test of this cluster.
    """
    places = {"orders-c0": "1:2,2:3,3:1", "orders-c1": "3,1"}
    for topic, assignment in places.items():
        created = _run(
            f"{TOPICS} --create --topic {topic} --replica-assignment {assignment}", "x", tmp_path, address=address
        )
        assert created == Ran(0, f"Created topic {topic}.", "")
    _settle(address)
    report = f"{TOPICS} --describe --topic orders-c.* --under-replicated-partitions"
    assert _run(report, "x", tmp_path, address=address) == Ran(0, "", "")
    next(node for node in cluster.nodes() if node.number == 3).daemon.kill()
    eventually(lambda: _run(report, "x", tmp_path, address=address).output.count("\n"), lambda ends: ends >= 2)
    for line in (
        report,
        f"{TOPICS} --describe --topic orders-c.* --unavailable-partitions",
        f"{TOPICS} --describe --topic orders-c.* --under-min-isr-partitions",
        f"{TOPICS} --describe --topic orders-c.*",
    ):
        expected = _run(line, "x", tmp_path, java=java)
        assert expected.output.count("Topic: orders-c") > 0
        assert _run(line, "x", tmp_path, address=address) == expected, line


def _settle(address: str) -> None:
    """Until all brokers tell the same of all topics: they learn from the controller a moment later."""

    def told(server: str) -> list[tuple[str, tuple[tuple[int | None, tuple[int, ...]], ...]]]:
        with Cluster(client_properties(server)) as cluster:
            return [
                (topic.name, tuple((each.leader, each.isr) for each in topic.partitions))
                for topic in list_topics(cluster)
            ]

    def is_settled() -> bool:
        first, *others = [told(server) for server in address.split(",")]
        leaders = [leader for _, partitions in first for leader, _ in partitions]
        return all(other == first for other in others) and None not in leaders

    assert eventually(is_settled, bool), "the brokers do not agree"


def _run(line: str, topic: str, directory: Path, *, java: JavaClients | None = None, address: str | None = None) -> Ran:
    command, _, text = line.partition(" <<< ")
    script, *arguments = shlex.split(command.replace("TOP.*TOPIC", f"({topic})").replace("TOPIC", topic))
    arguments = [argument.replace("DIRECTORY", str(directory)) for argument in arguments]
    stdin = text.replace("\\n", "\n").replace("\\t", "\t")
    if java is not None:
        ran = original(java, script, *arguments, stdin=stdin)
    else:
        assert address is not None
        ran = ours(address, script, *arguments, stdin=stdin)
    found = ran.normalised()
    return Ran(found.code, _masked(found.output, topic), _masked(found.error, topic))


def _masked(text: str, topic: str) -> str:
    """Without what differs: the name of the topic, its id and times. Where replicas were put by chance, scenarios do not look."""
    return _TIME.sub(r"\1:TIME", _TOPIC_ID.sub("TopicId: ID", text.replace(topic, "TOPIC")))
