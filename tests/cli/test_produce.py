"""`stoker produce` against a real broker, read back by another client."""

import json
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from kafka.partitioner.default import murmur2

from stoker import Broker
from tests.cli.running import Finished, Read, create_topic, read_topic, run, running, wait_until

TIME = 1_767_225_600_000  # 2026-01-01T00:00:00Z
UNREACHABLE = "127.0.0.1:1"

_numbers = count()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": False}) as started:
        yield started


@pytest.fixture
def topic(broker: Broker) -> str:
    """A new topic of one partition, whose name resembles no other."""
    name = f"{next(_numbers):08b}".translate(str.maketrans("01", "ox")) * 3
    create_topic(broker.bootstrap_servers, name)
    return name


def produce(broker: Broker, *arguments: str, stdin: bytes = b"") -> Finished:
    return run(broker.bootstrap_servers, "produce", *arguments, stdin=stdin)


def contents(broker: Broker, topic: str) -> list[tuple[bytes | None, bytes | None, dict[str, bytes | None]]]:
    return [(read.key, read.value, dict(read.headers)) for read in read_topic(broker.bootstrap_servers, topic)]


@pytest.mark.parametrize(
    ("arguments", "stdin", "records"),
    [
        ([], b"hello\n", [(None, b"hello", {})]),
        ([], b"one\n\ntwo", [(None, b"one", {}), (None, b"", {}), (None, b"two", {})]),
        ([], b"\xff\x00\xfe\r\n", [(None, b"\xff\x00\xfe", {})]),
        ([], b"", []),
        (["-K", ":"], b'order-123:{"amount":99.99}\n', [(b"order-123", b'{"amount":99.99}', {})]),
        (["--key-separator", r"\t"], b"a\tb\tc\n", [(b"a", b"b\tc", {})]),
        (["--key", "k", "--header", "a=1", "-H", "b=x=y"], b"v\n", [(b"k", b"v", {"a": b"1", "b": b"x=y"})]),
        (["--parse-headers", "-K", "|"], b"a:1,b:2\tk|v\n", [(b"k", b"v", {"a": b"1", "b": b"2"})]),
        (["-K", ":", "--null-value", "NULL"], b"k:NULL\nNULL:v\n", [(b"k", None, {}), (None, b"v", {})]),
        (
            ["--json-lines", "-H", "all=1"],
            b'{"key": "k", "value": {"a": 1}, "headers": {"h": null}}\n\n{"value": null}\n',
            [(b"k", b'{"a": 1}', {"all": b"1", "h": None}), (None, None, {"all": b"1"})],
        ),
        (["--whole-file"], b"a\nb\n", [(None, b"a\nb\n", {})]),
        (["--whole-file", "--null-value", ""], b"", [(None, None, {})]),
    ],
)
def test_input(
    broker: Broker,
    topic: str,
    arguments: list[str],
    stdin: bytes,
    records: list[tuple[bytes | None, bytes | None, dict[str, bytes | None]]],
) -> None:
    finished = produce(broker, topic, *arguments, stdin=stdin)
    assert (finished.code, finished.out) == (0, b"")
    assert contents(broker, topic) == records
    counted = "1 record" if len(records) == 1 else f"{len(records)} records"
    assert finished.err.startswith(f"produced {counted} to {topic} (")


def test_files(broker: Broker, topic: str, tmp_path: Path) -> None:
    """One after the other, and - is standard input among them."""
    (tmp_path / "a").write_bytes(b"1\n2\n")
    (tmp_path / "b").write_bytes(b"4")
    assert produce(broker, topic, str(tmp_path / "a"), "-", str(tmp_path / "b"), stdin=b"3\n").code == 0
    assert [value for _, value, _ in contents(broker, topic)] == [b"1", b"2", b"3", b"4"]
    assert produce(broker, topic, "--whole-file", str(tmp_path / "a"), str(tmp_path / "b")).code == 0
    assert [value for _, value, _ in contents(broker, topic)][4:] == [b"1\n2\n", b"4"]


