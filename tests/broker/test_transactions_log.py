"""`__transaction_state` is Kafka's: its tools read what we write, and we go on from what it wrote."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import stoker
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from tests.apache_kafka import CLASS_PATH, FAST_START, ApacheKafka
from tests.raw_connection import RawConnection

pytestmark = pytest.mark.java

_DUMP = ("java", *FAST_START, "-cp", CLASS_PATH, "org.apache.kafka.tools.DumpLogSegments")


def dump(*arguments: str, files: list[Path]) -> str:
    command = [*_DUMP, *arguments, "--files", ",".join(map(str, files))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def use_transactions(bootstrap_servers: str) -> None:
    """One that commits, one that aborts."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic("orders", num_partitions=2)])["orders"].result(10)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "order-writer"})
    producer.init_transactions()
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce("orders", b"an order", partition=partition)
        producer.flush()
        ends()


Decoded = tuple[str, dict[str, Any]]


def decoded(data_dir: Path) -> list[Decoded]:
    """Transactional id and state of all records, as `DumpLogSegments --transaction-log-decoder` reads them."""
    files = [path for path in data_dir.glob("__transaction_state-*/*.log") if path.stat().st_size]
    text = dump("--transaction-log-decoder", files=files)
    found = re.findall(r"key: (\{.*\}) payload: (\{.*\})$", text, re.MULTILINE)
    assert len(found) == len(re.findall(r"^\| offset:", text, re.MULTILINE)), text
    return [(json.loads(key)["data"]["transactionalId"], json.loads(payload)["data"]) for key, payload in found]


def states(records: list[Decoded]) -> list[tuple[str, int, list[dict[str, Any]] | None]]:
    return [(name, data["transactionStatus"], data["transactionPartitions"]) for name, data in records]


def test_kafkas_tool_decodes_our_transactions(tmp_path: Path) -> None:
    """... and finds in them what Apache Kafka writes when a producer does the same."""
    with stoker.Broker(data_dir=tmp_path / "ours") as broker:
        use_transactions(broker.bootstrap_servers)
    ours = states(decoded(tmp_path / "ours"))

    written = [{"topic": "orders", "partitionIds": [0, 1]}]
    name = "order-writer"
    assert ours == [
        (name, 0, None),
        *((name, 1, written), (name, 2, written), (name, 4, [])),
        *((name, 1, written), (name, 3, written), (name, 5, [])),
    ]
    with ApacheKafka() as kafka:
        use_transactions(kafka.bootstrap_servers)
        kafka.stop()
        theirs = states(decoded(kafka.data_directory))
    assert [state for _, state, _ in ours] == [state for _, state, _ in theirs]


def test_we_go_on_from_kafkas_transactions(tmp_path: Path) -> None:
    """A `__transaction_state` that Apache Kafka wrote, put in the place of ours, has the same producers."""
    with ApacheKafka() as kafka:
        use_transactions(kafka.bootstrap_servers)
        kafka.stop()
        [*_, (_, theirs)] = decoded(kafka.data_directory)
        with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
            connection.call(FindCoordinatorRequest(coordinator_keys=["makes-the-topic"], key_type=1), 6)
        for partition in kafka.data_directory.glob("__transaction_state-*"):
            for segment in partition.glob("*.log"):
                shutil.copy(segment, tmp_path / partition.name / segment.name)
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        described = connection.call(DescribeTransactionsRequest(transactional_ids=["order-writer"]))
        [state] = described.transaction_states
        assert (state.transaction_state, state.producer_id) == ("CompleteAbort", theirs["producerId"])
        request = InitProducerIdRequest(transactional_id="order-writer", transaction_timeout_ms=60_000)
        response = connection.call(request, 4)
        assert response.producer_id == theirs["producerId"]
        assert response.producer_epoch == theirs["producerEpoch"] + 1


def test_kafkas_tool_reads_our_markers_and_aborted_transactions(tmp_path: Path) -> None:
    with stoker.Broker(data_dir=tmp_path) as broker:
        use_transactions(broker.bootstrap_servers)

    logs = dump("--print-data-log", files=sorted(tmp_path.glob("orders-*/*.log")))
    assert re.findall(r"endTxnMarker: (\w+)", logs) == ["COMMIT", "ABORT"] * 2, logs
    index = dump(files=[tmp_path / "orders-0" / "00000000000000000000.txnindex"])
    assert re.search(r"firstOffset: 2\D.*lastOffset: 3\D.*lastStableOffset: 4\D", index), index
