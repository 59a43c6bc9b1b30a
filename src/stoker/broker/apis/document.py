"""docs/compatibility.md, made from the table of APIs: `python -m stoker.broker.apis.document > docs/compatibility.md`."""

import inspect
import sys
from importlib import import_module

from stoker.broker.apis.table import APIS
from stoker.wire.api_keys import ApiKey

_HEAD = """\
# Compatibility

Made from the table of APIs in `src/stoker/broker/apis/table.py`; a test says that it is current.

## What is served

The versions are those of Apache Kafka 4.3, which dropped the oldest ones (KIP-896).

| key | API | versions | how it behaves |
|---:|---|---|---|
"""

_NOT_SERVED = """
## What is not served yet

A client that asks for one of these sees that it is not in the answer to ApiVersions.

| key | API |
|---:|---|
"""

_NOTES = """
## What differs from Apache Kafka

- **One node.** There is no replication. A replication factor above 1 makes one replica; the answer to CreateTopics, the
  log and every description of the topic say so. With `stoker.replication.factor.policy=refuse` the answer is Kafka's
  INVALID_REPLICATION_FACTOR. `min.insync.replicas` counts as the smaller of itself and the number of replicas, as in Kafka.
- **An automatically created topic is there in the same Metadata answer**; Kafka answers LEADER_NOT_AVAILABLE first.
- **A full disk** does not take the log directory offline: producers get KAFKA_STORAGE_ERROR, readers go on, and writing
  resumes when there is room.
- **The records inside a batch are not parsed** unless a setting needs it (a compacted topic, a `compression.type` of its
  own, timestamps outside the limits): checksum, length and counts of the batch are checked, and its bytes are kept.
- **Leader epochs** rise when the broker starts after a crash, not at every start.
- **The address in Metadata**, when a listener on every interface is not advertised, is the one the client reached.
- **Socket buffers** are left to the operating system unless `socket.send.buffer.bytes` or
  `socket.receive.buffer.bytes` is set.
- **`__consumer_offsets` and `__transaction_state`** are there in the first answer of FindCoordinator (Kafka says
  COORDINATOR_NOT_AVAILABLE first), have one replica, and cannot be given more partitions, which would part groups from
  their offsets and producers from their transactions.
- **Groups and transactions are loaded before the broker serves**, so no client sees COORDINATOR_LOAD_IN_PROGRESS.
- **A transaction is complete when EndTxn is answered**, and InitProducerId aborts the one of the producer before it at once;
  Kafka answers CONCURRENT_TRANSACTIONS to what comes too early. After a kill between decision and markers every marker is
  written before the transaction is called complete; a single node of Kafka 4.3 may leave some out.
- **Two-phase commit** by outside coordinators (KIP-939, InitProducerId 6) is not there.
- **Patterns** of KIP-848 groups are looked up within the heartbeat that brings them; Kafka does it a little later.
- **Share groups and streams groups** (KIP-932, KIP-1071) are not there.
- **Compaction** is done by a process of its own, which is there while there is work; `log.cleaner.threads` counts
  processes. The base timestamp of a batch stays when its first record goes; Kafka's becomes that of the first one left.
- **TLS, SASL and ACLs** are not there yet.

## One machine or many

Clients, groups, transactions, registry, Spark, streams and SQL do the same on the embedded broker and on an Apache Kafka
cluster: `make test-kafka` runs their tests on both, the cluster with three brokers. This is all that they see of the difference:

| | embedded broker | three brokers of Apache Kafka | why |
|---|---|---|---|
| replicas | one, also where more are asked for, with a remark | as many as are asked for, or a refusal | there is one node |
| a broker that is killed | is gone until it is started again | is gone for the seconds until others lead; clients look for them, and go on | as above |
| a topic or a config that was just changed | is known at once | is known to each broker a moment later; Stoker's clients wait for a topic that they made | brokers hear of it from the controller |
| when EndTxn is answered | the transaction is complete | its markers may still be on their way; Stoker's sink waits for them | coordinator and leaders are different brokers |
| producer ids | rise | rise within each coordinator | each has a block of its own |
| `min.insync.replicas` | is a setting of the topic if it is given | is always one that the cluster has set | eligible leader replicas (KIP-966) |
| `confluent.value.schema.validation` | checks what is produced | INVALID_CONFIG | Apache Kafka has no such config |
| `stoker.*` | settings of the broker | are not known | they are ours |
"""


def compatibility_page() -> str:
    lines = [_HEAD]
    for api in APIS.values():
        versions = (
            f"{api.min_version} to {api.max_version}" if api.min_version < api.max_version else f"{api.min_version}"
        )
        if api.advertised_min_version is not None:
            versions += f" (advertised from {api.advertised_min_version}, for older clients' sake)"
        lines.append(f"| {api.key} | {api.name} | {versions} | {_summary(api.module)} |\n")
    lines.append(_NOT_SERVED)
    lines += [f"| {int(key)} | {_title(key.name)} |\n" for key in ApiKey if key not in APIS]
    lines.append(_NOTES)
    return "".join(lines)


def _summary(module: str) -> str:
    """The handler's docstring without its first words, which repeat the table."""
    text = inspect.getdoc(import_module(f"{__package__}.{module}")) or ""
    head, _, rest = " ".join(text.split()).partition(": ")
    if not rest or len(head) > 90:
        head, _, rest = " ".join(text.split()).partition(". ")
    return (rest[:1].upper() + rest[1:]).replace("|", "\\|")


def _title(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


if __name__ == "__main__":
    sys.stdout.write(compatibility_page())
