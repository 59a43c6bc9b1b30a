"""From a file and a command line to a config, and what is said on the way."""

from pathlib import Path

import pytest

from stoker.broker.config.errors import ConfigError, InvalidConfig
from stoker.broker.config.image import ConfigImage
from stoker.broker.config.server_properties import LoadedConfig, load_broker_config, parse_overrides

RETENTION_AND_THREADS = """\
# Retention
log.retention.hours=168           # 7 days default; set per-topic to override
log.retention.bytes=-1            # unlimited by default; set to cap storage
log.segment.bytes=1073741824      # 1GB segments; smaller = more files, faster cleanup

# Replication
default.replication.factor=3
min.insync.replicas=2

# Performance
num.partitions=6                  # default partitions for new topics
num.network.threads=8
num.io.threads=16

# Log compaction (for changelog/CDC topics)
log.cleanup.policy=compact        # or delete (default), or compact,delete
"""

THREADS_AND_STORAGE = """\
## NETWORK & THREADS
num.network.threads=8 # socket threads: 2x CPU cores
num.io.threads=16 # disk I/O threads: 4x CPU cores
num.replica.fetchers=4 # replication fetch parallelism
socket.send.buffer.bytes=1048576 # 1MB socket buffer
socket.receive.buffer.bytes=1048576
socket.request.max.bytes=104857600 # 100MB max request
## LOG STORAGE
log.dirs=/data/kafka-logs,/data2/kafka-logs # RAID-0 across SSDs
log.segment.bytes=1073741824 # 1GB segments
log.retention.hours=168 # 7 days
log.flush.interval.messages=10000 # fsync every 10K messages
log.flush.interval.ms=1000 # or every 1s — whichever first
## REPLICATION
default.replication.factor=3
min.insync.replicas=2
replica.lag.time.max.ms=30000 # remove from ISR after 30s lag
"""

