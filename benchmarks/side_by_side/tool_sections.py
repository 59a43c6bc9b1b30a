"""Kafka's scripts, each as Stoker's tool and as Kafka's own: what a small task takes, from exec to exit."""

import json
from collections.abc import Mapping
from pathlib import Path

from side_by_side import command_lines, group_loads, loads
from side_by_side.bench import Bench, Measured
from side_by_side.command_lines import CONSOLE_HEAP, JVM_OPTIONS, TOOL_HEAP, CommandLine
from side_by_side.loads import Values
from side_by_side.results import Row, Section, at_most
from stoker.kafka_tools.table import TOOLS

TOPIC = "orders"
PARTITIONS = 4
RECORDS = 100
_CONSOLE = ("kafka-console-producer.sh", "kafka-console-consumer.sh")


def tools(bench: Bench) -> Section:
    """All tools of the table."""
    broker = bench.peers[0]
    broker.create_topic(TOPIC, PARTITIONS)
    loads.rdkafka_produce(
        bench, broker, TOPIC, Values(size=100, codec="none", count=RECORDS * PARTITIONS), partitions=PARTITIONS
    )
    group = group_loads.commit_once(broker, TOPIC, PARTITIONS)
    lines = bench.directory / "tool-lines"
    lines.write_text("a line\n" * 10)
    rows: list[Row] = []
    for script, arguments in tasks(bench.directory, broker.brokers, group).items():

        def ask(line: CommandLine) -> Measured:
            cost = command_lines.run(line, standard_input=lines, output=bench.directory / "output")
            return {"time": cost.seconds}

        words = [argument.replace("SERVER", broker.brokers) for argument in arguments]
        samples = bench.alternate(script, ask, _lines(bench, script, words), warm_up=True)
        rows.append(Row(name=script, unit="s", samples=samples.of("time"), target=at_most(0.2)))
    return Section(
        title="Kafka's tools",
        settings="Each script with a small task, as `stoker kafka-topics.sh ...` and as Kafka's own class with the options of "
        f"Kafka's scripts, from exec to exit. The console tools write 10 records and "
        f"read {RECORDS}, the performance tests {RECORDS} each; where Kafka's console consumer joins a group, ours does not.",
        rows=rows,
    )


def tasks(directory: Path, server: str, group: str) -> Mapping[str, list[str]]:
    """The arguments of each script; SERVER is the broker."""
    at_server = ["--bootstrap-server", "SERVER"]
    offsets = directory / "offsets.json"
    wanted = {"partitions": [{"topic": TOPIC, "partition": 0, "offset": 1}], "version": 1}
    offsets.write_text(json.dumps(wanted))
    segment = next(directory.rglob(f"{TOPIC}-1/*.log"))
    count = ["--num-records", str(RECORDS), "--record-size", "100", "--throughput", "-1"]
    return {
        "kafka-topics.sh": [*at_server, "--describe", "--topic", TOPIC],
        "kafka-configs.sh": [*at_server, "--describe", "--topic", TOPIC],
        "kafka-console-producer.sh": [*at_server, "--topic", TOPIC],
        "kafka-console-consumer.sh": [*at_server, "--topic", TOPIC, "--from-beginning", "--max-messages", str(RECORDS)],
        "kafka-consumer-groups.sh": [*at_server, "--describe", "--group", group],
        "kafka-get-offsets.sh": [*at_server, "--topic", TOPIC],
        "kafka-log-dirs.sh": [*at_server, "--describe"],
        "kafka-delete-records.sh": [*at_server, "--offset-json-file", str(offsets)],
        "kafka-broker-api-versions.sh": at_server,
        "kafka-reassign-partitions.sh": [*at_server, "--list"],
        "kafka-leader-election.sh": [*at_server, "--election-type", "PREFERRED", "--all-topic-partitions"],
        "kafka-metadata-quorum.sh": [*at_server, "describe", "--status"],
        "kafka-storage.sh": ["random-uuid"],
        "kafka-dump-log.sh": ["--files", str(segment)],
        "kafka-producer-perf-test.sh": ["--topic", TOPIC, *count, "--producer-props", f"bootstrap.servers={server}"],
        "kafka-consumer-perf-test.sh": [*at_server, "--topic", TOPIC, "--num-records", str(RECORDS)],
        "kafka-transactions.sh": [*at_server, "list"],
        "kafka-features.sh": [*at_server, "describe"],
        "kafka-cluster.sh": ["cluster-id", *at_server],
    }


def _lines(bench: Bench, script: str, words: list[str]) -> list[CommandLine]:
    heap = CONSOLE_HEAP if script in _CONSOLE else TOOL_HEAP
    java = ["java", heap, *JVM_OPTIONS, "-cp", bench.programs.class_path, TOOLS[script].classes[0]]
    return [
        CommandLine(name="stoker", words=[str(bench.stoker), script, *words]),
        CommandLine(name="kafka", words=[*java, *words]),
    ]
