"""`stoker.spark.session()`: what it sets, what it leaves to the user, and what it says when it cannot."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stoker.spark
from stoker.client.admin.topics import create_topic
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.spark.errors import SparkCannotStart
from stoker.spark.settings import LOCAL_MASTER, settings
from stoker.spark.spark_session import SettingsNotTaken
from tests.clients.client import fresh_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGED_BY_THE_FIXTURE = {"spark.sql.shuffle.partitions"}


def test_a_session_has_every_setting(spark: "SparkSession") -> None:
    wanted = {each.name: each.value for each in settings() if each.name not in CHANGED_BY_THE_FIXTURE}
    assert {name: spark.conf.get(name) for name in wanted} == wanted


def test_what_is_given_is_stronger_than_what_is_set(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert spark.sparkContext.master == "local[2,4]"


def test_workers_run_the_python_that_runs_this(spark: "SparkSession") -> None:
    from pyspark.sql.functions import udf

    executable = udf(lambda _: __import__("sys").prefix, "string", useArrow=False)
    assert spark.range(1).select(executable("id")).head() == (sys.prefix,)


def test_each_setting_is_explained_with_what_differs(spark: "SparkSession") -> None:
    text = stoker.spark.explain_settings(spark)
    for each in settings():
        assert f"{each.name} = {each.value}" in text
    assert "(here: 4)" in text or "spark.sql.shuffle.partitions = 4\n" in text


def test_secrets_are_not_shown_in_plans(
    spark: "SparkSession", stoker_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither those that Spark hides by itself nor others."""
    topic = fresh_topic("secrets")
    with Cluster(client_properties(stoker_address)) as cluster:
        create_topic(cluster, topic, partitions=1)
    secrets = {
        "kafka.sasl.password": "hidden-1",
        "kafka.sasl.jaas.config": "hidden-2",
        "kafka.ssl.keystore.key": "hidden-3",
        "kafka.ssl.key.pem": "hidden-4",
        "schema.registry.basic.auth.user.info": "ann:hidden-5",
    }
    options = {"kafka.bootstrap.servers": stoker_address, "subscribe": topic, "kafka.client.id": "shown", **secrets}
    spark.readStream.format("stoker").options(**options).load().explain(extended=True)
    explained = capsys.readouterr().out
    assert "shown" in explained
    assert "hidden" not in explained


def test_a_setting_has_a_sentence_for_a_reason() -> None:
    for each in settings():
        assert each.reason[0].isupper(), each
        assert each.reason.endswith("."), each


def test_on_a_cluster_nothing_is_said_of_this_machine() -> None:
    local, cluster = ({each.name for each in settings(master)} for master in (LOCAL_MASTER, "spark://somewhere:7077"))
    assert cluster < local
    assert {"spark.pyspark.python", "spark.driver.host", "spark.sql.shuffle.partitions"} <= local - cluster


def test_a_running_session_keeps_what_it_was_told(spark: "SparkSession") -> None:
    assert stoker.spark.session() is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"


def test_a_running_session_takes_what_it_can_and_says_what_it_cannot(spark: "SparkSession") -> None:
    with pytest.warns(
        SettingsNotTaken, match=r"before it starts: spark\.driver\.memory=5g, spark\.master=local\[7\]\."
    ):
        again = stoker.spark.session(
            master="local[7]", config={"spark.driver.memory": "5g", "spark.sql.streaming.numRecentProgressUpdates": 99}
        )
    assert again is spark
    assert spark.conf.get("spark.sql.streaming.numRecentProgressUpdates") == "99"
    assert spark.sparkContext.master == "local[2,4]"
    spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pyspark import SparkContext

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        SparkCannotStart, match=r"Spark needs Java 17 or newer, .* `apt install openjdk-17-jre-headless`"
    ):
        stoker.spark.session()


def test_a_java_that_spark_cannot_use_is_named(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\nexit 1\n")
    java.chmod(0o755)
    ended = subprocess.run(
        [sys.executable, "-c", "import stoker.spark; stoker.spark.session()"],
        env={
            "JAVA_HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(Path(stoker.spark.__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert f'this one ({java}) says of itself: openjdk version "11.0.2" 2019-01-15' in ended.stderr


def test_importing_the_room_does_not_import_spark() -> None:
    code = "import stoker.spark, sys; assert not {'pyspark', 'pyarrow', 'numpy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'sesion'\. It has: .*session"):
        _ = stoker.spark.sesion


def test_spark_defaults_are_stronger_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from stoker.spark.spark_session import _submitted

    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.driver.memory   3g\nspark.master=local[3]\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _submitted() == {"spark.driver.memory": "3g", "spark.master": "local[3]"}
