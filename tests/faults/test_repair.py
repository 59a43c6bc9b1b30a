"""A data directory that was damaged while nobody looked: repaired or refused with a clear line, never served wrong."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from stoker import Broker
from tests.faults.broker_process import BrokerProcess
from tests.faults.damage import (
    append_half_a_batch,
    append_zeros,
    batch_positions,
    cut_last_bytes,
    fill_with_garbage,
    flip_bit_in_batch,
    last_segment,
    overwrite,
)
from tests.faults.records import create_topic, produce, read_all, topics_of

RECORDS: Final = 1_500
RECORDS_PER_BATCH: Final = 10
OPTIONS: Final = {"log.segment.bytes": 1024 * 1024}
ORDERS: Final = "orders-0"
METADATA: Final = "__cluster_metadata-0"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"


def value_of(number: int) -> bytes:
    return b"%d %b" % (number, b"." * 2_000)


@dataclass(frozen=True, kw_only=True)
class DataDirectories:
    """The same records in two directories: one whose broker was killed, one whose broker was stopped."""

    killed: Path
    stopped: Path


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> DataDirectories:
    killed, stopped = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("stopped")
    with BrokerProcess(killed, options=OPTIONS) as broker:
        create_topic(broker.bootstrap_servers, "early")
        create_topic(broker.bootstrap_servers, "orders")
        produce(
            broker.bootstrap_servers,
            "orders",
            [value_of(number) for number in range(RECORDS)],
            enable_idempotence=True,
            batch_num_messages=RECORDS_PER_BATCH,
            linger_ms=20,
        )
        create_topic(broker.bootstrap_servers, "late")
        broker.kill()
    shutil.copytree(killed, stopped, dirs_exist_ok=True)
    with Broker(data_dir=stopped, config=OPTIONS):
        pass
    assert not (killed / CLEAN_SHUTDOWN).exists()
    assert (stopped / CLEAN_SHUTDOWN).exists()
    assert len(list((killed / ORDERS).glob("*.log"))) == 3
    return DataDirectories(killed=killed, stopped=stopped)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is done to a directory, the words of the line that tells of it, and what is left."""

    of: str
    damage: Callable[[Path], object]
    says: tuple[str, ...] = ()
    records: Callable[[Path], int] = lambda _: RECORDS
    """How many records are left; called before the damage is done."""
    topics: frozenset[str] = frozenset({"early", "orders", "late"})


def first_segment(data: Path, suffix: str = ".log") -> Path:
    return min((data / ORDERS).glob(f"*{suffix}"))


def log(data: Path) -> Path:
    return last_segment(data / ORDERS)


def metadata_log(data: Path) -> Path:
    return last_segment(data / METADATA)


def all_files(data: Path, suffix: str) -> list[Path]:
    files = sorted((data / ORDERS).glob(f"*{suffix}"))
    assert files, f"there is no {suffix} in {sorted((data / ORDERS).iterdir())}"
    return files


