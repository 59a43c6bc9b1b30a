"""docs/cli-transactions.md: its output is real, and no command or option of `stoker transactions` is missing.

python -m tests.cli.test_transactions_documentation docs/cli-transactions.md    writes what its commands print into it
"""

import re
import sys
from pathlib import Path

import pytest

from stoker import Broker
from stoker.cli.document import commands
from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.topic_partition import TopicPartition
from tests.cli.test_documentation import replayed
from tests.raw_transactional_producer import HOUR_MS, TransactionalProducer, without_verification

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli-transactions.md"

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_SECONDS = re.compile(r"\b\d+(\.\d+)?s\b")
_SPACES = re.compile(" +")
_COMMON = ("--bootstrap-server", "--command-config", "--help")
"""docs/cli.md tells of them."""


def furnish(address: str) -> None:
    """What the page and the examples of the help are about: one transaction is open, and one hangs at offset 3."""
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    with without_verification(address) as cluster:
        create_topic(cluster, "orders", partitions=2)
        wait_until(cluster, "orders", lambda topic: topic is not None)
        producer = TransactionalProducer(cluster, "old-1")
        producer.add(first)
        assert [producer.produce(first) for _ in range(2)] == [0, 1]
        producer.commit()
        assert producer.produce(first, age_ms=HOUR_MS) == 3, "behind two records and a marker"
        producer = TransactionalProducer(cluster, "payments-1")
        producer.add(second)
        producer.produce(second)


def without_times(page: str) -> list[str]:
    """What varies from run to run, and the widths of columns with it."""
    text = _SPACES.sub(" ", _SECONDS.sub("SECONDS", _MOMENT.sub("MOMENT", page)))
    return text.splitlines()


@pytest.mark.timeout(400)  # fifteen commands, one after the other, on a machine that may be busy
def test_output_is_real(tmp_path: Path) -> None:
    page = PAGE.read_text()
    with Broker() as broker:
        furnish(broker.bootstrap_servers)
        printed = replayed(page, broker.bootstrap_servers, tmp_path)
    assert without_times(printed) == without_times(page)


def test_every_command_and_option_is_documented() -> None:
    page = PAGE.read_text()
    examples = "\n".join(re.findall(r"^\$ .*$", page, re.MULTILINE))
    for words, command in commands():
        if not words.startswith("stoker transactions "):
            continue
        assert f"$ {words}" in examples, f"docs/cli-transactions.md has no example of {words}"
        for option in (max(parameter.opts, key=len) for parameter in command.params):
            documented = not option.startswith("--") or option in _COMMON or re.search(rf"{option}(?![\w-])", page)
            assert documented, f"docs/cli-transactions.md tells nothing of {words} {option}"


if __name__ == "__main__":
    import tempfile

    written = Path(sys.argv[1])
    with Broker() as running, tempfile.TemporaryDirectory() as temporary:
        furnish(running.bootstrap_servers)
        written.write_text(replayed(written.read_text(), running.bootstrap_servers, Path(temporary)))