def test_timestamps_and_partitions(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "three", 3)
    lines = b'{"value": "a", "partition": 0, "timestamp": 5}\n{"value": "b", "timestamp": "2026-01-01T00:00:01"}\n'
    assert produce(broker, "three", "--json-lines", "-p", "2", "--timestamp", "2026-01-01", stdin=lines).code == 0
    assert produce(broker, "three", "-p", "2", "--timestamp", str(TIME), stdin=b"c\n").code == 0
    begun = time.time_ns() // 1_000_000
    assert produce(broker, "three", "-p", "1", "--timestamp", "-1h", stdin=b"d\n").code == 0
    first, hour_ago, second, third = read_topic(broker.bootstrap_servers, "three")
    assert (first.partition, first.value, first.timestamp) == (0, b"a", 5)
    assert (second.partition, second.value, second.timestamp) == (2, b"b", TIME + 1000)
    assert (third.partition, third.value, third.timestamp) == (2, b"c", TIME)
    assert (hour_ago.partition, hour_ago.value) == (1, b"d")
    assert 0 <= hour_ago.timestamp - (begun - 3_600_000) < 60_000


def test_keys_go_where_the_java_producer_puts_them(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "keyed", 7)
    keys = [f"key-{number}".encode() for number in range(50)]
    assert produce(broker, "keyed", "-K", ":", stdin=b"".join(key + b":v\n" for key in keys)).code == 0
    placed = {read.key: read.partition for read in read_topic(broker.bootstrap_servers, "keyed")}
    assert placed == {key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys}


@pytest.mark.parametrize(
    ("arguments", "codec", "is_idempotent"),
    [
        ([], 0, True),
        (["--compression", "gzip"], 1, True),
        (["--compression", "snappy"], 2, True),
        (["-z", "lz4", "--acks", "1"], 3, False),
        (["-z", "zstd", "--acks", "0"], 4, False),
        (["-X", "compression.type=gzip", "--producer-property", "enable.idempotence=false"], 1, False),
    ],
)
def test_batches(broker: Broker, topic: str, arguments: list[str], codec: int, is_idempotent: bool) -> None:
    assert produce(broker, topic, *arguments, stdin=b"x" * 1000 + b"\n").code == 0
    log = broker.data_dir / f"{topic}-0" / f"{0:020d}.log"
    wait_until(lambda: log.stat().st_size > 0)
    batch = log.read_bytes()
    assert batch[22] & 0x07 == codec  # KIP-98: attributes at 21, the producer id at 43
    assert (int.from_bytes(batch[43:51], "big", signed=True) >= 0) == is_idempotent