def for_each(suffix: str, damage: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda data: [damage(path) for path in all_files(data, suffix)]


def for_file(name: str, damage: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda data: damage(data / name)


def truncate(path: Path) -> None:
    cut_last_bytes(path, count=min(11, path.stat().st_size))


def without_last_batch(data: Path) -> int:
    """Batches have as many records as the client put in: the offset of the last one is in its header."""
    path = log(data)
    position = batch_positions(path)[-1]
    return int.from_bytes(path.read_bytes()[position : position + 8], "big")


def before_batch_40(data: Path) -> int:
    path = first_segment(data)
    position = batch_positions(path)[40]
    return int.from_bytes(path.read_bytes()[position : position + 8], "big")


def everything_gone(_: Path) -> int:
    return 0


REPAIRED: Final = {
    # The end of a log after a crash
    "torn tail": Case(
        of="killed",
        damage=lambda data: cut_last_bytes(log(data)),
        says=("a torn batch", "cut off the last", "goes on at offset"),
        records=without_last_batch,
    ),
    "half a batch": Case(
        of="killed", damage=lambda data: append_half_a_batch(log(data)), says=("a torn batch", "cut off the last")
    ),
    "zeros at the end": Case(
        of="killed",
        damage=lambda data: append_zeros(log(data)),
        says=("no record batch", "cut off the last 4096 bytes"),
    ),
    "flipped bit in the last batch": Case(
        of="killed",
        damage=lambda data: flip_bit_in_batch(log(data), -1),
        says=("wrong checksum", "cut off the last"),
        records=without_last_batch,
    ),
    "flipped bit in the middle": Case(
        of="killed",
        damage=lambda data: flip_bit_in_batch(first_segment(data), 40),
        says=("wrong checksum", "cut off the last"),
        records=before_batch_40,
    ),
    "torn tail after a clean shutdown": Case(
        of="stopped",
        damage=lambda data: cut_last_bytes(log(data)),
        says=("a torn batch", "cut off the last"),
        records=without_last_batch,
    ),
    "zeros at the end after a clean shutdown": Case(
        of="stopped", damage=lambda data: append_zeros(log(data)), says=("cut off the last 4096 bytes",)
    ),
    # Indexes: a crash has them rebuilt anyway, a clean shutdown has them trusted until they contradict the log
    **{
        f"{what} {suffix} of a {of} broker": Case(
            of=of,
            damage=for_each(suffix, damage),
            says=("rebuilding the indexes of",) if of == "stopped" and suffix == ".index" else (),
        )
        for of in ("killed", "stopped")
        for suffix in (".index", ".timeindex")
        for what, damage in (("missing", Path.unlink), ("truncated", truncate), ("garbage", fill_with_garbage))
    },
    # Producer snapshots
    "missing snapshots of a killed broker": Case(of="killed", damage=for_each(".snapshot", Path.unlink)),
    "garbage snapshots of a killed broker": Case(of="killed", damage=for_each(".snapshot", fill_with_garbage)),
    "garbage snapshots of a stopped broker": Case(
        of="stopped", damage=for_each(".snapshot", fill_with_garbage), says=("cannot use", ".snapshot")
    ),
    # Checkpoints
    **{
        f"{what} {name} of a {of} broker": Case(of=of, damage=for_file(name, damage))
        for of, name in (
            ("stopped", "recovery-point-offset-checkpoint"),
            ("stopped", "log-start-offset-checkpoint"),
            ("stopped", "replication-offset-checkpoint"),
            ("stopped", f"{ORDERS}/leader-epoch-checkpoint"),
        )
        for what, damage in (
            ("missing", Path.unlink),
            ("truncated", truncate),
            ("garbage", fill_with_garbage),
        )
    },
    # The metadata log after a crash: what was half written is cut off, all before it is there
    "metadata log with half a batch": Case(
        of="killed",
        damage=lambda data: append_half_a_batch(metadata_log(data)),
        says=(METADATA, "a torn batch", "cut off the last"),
    ),
    "metadata log with zeros at the end": Case(
        of="killed",
        damage=lambda data: append_zeros(metadata_log(data)),
        says=(METADATA, "cut off the last 4096 bytes"),
    ),
    "metadata log with a torn last batch": Case(
        of="killed",
        damage=lambda data: cut_last_bytes(metadata_log(data)),
        says=("no topic has a partition late-0: its directory is set aside as",),
        topics=frozenset({"early", "orders"}),
    ),
    "metadata log with a flipped bit in the last batch": Case(
        of="killed",
        damage=lambda data: flip_bit_in_batch(metadata_log(data), -1),
        says=(METADATA, "wrong checksum", "cut off the last"),
        topics=frozenset({"early", "orders"}),
    ),
    # Directories
    "missing meta.properties": Case(
        of="stopped",
        damage=lambda data: (data / "meta.properties").unlink(),
        says=("had logs but no meta.properties", "it belongs to cluster"),
    ),
    "missing partition directory": Case(
        of="stopped",
        damage=lambda data: shutil.rmtree(data / ORDERS),
        says=(f"orders-0 has no log on the disk: beginning an empty one at offset {RECORDS}",),
        records=everything_gone,
    ),
    "stray partition directory": Case(
        of="stopped",
        damage=lambda data: shutil.copytree(data / ORDERS, data / "forgotten-7"),
        says=("no topic has a partition forgotten-7: its directory is set aside as",),
    ),
    "partition directory of a deleted topic of the same name": Case(
        of="stopped",
        damage=lambda data: shutil.copy(data / "early-0/partition.metadata", data / ORDERS / "partition.metadata"),
        says=("orders-0", "set aside as"),
        records=everything_gone,
    ),
    "partition directory that a crash left half deleted": Case(
        of="killed", damage=lambda data: shutil.copytree(data / ORDERS, data / "gone-0.0123456789abcdef-delete")
    ),
}


@pytest.mark.acceptance("B002", "B059")
@pytest.mark.parametrize("case", REPAIRED.values(), ids=REPAIRED)
def test_repaired(case: Case, templates: DataDirectories, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After a crash or damage on disk the log is repaired with a clear line; what is intact is read and written on."""
    data = tmp_path / "data"
    shutil.copytree(getattr(templates, case.of), data)
    left = case.records(data)
    case.damage(data)
    with Broker(data_dir=data, config=OPTIONS) as broker:
        address = broker.bootstrap_servers
        assert topics_of(address) == case.topics
        [end] = produce(address, "orders", [b"the next"])
        found = read_all(address, "orders")
        assert end in (left, RECORDS), "an offset would be used twice"
        assert found == [*((number, value_of(number)) for number in range(left)), (end, b"the next")]
    if case.says:
        assert any(all(word in line for word in case.says) for line in caplog.messages), caplog.text
    caplog.clear()
    with Broker(data_dir=data, config=OPTIONS) as broker:
        assert read_all(broker.bootstrap_servers, "orders") == found
        assert topics_of(broker.bootstrap_servers) == case.topics
    assert not [record for record in caplog.records if record.levelname != "INFO" and "leaving" not in record.message]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What is done to a directory, and the words of the line with which the broker refuses it."""

    of: str
    damage: Callable[[Path], object]
    says: tuple[str, ...]


def middle_of_metadata(data: Path) -> int:
    return batch_positions(metadata_log(data))[1]


def change_meta(data: Path, old: str, new: str) -> None:
    path = data / "meta.properties"
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))


LOST: Final = ("The metadata log is damaged, and topics would be lost", "Restore it from a copy")

REFUSED: Final = {
    **{
        f"{what} in the middle of the metadata log of a {of} broker": Refusal(of=of, damage=damage, says=LOST)
        for of in ("killed", "stopped")
        for what, damage in (
            ("flipped bit", lambda data: flip_bit_in_batch(metadata_log(data), 1)),
            ("garbage header", lambda data: overwrite(metadata_log(data), middle_of_metadata(data))),
            ("garbage records", lambda data: overwrite(metadata_log(data), middle_of_metadata(data) + 70)),
        )
    },
    "flipped bit in the last batch of the metadata log of a stopped broker": Refusal(
        of="stopped", damage=lambda data: flip_bit_in_batch(metadata_log(data), -1), says=LOST
    ),
    "torn metadata log of a stopped broker": Refusal(
        of="stopped", damage=lambda data: cut_last_bytes(metadata_log(data)), says=LOST
    ),
    "emptied metadata log of a stopped broker": Refusal(
        of="stopped", damage=lambda data: metadata_log(data).write_bytes(b""), says=LOST
    ),
    "garbage metadata log": Refusal(of="stopped", damage=lambda data: fill_with_garbage(metadata_log(data)), says=LOST),
    "missing metadata log": Refusal(
        of="killed",
        damage=lambda data: shutil.rmtree(data / METADATA),
        says=("The metadata log", "is missing, and nothing else knows the 3 partitions", "Restore it from a copy"),
    ),
    "metadata log without its file": Refusal(
        of="killed", damage=lambda data: metadata_log(data).unlink(), says=("metadata log", "Restore it from a copy")
    ),
    "meta.properties of another node": Refusal(
        of="stopped",
        damage=lambda data: change_meta(data, "node.id=1", "node.id=7"),
        says=("meta.properties belongs to node.id 7, this broker has 1",),
    ),
    "meta.properties of a later version": Refusal(
        of="stopped",
        damage=lambda data: change_meta(data, "version=1", "version=2"),
        says=("meta.properties", "version"),
    ),
}


@pytest.mark.parametrize("refusal", REFUSED.values(), ids=REFUSED)
def test_refused(refusal: Refusal, templates: DataDirectories, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(getattr(templates, refusal.of), data)
    refusal.damage(data)
    before = {path.name for path in data.iterdir()}
    broker = BrokerProcess(data).launch()
    assert broker.wait() == 1
    assert broker.line_with(*refusal.says).startswith("stoker broker: ")
    assert "Traceback" not in broker.output
    assert {path.name for path in data.iterdir()} >= before - {CLEAN_SHUTDOWN}, "something was removed or renamed"


def test_directory_of_another_cluster(templates: DataDirectories, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    shutil.copytree(templates.stopped, ours)
    with Broker(data_dir=theirs):
        pass
    broker = BrokerProcess(None, options={"log.dirs": f"{ours},{theirs}"}).launch()
    assert broker.wait() == 1
    broker.line_with("stoker broker:", f"{theirs}/meta.properties belongs to cluster")


def test_offline_partition_of_garbage(
    templates: DataDirectories, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A partition that cannot be opened takes no other with it."""
    data = tmp_path / "data"
    shutil.copytree(templates.stopped, data)
    fill_with_garbage(data / "early-0" / "partition.metadata")
    with Broker(data_dir=data, config=OPTIONS) as broker:
        assert len(read_all(broker.bootstrap_servers, "orders")) == RECORDS
    assert "early-0" in caplog.text
    assert "it is offline" in caplog.text
