"""Kafka's command-line tools by the names of their scripts, run as a person types them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.clients.drivers.java import Finished, JavaClients

MAIN_CLASSES = {
    "kafka-broker-api-versions.sh": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster.sh": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records.sh": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs.sh": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
ADDRESSES = ("broker1:9092", "localhost:9092", "source-broker1:9092")
"""The addresses of tutorials, each of which stands for the broker under test."""


class KafkaTools:
    """Kafka's own."""

    def __init__(self, java: JavaClients) -> None:
        self._java = java

    def run(self, line: str, *, stdin: str = "") -> Finished:
        """Run a command line, comments and quotes as in a shell, with only the address changed."""
        script, *arguments = shlex.split(line, comments=True)
        here = self._java.bootstrap_servers
        arguments = [here if argument in ADDRESSES else argument for argument in arguments]
        arguments = [
            argument.replace("bootstrap.servers=localhost:9092", f"bootstrap.servers={here}") for argument in arguments
        ]
        return self._run(script, arguments, stdin)

    def _run(self, script: str, arguments: list[str], stdin: str) -> Finished:
        return self._java.tool(MAIN_CLASSES[script], *arguments, stdin=stdin)

    def output(self, line: str, *, stdin: str = "") -> str:
        """Run a command line that must succeed; give what it prints."""
        finished = self.run(line, stdin=stdin)
        assert finished.status == 0, f"{line}\nended with {finished.status}:\n{finished.output}\n{finished.error}"
        return finished.output

    def complaint(self, line: str, *, stdin: str = "") -> str:
        """Run a command line that must fail; give all that it says."""
        finished = self.run(line, stdin=stdin)
        assert finished.status != 0, f"{line}\nshould have failed, and says:\n{finished.output}"
        return finished.output + finished.error


class OurTools(KafkaTools):
    """Ours, in a process of their own each."""

    def _run(self, script: str, arguments: list[str], stdin: str) -> Finished:
        ended = subprocess.run(
            [Path(sys.executable).with_name("stoker"), script, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | {"TZ": "UTC"},
            check=False,
        )
        return Finished(status=ended.returncode, output=ended.stdout, error=ended.stderr)


TOOLS = {"originals": KafkaTools, "ours": OurTools}
"""For the parameters of fixtures: what a tutorial says is so with either."""
