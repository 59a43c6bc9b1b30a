"""`stoker plan`."""

from dataclasses import asdict, fields

import pytest

from stoker.capacity import Load, Machines, planned
from stoker.capacity.machines import SOURCES
from stoker.capacity.options import option
from stoker.cli.document import commands
from tests.cli.command_line import CommandLine


@pytest.fixture
def run() -> CommandLine:
    """There is no broker, and none is looked for."""
    return CommandLine("localhost:1")


def test_defaults_are_those_of_the_formulas(run: CommandLine) -> None:
    told = run.json("plan", "--throughput", "100MB/s")
    expected = planned(Load(throughput=100e6), Machines())
    assert told["load"] == asdict(expected.load)
    assert told["machines"] == asdict(expected.machines)
    assert {(each["part"], each["name"]): each["value"] for each in told["figures"]} == {
        (each.part, each.name): each.value for each in expected.figures
    }
    assert told["remarks"] == list(expected.remarks)


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ("--throughput 200000events/s --record-size 500B", "throughput", 1e8),
        ("--throughput 86.4GB/d", "throughput", 1e6),
        ("--throughput 1MB/s --peak 3", "peak", 3),
        ("--throughput 1MB/s --compression 4.5", "compression", 4.5),
        ("--throughput 1MB/s --retention 12h", "retention_seconds", 43_200),
        ("--throughput 1MB/s --retention forever --keys 10", "retention_seconds", None),
        ("--throughput 1MB/s --retention forever --keys 10", "keys", 10),
        ("--throughput 1MB/s --topics 5", "topics", 5),
        ("--throughput 1MB/s --replication-factor 2", "replication_factor", 2),
        ("--throughput 1MB/s --failures 2", "failures", 2),
        ("--throughput 1MB/s --consumers 4", "consumers", 4),
        ("--throughput 1MB/s --group-size 6", "group_size", 6),
        ("--throughput 1MB/s --state-keys 7 --state-bytes 1KiB", "state_bytes", 1024),
        ("--throughput 1MB/s --headroom 1.5", "headroom", 1.5),
        ("--throughput 1MB/s --target-producer-rate 5MB/s", "partition_write", 5e6),
        ("--throughput 1MB/s --target-consumer-rate 5MB/s", "partition_read", 5e6),
        ("--throughput 1MB/s --partitions-per-broker 100", "partitions_per_broker", 100),
        ("--throughput 1MB/s --broker-disk 1TB", "broker_disk", 1e12),
        ("--throughput 1MB/s --broker-write 1GB/s", "broker_write", 1e9),
        ("--throughput 1MB/s --broker-network 10Gbit/s", "broker_network", 1.25e9),
        ("--throughput 1MB/s --broker-memory 64GB", "broker_memory", 64e9),
        ("--throughput 1MB/s --broker-cores 8", "broker_cores", 8),
        ("--throughput 1MB/s --work Parquet", "work", "parquet"),
        ("--throughput 1MB/s --spark-core-rate 50kevents/s", "core_rate", 50_000),
        ("--throughput 1MB/s --executor-cores 2", "executor_cores", 2),
    ],
)
def test_every_option_reaches_the_formulas(run: CommandLine, options: str, field: str, value: object) -> None:
    told = run.json("plan", *options.split())
    assert (told["load"] | told["machines"])[field] == value


def test_every_field_has_an_option() -> None:
    command = dict(commands())["stoker plan"]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {option(each.name) for kind in (Load, Machines) for each in fields(kind)} <= options
    assert {option(name) for name in SOURCES} <= options


def test_the_table_says_what_decides(run: CommandLine) -> None:
    lines = run("plan", "--throughput", "100MB/s", "--retention", "1h").splitlines()
    assert lines[0].split() == ["PART", "WHAT", "NUMBER", "DECIDED", "BY", "FORMULA"]
    assert ["brokers", "6", "disk", "writes", "the", "most", "of"] in [line.split() for line in lines]
    assert any(line.endswith("100 MB/s x 3 copies x 2 / 125 MB/s + 1 that may fail") for line in lines)
    assert any(line.startswith("- Disk writes decide: 125 MB/s is what a gp3 volume gives") for line in lines)
    assert "SOURCE" not in run.stdout


def test_sources_are_told_when_asked_for(run: CommandLine) -> None:
    printed = run("plan", "--throughput", "1MB/s", "--sources", "--broker-disk", "2TB")
    assert "SOURCE OF THE DEFAULT" in printed
    assert ["--broker-disk", "2", "TB"] in [line.split()[:3] for line in printed.splitlines()]
    for source in SOURCES.values():
        assert source in printed


@pytest.mark.parametrize(
    "field", ["--peak", "--compression", "--headroom", "--topics", "--consumers", "--group-size", "--state-keys"]
)
def test_the_largest_numbers_are_planned_too(run: CommandLine, field: str) -> None:
    """What is allowed does not overflow anywhere."""
    run.json("plan", "--throughput", "1000000TB/s", field, "1000000000000000000")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--throughput 100MB", "--throughput 100MB: no rate; write 100MB/s"),
        ("--throughput 1MB/s --record-size big", "--record-size big: no size; write 1KB"),
        ("--throughput 1MB/s --retention soon", "--retention soon: no duration"),
        ("--throughput 1MB/s --retention 0s", "--retention 0s: must be more than 0"),
        (
            "--throughput 1MB/s --retention forever",
            "give the number of --keys of a compacted topic, or a time such as 7d",
        ),
        ("--throughput 1MB/s --keys 5", "--keys 5: only a compacted topic is as large as its keys"),
        ("--throughput 1MB/s --failures 3", "replication factor of at least 4, or at most 2 failures"),
        ("--throughput 1MB/s --broker-memory 4GB", "a broker with 4 GB of memory has no page cache"),
        (
            "--throughput 1MB/s --work cooking",
            "--work cooking: choose from raw, avro, aggregate, json, parquet, topic, streams",
        ),
        ("--throughput 1MB/s --work raw,avro", "--work raw,avro: choose one of raw, avro"),
        ("--throughput 1MB/s --broker-network 100Mb/s", "'b' may be bits or bytes"),
        ("--throughput 200000/s", "--throughput 200000/s: no rate; write 100MB/s"),
        ("--throughput 1MB/s --peak nan", "--peak nan: must be a number up to 1e+18"),
        ("--throughput 1MB/s --headroom inf", "--headroom inf: must be a number up to 1e+18"),
        (f"--throughput 1MB/s --topics 1{'0' * 400}", "--topics of 401 digits: must be a number up to 1e+18"),
        (f"--throughput 1MB/s --broker-disk 1{'0' * 400}TB", "--broker-disk inf: must be a number up to 1e+18"),
        (f"--throughput 1MB/s --retention 1{'0' * 400}d", "d: longer than Kafka can tell"),
        ("--throughput 1MB/s --peak 0.5", "0.5 is less than 1"),
        (
            "--throughput 1MB/s --spark-core-rate 5MB/s",
            "--spark-core-rate 5MB/s: no number of events; write 200000events/s",
        ),
        ("--retention 7d", "Missing option '--throughput'"),
    ],
)
def test_wrong_usage_names_the_choices(run: CommandLine, options: str, said: str) -> None:
    run("plan", *options.split(), code=2)
    assert run.stdout == ""
    assert said in run.stderr
