"""The examples of `--help`: each of them works."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from stoker import Broker
from stoker.cli.document import commands
from tests.cli.command_line import CommandLine
from tests.cli.test_transactions_documentation import furnish as furnish_transactions
from tests.faults.broker_process import STOKER

RECORDS = 600
"""In each partition: more than the highest offset of an example."""
FILES = {
    "offsets.csv": "orders,0,5\n",
    "all.csv": "payments,orders,0,5\none,orders,0,6\n",
    "offsets.json": '{"partitions": [{"topic": "orders", "partition": 0, "offset": 5}], "version": 1}',
}


def examples() -> Iterator[str]:
    """Of the nouns: produce and consume read files of all sorts and follow what does not end."""
    for words, command in commands():
        if words.split()[1] in ("topics", "groups", "transactions", "configs", "records"):
            _, _, listed = (command.epilog or "").partition("Examples:\n")
            yield from (line.strip() for line in listed.splitlines())


@pytest.fixture
def address() -> Iterator[str]:
    """A broker with all that the examples name, but for what they create."""
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def furnish(run: CommandLine) -> None:
    run("topics", "create", "orders", "payments", "--partitions", "2")
    producer = Producer({"bootstrap.servers": run.address})
    for number in range(2 * RECORDS):
        producer.produce("orders", b"value", partition=number % 2)
    assert producer.flush(30) == 0
    groups = ["payments", "old-group", "one", "two"]
    run("groups", "reset-offsets", *groups, "--topic", "orders", "--to-earliest", "--execute")


def test_there_are_examples() -> None:
    assert len(list(examples())) > 30


@pytest.mark.parametrize("example", list(examples()))
def test_an_example_works(run: CommandLine, directory: Path, example: str) -> None:
    if example.startswith("stoker transactions"):
        furnish_transactions(run.address)
    elif not example.startswith("stoker topics create"):
        furnish(run)
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {example}"],
        env=os.environ
        | {
            "PATH": f"{Path(STOKER).parent}{os.pathsep}{os.environ['PATH']}",
            "STOKER_BOOTSTRAP_SERVER": run.address,
        },
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