KRAFT_SAMPLE = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
log.dirs=/tmp/kraft-combined-logs
offsets.topic.replication.factor=1
"""


def load(tmp_path: Path, text: str, **overrides: str) -> LoadedConfig:
    file = tmp_path / "server.properties"
    file.write_text(text)
    return load_broker_config(file, {name.replace("_", "."): value for name, value in overrides.items()})


def warnings(tmp_path: Path, text: str, **overrides: str) -> list[str]:
    found = load(tmp_path, text, **overrides).warnings
    return [warning.replace(f"{tmp_path}/", "") for warning in found]


def test_comments_behind_values_are_comments(tmp_path: Path) -> None:
    loaded = load(tmp_path, RETENTION_AND_THREADS)
    assert loaded.config.values["log.retention.hours"] == 168
    assert loaded.config.num_partitions == 6
    assert loaded.config.default_replication_factor == 3
    log_config = ConfigImage(loaded.config).log_config_for("any")
    assert log_config.retention_bytes == -1
    assert log_config.cleanup_policy == {"compact"}
    assert loaded.without_effect == ("num.io.threads",)
    file = tmp_path / "server.properties"
    assert loaded.warnings == (f"{file}: text behind # is taken for a comment, unlike in Kafka (line 2, 3, 4, 11, 16)",)


def test_a_pasted_tuning_file_is_accepted_key_by_key(tmp_path: Path) -> None:
    loaded = load(tmp_path, THREADS_AND_STORAGE)
    assert loaded.config.log_dirs == ("/data/kafka-logs", "/data2/kafka-logs")
    assert loaded.config.socket_send_buffer_bytes == loaded.config.socket_receive_buffer_bytes == 1048576
    log_config = ConfigImage(loaded.config).log_config_for("any")
    assert (log_config.flush_messages, log_config.flush_ms) == (10000, 1000)
    assert len(loaded.warnings) == 1


def test_kafkas_own_sample_file_is_accepted(tmp_path: Path) -> None:
    loaded = load(tmp_path, KRAFT_SAMPLE)
    assert [str(listener) for listener in loaded.config.advertised_listeners] == ["PLAINTEXT://localhost:9092"]
    assert loaded.warnings == (
        "CONTROLLER://:9093 is not opened: Stoker is its own controller and has no other to talk to",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("num.partitions=3", []),
        (
            "a.b=1",
            ["server.properties line 1: a.b is not a known setting and has no effect"],
        ),
        (
            "\nnum.partition=3",
            [
                "server.properties line 2: num.partition is not a known setting and has no effect (did you mean num.partitions?)"
            ],
        ),
        (
            "retention.ms=3",
            [
                "server.properties line 1: retention.ms is not a known setting and has no effect; "
                "it is a setting of topics, whose default is log.retention.ms"
            ],
        ),
        (
            "zookeeper.connect=localhost:2181",
            [
                "server.properties line 1: zookeeper.connect is ignored: there is no ZooKeeper: "
                "Stoker keeps its metadata itself, as Kafka does since 4.0"
            ],
        ),
        (
            "zookeeper.connection.timeout.ms=18000",
            [
                "server.properties line 1: zookeeper.connection.timeout.ms is ignored: there is no ZooKeeper: "
                "Stoker keeps its metadata itself, as Kafka does since 4.0"
            ],
        ),
        (
            "port=9092",
            ["server.properties line 1: port is ignored: give the address in `listeners` and `advertised.listeners`"],
        ),
        ("broker.id=-1", ["server.properties line 1: broker.id=-1 is ignored: ids are not generated, see node.id"]),
        (
            "num.partitions=3\nnum.partitions=4",
            ["server.properties line 2: num.partitions is set twice; this one counts, not that of line 1"],
        ),
        (
            "create.topic.policy.class.name=org.example.Policy",
            [
                "server.properties line 1: create.topic.policy.class.name has no effect: Stoker does not run Java classes"
            ],
        ),
        (
            "inter.broker.listener.name=OTHER",
            ["inter.broker.listener.name=OTHER is none of the listeners; Apache Kafka would not start with it"],
        ),
        ("ssl.keystore.password=a #b", []),
        ("listener.name.plaintext.max.connections=3", []),
    ],
)
def test_warnings(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert warnings(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("broker.rack=a # b", "broker.rack", "a"),
        ("broker.rack=a#b", "broker.rack", "a#b"),
        ("broker.rack=#1", "broker.rack", "#1"),
        ("broker.rack= # none", "broker.rack", ""),
        ("ssl.keystore.password=a #b", "ssl.keystore.password", "a #b"),
        ("a.b=a #b", "a.b", "a #b"),
    ],
)
def test_what_is_a_comment(tmp_path: Path, text: str, name: str, value: str) -> None:
    assert load(tmp_path, text).config.originals[name] == value


def test_overrides_are_stronger_than_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, "num.partitions=3\nbroker.rack=a", num_partitions="4")
    assert (loaded.config.num_partitions, loaded.config.broker_rack) == (4, "a")
    assert loaded.warnings == ()


def test_an_override_with_an_unknown_name_is_named() -> None:
    loaded = load_broker_config(overrides={"num.partition": "3"})
    assert loaded.warnings == (
        "-o num.partition: num.partition is not a known setting and has no effect (did you mean num.partitions?)",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\nnum.partitions=x",
            "server.properties line 2: Invalid value x for configuration num.partitions: Not a number of type INT",
        ),
        ("log.roll.ms=0", "server.properties line 1: log.roll.ms must be greater than or equal to 1"),
        ("a=\\u1", r"server.properties line 1: malformed \uxxxx encoding: four hexadecimal digits must follow \u"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_errors_name_the_override() -> None:
    with pytest.raises(InvalidConfig) as caught:
        load_broker_config(overrides={"num.partitions": "0"})
    assert (
        str(caught.value)
        == "-o num.partitions: Invalid value 0 for configuration num.partitions: Value must be at least 1"
    )


def test_overrides_of_a_command_line() -> None:
    assert parse_overrides(["a.b=1", "c = x=y", "a.b=2"]) == {"a.b": "2", "c": " x=y"}
    for argument in ("a", "=1"):
        with pytest.raises(ConfigError, match=r"the form is key=value"):
            parse_overrides([argument])


def test_no_file_at_all() -> None:
    loaded = load_broker_config()
    assert loaded.config.node_id == 1
    assert loaded.warnings == loaded.without_effect == ()


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_broker_config(tmp_path / "none")
