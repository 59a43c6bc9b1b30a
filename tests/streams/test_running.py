"""An application from its start to its stop, in a program of its own and beside Kafka Streams."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from stoker.streams import Streams, open_store
from stoker.streams.checkpoint import Checkpoint
from stoker.streams.state.directory import StateDirectory
from tests.streams.kafka_streams import RunningKafkaStreams
from tests.streams.records import Records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON: Final = 1_700_006_400_000
PATIENCE_SECONDS: Final = 400.0
SCRIPT: Final = """
import sys, time
from pathlib import Path
import stoker

servers, place, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


def slowly(frame, number):
    (place / f"begun-{number}").touch()
    time.sleep(1.5)
    (place / f"ended-{number}").touch()


app = stoker.Streams(name, bootstrap_servers=servers, state_dir=str(place / "state"), max_rows_per_batch=60)
lines = app.stream(f"{name}-lines")
lines.group_by("value").count(store="counts").to(f"{name}-counts")
lines.for_each_batch(slowly)
app.run()
print("stopped", app.status().state)
"""


@pytest.mark.spark
@pytest.mark.timeout(PATIENCE_SECONDS * 2)
@pytest.mark.acceptance("B129", "B149")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_script_with_a_broker_alone_stops_gracefully(
    records: Records, spark: "SparkSession", tmp_path: Path, number: signal.Signals
) -> None:
    """A plain script runs with only the broker; SIGTERM, or Ctrl-C, lets its micro-batch end, its offsets are committed, and it goes on later."""
    name = f"plain-{number.name.lower()}"
    topic, output_topic = f"{name}-lines", f"{name}-counts"
    records.create(topic, partitions=2)
    for each in range(200):
        records.send(topic, f"key {each}", f"word {each % 4}".encode(), NOON + each)
    records.flush()
    environment = {each: os.environ[each] for each in ("PATH", "JAVA_HOME", "SPARK_SUBMIT_OPTS") if each in os.environ}
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, records.bootstrap_servers, str(tmp_path), name],
        env=environment | {"HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        await_file(tmp_path / "begun-1", script)
        assert open_store(name, "counts", state_dir=tmp_path / "state").get("word 0")
        if number == signal.SIGTERM:
            script.terminate()
        else:
            os.killpg(script.pid, number)  # as a terminal does
        output, errors = script.communicate(timeout=PATIENCE_SECONDS)
    finally:
        if script.poll() is None:
            os.killpg(script.pid, signal.SIGKILL)
    assert (script.returncode, output) == (0, "stopped stopped\n"), errors[-3000:]
    begun = sorted(int(each.name.split("-")[1]) for each in tmp_path.glob("begun-*"))
    assert [(tmp_path / f"ended-{each}").exists() for each in begun] == [True] * len(begun)
    directory = StateDirectory(tmp_path / "state" / name)
    assert directory.manifests() == begun
    assert Checkpoint(directory).is_committed(begun[-1])
    manifest = directory.newest_manifest()
    assert manifest is not None
    assert records.committed(name, topic) == {int(each): offset for each, offset in manifest.offsets[topic].items()}

    app = Streams(name, bootstrap_servers=records.bootstrap_servers, spark=spark, state_dir=str(tmp_path / "state"))
    lines = app.stream(topic)
    lines.group_by("value").count(store="counts").to(output_topic)
    app.run(until_end=True)
    assert records.latest(output_topic) == {f"word {each}": {"count": 50} for each in range(4)}
    assert app.status().rows == {topic: 200}


def await_file(path: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline, f"{path.name} did not come"
        time.sleep(0.05)


LINES: Final = ["All streams lead to Kafka", "hello kafka streams", "", "Join Kafka Summit; join, JOIN!"] * 5


@pytest.mark.java
@pytest.mark.acceptance("S071")
def test_word_count_beside_kafka_streams(records: Records, spark: "SparkSession", tmp_path: Path) -> None:
    """Words repartitioned and counted, the last counts of each as Kafka Streams has them on the same broker; both are shut down."""
    records.create("text-input", "word-counts", "stoker-word-counts", partitions=2)
    app = Streams("words", bootstrap_servers=records.bootstrap_servers, spark=spark, state_dir=str(tmp_path))
    words = app.stream("text-input", value_schema="line string").flat_map(r"split(lower(line), '\\W+')", "word")
    repartitioned = words.filter("length(word) > 0").key_by("word").repartition("by-word")
    repartitioned.group_by_key().count(store="words").to("stoker-word-counts")
    with RunningKafkaStreams("word-count", bootstrap_servers=records.bootstrap_servers):
        app.start()
        for number, line in enumerate(LINES):
            records.send("text-input", None, {"line": line}, NOON + number)
        records.flush()
        expected = {"kafka": 15, "join": 15, "streams": 10}
        for topic in ("word-counts", "stoker-word-counts"):
            await_counts(records, topic, expected, app)
    app.stop()
    assert app.status().state == "stopped"
    ours, theirs = (records.latest(topic) for topic in ("stoker-word-counts", "word-counts"))
    assert ours == theirs
    assert records.topics()["words-by-word-repartition"] == 2
    changelog = {
        json.loads(str(name))["_key"]: value["count"] for name, value in records.latest("words-words-changelog").items()
    }
    assert changelog == {name: value["count"] for name, value in ours.items()}


def await_counts(records: Records, topic: str, expected: dict[str, int], app: Streams) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    found: dict[str | None, int] = {}
    while any(found.get(word) != count for word, count in expected.items()):
        assert time.monotonic() < deadline, f"{topic}: {found}"
        assert not app.wait(0.1)  # which raises if it has failed
        found = {name: value["count"] for name, value in records.latest(topic).items()}
