"""Apache Kafka's jars: where they come from, and what is said if they do not come. Maven is a script that the tests write."""

import os
from pathlib import Path

import pytest

from stoker.clusters.errors import CannotFetchJars, CannotStart
from stoker.clusters.jars import DEFAULT_KAFKA_VERSION, Jars, kafka_jars
from stoker.clusters.java import find_java
from stoker.clusters.kafka_cluster import KafkaCluster
from tests.clusters.commands import KAFKA_JARS

MAVEN = """#!/bin/sh
for each in "$@"; do
    case $each in -DoutputDirectory=*) target=${each#-DoutputDirectory=} ;; esac
done
for number in 1 2 3 4 5 6 7 8 9 10; do
    echo "Downloaded from central: it/$number.jar (12 kB at 1 MB/s)"
done
mkdir -p "$target"
touch "$target/kafka_2.13-4.1.0.jar" "$target/kafka-clients-4.1.0.jar"
"""
FAILING_MAVEN = """#!/bin/sh
echo "[INFO] Scanning for projects..."
echo "[ERROR] Could not find artifact org.apache.kafka:kafka_2.13:jar:9.9.9"
exit 1
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that comes first on the PATH, with nothing but the shell's own after it."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "mkdir", "touch"):
        found = next(Path(each, name) for each in ("/bin", "/usr/bin") if Path(each, name).exists())
        (directory / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return directory


def install(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(text)
    os.chmod(directory / name, 0o755)


def nobody(remark: str) -> None:
    pass


def test_they_are_fetched_once(programs: Path, tmp_path: Path) -> None:
    install(programs, "mvn", MAVEN)
    said: list[str] = []
    jars = kafka_jars("4.1.0", None, said.append)
    assert jars == Jars(tmp_path / "cache" / "stoker" / "kafka-4.1.0", "4.1.0")
    assert sorted(path.name for path in jars.directory.iterdir()) == ["kafka-clients-4.1.0.jar", "kafka_2.13-4.1.0.jar"]
    assert said[1:] == ["  10 jars have come", "Fetched 2 jars."]
    (programs / "mvn").unlink()
    assert kafka_jars("4.1.0", None, said.append) == jars
    assert [path.name for path in jars.directory.parent.iterdir()] == ["kafka-4.1.0"], "nothing else is left there"


def test_what_fails_leaves_nothing(programs: Path, tmp_path: Path) -> None:
    install(programs, "mvn", FAILING_MAVEN)
    with pytest.raises(CannotFetchJars, match=r"(?s)Maven cannot fetch Apache Kafka 9.9.9:\n\[ERROR\] Could not find"):
        kafka_jars("9.9.9", None, nobody)
    assert list((tmp_path / "cache" / "stoker").iterdir()) == []


def test_no_maven(programs: Path) -> None:
    with pytest.raises(CannotFetchJars, match=r"there is no mvn on the PATH. Install it: `apt install maven`"):
        kafka_jars(None, None, nobody)


def test_no_java(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="Apache Kafka needs Java 17 or newer, and there is no java on the PATH"):
        KafkaCluster(tmp_path / "cluster").up()
    assert not (tmp_path / "cluster").exists()


def test_a_java_home_that_is_none(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(CannotStart, match="JAVA_HOME is /nowhere, and has no bin/java"):
        find_java("Spark")


def test_a_version_that_is_none(programs: Path) -> None:
    with pytest.raises(
        CannotFetchJars, match=f"'../4' is no version of Apache Kafka: the form is {DEFAULT_KAFKA_VERSION}"
    ):
        kafka_jars("../4", None, nobody)


@pytest.mark.java
def test_a_directory_that_has_them() -> None:
    assert kafka_jars(None, KAFKA_JARS, nobody) == Jars(KAFKA_JARS, "4.3.0")
    with pytest.raises(CannotFetchJars, match=r"has the jars of Apache Kafka 4.3.0, and 4.1.0 is asked for"):
        kafka_jars("4.1.0", KAFKA_JARS, nobody)


def test_a_directory_that_has_none(tmp_path: Path) -> None:
    with pytest.raises(CannotFetchJars, match=r"has no kafka_2.13-VERSION.jar. Name the directory of all jars"):
        kafka_jars(None, tmp_path, nobody)