def test_properties_of_a_file(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Those of the Java client, translated; what is typed by hand is stronger."""
    file = tmp_path / "client.properties"
    file.write_text("acks=1\ncompression.type=gzip\nmax.request.size=1000\nkey.serializer=org.example.Serializer\n")
    produced = produce(broker, topic, "--command-config", str(file), "-z", "none", stdin=b"x\n" + b"y" * 2000 + b"\n")
    assert produced.code == 1
    assert "1 of 2 records were not delivered: Message size too large" in produced.err
    batch = (broker.data_dir / f"{topic}-0" / f"{0:020d}.log").read_bytes()
    assert batch[22] & 0x07 == 0
    assert int.from_bytes(batch[43:51], "big", signed=True) == -1  # acks=1: not idempotent


def test_json_result(broker: Broker, topic: str) -> None:
    finished = produce(broker, topic, "--json", stdin=b"1\n2\n")
    result = json.loads(finished.out)
    assert result.pop("seconds") >= 0
    assert result == {"topic": topic, "produced": 2, "failed": 0}
    assert finished.err == ""


def test_rate(broker: Broker, topic: str) -> None:
    """21 records at 50 a second take 0.4 s from the first to the last, and come one by one."""
    lines = b"".join(b"%d\n" % number for number in range(21))
    assert produce(broker, topic, "--rate", "50", stdin=lines).code == 0
    times = [read.timestamp for read in read_topic(broker.bootstrap_servers, topic)]
    assert len(times) == 21
    assert times[-1] - times[0] >= 350
    assert times == sorted(times)


# What goes wrong ----------------------------------------------------------------------------------------------------


def test_an_unknown_topic(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "orders")
    slip = produce(broker, "ordrs", stdin=b"x\n")
    assert slip.code == 1
    assert slip.err.startswith("stoker produce: topic 'ordrs' does not exist; did you mean 'orders'?")
    other = produce(broker, "zzzzzzzzzzz", stdin=b"x\n")
    assert other.code == 1
    assert "topic 'zzzzzzzzzzz' does not exist, and the cluster creates none by itself" in other.err
    assert "stoker topics create zzzzzzzzzzz" in other.err
    invalid = produce(broker, "no/topic", stdin=b"x\n")
    assert (invalid.code, "Traceback" in invalid.err) == (1, False)
    assert "INVALID_TOPIC" in invalid.err or "TOPIC_EXCEPTION" in invalid.err


def test_a_topic_that_the_cluster_creates() -> None:
    with Broker() as creating:
        finished = run(creating.bootstrap_servers, "produce", "fresh", stdin=b"x\n")
        assert finished.code == 0
        assert "topic 'fresh' is new: the cluster has created it" in finished.err
        # But what looks like a slip is not created, nor what gets no record.
        assert run(creating.bootstrap_servers, "produce", "unused", stdin=b"").code == 0
        assert run(creating.bootstrap_servers, "produce", "unused", "missing.txt").code == 1
        assert "unused" not in run(creating.bootstrap_servers, "topics", "list", "--names").lines
        assert run(creating.bootstrap_servers, "produce", "fersh", stdin=b"x\n").code == 1
        assert [read.value for read in read_topic(creating.bootstrap_servers, "fresh")] == [b"x"]


def test_a_partition_that_is_not_there(broker: Broker, topic: str) -> None:
    finished = produce(broker, topic, "--partition", "7", stdin=b"x\n")
    assert finished.code == 1
    assert f"topic {topic!r} has no partition 7; it has only partition 0" in finished.err


def test_a_malformed_line_ends_it_but_loses_nothing_before_it(broker: Broker, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "orders.txt"
    file.write_bytes(b"a:1\nb:2\nc\nd:4\n")
    finished = produce(broker, topic, str(file), "-K", ":")
    assert finished.code == 1
    assert f"produced 2 records to {topic}" in finished.err
    assert f"stoker produce: line 3 of {file} has no key separator ':': 'c'" in finished.err
    assert [key for key, _, _ in contents(broker, topic)] == [b"a", b"b"]


def test_what_is_not_delivered_is_counted(broker: Broker, topic: str) -> None:
    finished = produce(broker, topic, stdin=b"one\n" + b"x" * 2_000_000 + b"\nthree\n")
    assert finished.code == 1
    assert f"produced 2 records to {topic}" in finished.err
    assert "1 of 3 records were not delivered: Message size too large (MSG_SIZE_TOO_LARGE): " in finished.err
    assert "max.request.size" in finished.err
    assert [value for _, value, _ in contents(broker, topic)] == [b"one", b"three"]


def test_partitions_that_are_not_there_are_counted_too(broker: Broker, topic: str) -> None:
    finished = produce(broker, topic, "--json-lines", "--json", stdin=b'{"value": 1}\n{"value": 2, "partition": 9}\n')
    assert finished.code == 1
    assert json.loads(finished.out)["failed"] == 1
    assert "1 of 2 records were not delivered" in finished.err
    assert f"topic {topic!r} has only partition 0" in finished.err


@pytest.mark.parametrize("stdin", [b"one\n", b"one\ntwo\n"])
def test_a_time_that_the_topic_does_not_take(broker: Broker, topic: str, stdin: bytes) -> None:
    finished = produce(broker, topic, "--timestamp", "2199-01-01", stdin=stdin)
    assert finished.code == 1
    assert "message.timestamp.after.max.ms" in finished.err


def test_a_file_that_cannot_be_read(broker: Broker, topic: str, tmp_path: Path) -> None:
    missing = produce(broker, topic, str(tmp_path / "none"))
    assert (missing.code, f"{tmp_path / 'none'} cannot be read: No such file" in missing.err) == (1, True)
    directory = produce(broker, topic, str(tmp_path))
    assert (directory.code, "cannot be read: Is a directory" in directory.err) == (1, True)


def test_an_unreachable_broker_is_named_once() -> None:
    finished = run(UNREACHABLE, "produce", "orders", stdin=b"x\n")
    assert finished.code == 1
    assert finished.err.startswith(f"stoker produce: cannot connect to {UNREACHABLE}: Connection refused")
    assert "--bootstrap-server" in finished.err
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rate", "0"], "--rate must be more than 0"),
        (["--timestamp", "noon"], "'noon' is no point in time"),
        (["--timestamp", "0"], "has a timestamp that no record can have: 0"),
        (["--header", "x"], "'x' is no header; give it as name=value"),
        (["--key", "a", "-K", ":"], "--key and --key-separator exclude each other"),
        (["-K", ""], "--key-separator is empty"),
        (["--whole-file", "--json-lines"], "--whole-file and --json-lines exclude each other"),
        (["--json-lines", "--null-value", "x"], "--json-lines says all of a record"),
        (["--compression", "rar"], "rar"),
        (["--acks", "2"], "2"),
        (["-X", "linger.ms"], "'linger.ms' is no property; give it as name=value"),
        (["-X", "linger.mss=1"], "there is no client property 'linger.mss'"),
        (["-X", "interceptor.classes=X"], "interceptor.classes cannot be used: it names a Java class"),
        (["-X", "acks=1", "-X", "enable.idempotence=true"], "`acks` must be set to `all`"),
    ],
)
def test_wrong_usage(arguments: list[str], complaint: str) -> None:
    """Exit code 2, before anything is connected to."""
    finished = run(UNREACHABLE, "produce", "orders", *arguments)
    assert finished.code == 2
    assert complaint in " ".join(finished.err.split())


# Signals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_sends_what_was_read(broker: Broker, topic: str, number: signal.Signals, code: int) -> None:
    """A slow pipe: its lines are sent as they come, and counted when the signal comes; half a line is none."""
    with running(broker.bootstrap_servers, "produce", topic) as command:
        command.write(b"1\n2\n3\nhalf a li")
        wait_until(lambda: len(read_topic(broker.bootstrap_servers, topic)) == 3)
        finished = command.finish(number)
    assert finished.code == code
    assert finished.err.startswith(f"produced 3 records to {topic} (")
    assert [value for _, value, _ in contents(broker, topic)] == [b"1", b"2", b"3"]


def test_a_signal_ends_a_slow_rate_at_once(broker: Broker, topic: str) -> None:
    with running(broker.bootstrap_servers, "produce", topic, "--rate", "0.01") as command:
        command.write(b"1\n2\n3\n")
        wait_until(lambda: len(read_topic(broker.bootstrap_servers, topic)) == 1)
        finished = command.finish(signal.SIGINT)
    assert finished.code == 130
    assert finished.err.startswith(f"produced 1 record to {topic} (")


def test_a_broker_that_goes_away(tmp_path: Path) -> None:
    """It is said once, tried again for as long as the properties allow, and what is lost is counted."""
    broker = Broker(data_dir=tmp_path).start()
    try:
        with running(broker.bootstrap_servers, "produce", "orders", "-X", "delivery.timeout.ms=2000") as command:
            address = broker.bootstrap_servers
            command.write(b"1\n")
            wait_until(lambda: b"is new" in command.err)
            wait_until(lambda: len(_values(address)) == 1)
            broker.stop()
            command.write(b"2\n3\n")
            command.end_of_input()
            finished = command.wait()
    finally:
        broker.stop()
    assert finished.code == 1
    lines = finished.err.splitlines()
    assert lines[1].startswith("no broker can be reached: ")
    assert lines[2].startswith("produced 1 record to orders (")
    assert lines[3] == "stoker produce: 2 of 3 records were not delivered: Message timed out (_MSG_TIMED_OUT)"


def _values(bootstrap_servers: str) -> list[Read]:
    return read_topic(bootstrap_servers, "orders")
