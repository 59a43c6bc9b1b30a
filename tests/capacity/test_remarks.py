"""What an experienced operator would say to a plan."""

import pytest

from stoker.capacity import Load, Machines, planned

HOUR = 3600.0
LARGE = Machines(broker_write=2e9, broker_network=3e9, broker_cores=32, broker_memory=128e9)


def remarks(load: Load, machines: Machines | None = None) -> str:
    return "\n".join(planned(load, machines or Machines()).remarks)


@pytest.mark.acceptance("B292")
@pytest.mark.parametrize(
    ("topics", "said"),
    [
        (1, "2,000 partitions in one topic: avoid thousands."),
        (8, "250 partitions a topic are more than the usual 10 to 100"),
        (40, None),
        (400, "5 partitions a topic are few"),
    ],
)
def test_partitions_of_a_topic(topics: int, said: str | None) -> None:
    """10 to 50, or to 100, partitions a topic pass; fewer, more, and thousands are remarked on."""
    text = remarks(Load(throughput=1e10, retention_seconds=HOUR, topics=topics), LARGE)
    assert ("partitions" in text) == (said is not None)
    assert said is None or said in text


@pytest.mark.acceptance("B294")
def test_why_few_and_why_many_are_bad() -> None:
    """Too few: no parallelism, hot keys. Too many: files, memory, elections, latency."""
    few = remarks(Load(throughput=1e6))
    assert "no group has more consumers at work than that, and one hot key weighs more" in few
    many = remarks(Load(throughput=1e10, retention_seconds=HOUR), LARGE)
    assert "Each costs files, memory of producers, an election when its broker fails, and latency." in many


@pytest.mark.acceptance("B296")
def test_gp3_and_what_is_faster() -> None:
    """Where disk writes decide on 125 MB/s a broker, io2, NVMe and more volumes are named; on faster disks they are not."""
    assert "125 MB/s is what a gp3 volume gives without extra charge (and 3,000 IOPS)" in remarks(
        Load(throughput=100e6, retention_seconds=HOUR)
    )
    assert "gp3" not in remarks(
        Load(throughput=100e6, retention_seconds=HOUR), Machines(broker_write=150e6, broker_network=1e9)
    )


@pytest.mark.acceptance("B024")
def test_large_records() -> None:
    """Records over 100 KB are flagged: blobs belong into object storage, a reference into the record."""
    assert "keep them under 100 KB. Put blobs into object storage" in remarks(Load(throughput=1e6, record_bytes=1e6))
    assert "object storage" not in remarks(Load(throughput=1e6, record_bytes=1e5))


@pytest.mark.parametrize(
    ("load", "said"),
    [
        pytest.param(
            Load(throughput=50e6, retention_seconds=HOUR, replication_factor=1, failures=0),
            "The embedded broker is enough",
            id="one copy, half a core",
        ),
        pytest.param(Load(throughput=50e6, retention_seconds=HOUR), "but it keeps one copy", id="three copies"),
        pytest.param(
            Load(throughput=90e6, retention_seconds=HOUR, replication_factor=1, failures=0),
            "The embedded broker is not enough",
            id="more than half a core",
        ),
        pytest.param(
            Load(throughput=50e6, replication_factor=1, failures=0), "does not fit one machine's disk", id="30 TB"
        ),
        pytest.param(
            Load(throughput=80e6, retention_seconds=HOUR, replication_factor=1, failures=0),
            "but not one machine's disk writes",
            id="more than half of a gp3 volume",
        ),
        pytest.param(
            Load(throughput=20e6, retention_seconds=HOUR, replication_factor=1, failures=0, consumers=8),
            "but not one machine's network",
            id="eight groups",
        ),
    ],
)
def test_whether_the_embedded_broker_is_enough(load: Load, said: str) -> None:
    assert said in remarks(load)


@pytest.mark.parametrize(
    ("load", "machines", "said"),
    [
        (Load(throughput=1e8), None, "Disk decides: a shorter --retention"),
        (Load(throughput=1e6, replication_factor=1, failures=0), None, "One copy: what a broker's disk loses is lost."),
        (Load(throughput=1e6, failures=2), None, "writes go on with a replication factor of 4"),
        (Load(throughput=1e9), Machines(broker_disk=64e12), "open files on a broker: raise its limit (ulimit -n)"),
        (Load(throughput=1e8), None, "to be filled anew, with one copy less all the while"),
        (Load(throughput=1e8), None, "Disks are planned as if replicas were spread evenly."),
        (Load(throughput=1e9), None, "Spark needs a cluster: 5 executors with 4 cores each."),
        (
            Load(throughput=1e7, topics=1000, retention_seconds=10 * HOUR),
            None,
            "Segments that are not whole yet take 3.22 TB beside 1.08 TB of data, for only whole ones are deleted",
        ),
    ],
)
def test_what_else_is_said(load: Load, machines: Machines | None, said: str) -> None:
    assert said in remarks(load, machines)
    assert said not in remarks(Load(throughput=1e6))


def test_one_copy_is_not_filled_anew_from_others() -> None:
    plan = planned(Load(throughput=1e6, replication_factor=1, failures=0), Machines())
    names = {each.name for each in plan.figures}
    assert "disk" in names
    assert not {"time to fill it anew", "elections when it fails"} & names
    assert plan["cluster", "min.insync.replicas"].formula == "there is one copy"
