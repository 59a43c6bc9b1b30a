"""The cluster that stoker.toml or variables name, in Python: `Streams`, `attach` and `session` without addresses."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import stoker.spark
from stoker import Streams
from stoker.settings.definitions import SPARK_MASTER
from stoker.settings.errors import InvalidSettings
from stoker.spark.named_cluster import NamedCluster
from stoker.spark.settings import LOCAL_MASTER
from stoker.spark.spark_session import _named_master
from tests.cli.running import create_topic, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECURED = """
[kafka]
bootstrap-servers = "broker-1:9092"
[kafka.properties]
sasl.username = "ann"
[registry]
url = "http://registry-1:8081"
user = "ann:secret"
"""


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in [name for name in os.environ if name.startswith("STOKER_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stoker.toml"


def test_nothing_is_named() -> None:
    assert NamedCluster.of(None, None) == NamedCluster(bootstrap_servers="localhost:9092", registry=None, options={})


def test_all_is_named(file: Path) -> None:
    file.write_text(SECURED)
    assert NamedCluster.of(None, None) == NamedCluster(
        bootstrap_servers="broker-1:9092",
        registry="http://registry-1:8081",
        options={"kafka.sasl.username": "ann", "schema.registry.basic.auth.user.info": "ann:secret"},
    )


def test_who_gives_a_cluster_is_on_its_own(file: Path) -> None:
    """A test with a broker of its own must not register schemas elsewhere, nor show anybody a password."""
    file.write_text(SECURED)
    assert NamedCluster.of("localhost:1", None) == NamedCluster(
        bootstrap_servers="localhost:1", registry=None, options={}
    )


def test_the_user_is_for_its_registry(file: Path) -> None:
    file.write_text(SECURED)
    assert NamedCluster.of(None, "http://other:8081").options == {"kafka.sasl.username": "ann"}


def test_an_application_may_have_no_registry_all_the_same(file: Path) -> None:
    """For plain JSON: where there is a registry, its schemas say what JSON is."""
    file.write_text(SECURED)
    assert NamedCluster.of(None, "") == NamedCluster(
        bootstrap_servers="broker-1:9092", registry=None, options={"kafka.sasl.username": "ann"}
    )
    assert NamedCluster.of("localhost:1", "").registry is None


def test_an_application_takes_it(file: Path) -> None:
    file.write_text(SECURED)
    app = Streams("app", options={"kafka.sasl.username": "bob"})
    assert (app.bootstrap_servers, app.registry) == ("broker-1:9092", "http://registry-1:8081")
    assert app.options == {"kafka.sasl.username": "bob", "schema.registry.basic.auth.user.info": "ann:secret"}
    alone = Streams("app", bootstrap_servers="localhost:1")
    assert (alone.bootstrap_servers, alone.registry, alone.options) == ("localhost:1", None, {})
    file.write_text("[kafak]")
    with pytest.raises(InvalidSettings, match=r"did you mean \[kafka\]\?"):
        Streams("app")


def test_topics_of_the_cluster_of_the_file_are_tables(file: Path, spark: "SparkSession", stoker_address: str) -> None:
    topic = f"named_{uuid4().hex[:8]}"
    create_topic(stoker_address, topic)
    run(stoker_address, "produce", topic, stdin=b"1\n2\n")
    file.write_text(f'[kafka]\nbootstrap-servers = "{stoker_address}"\n')
    attached = stoker.spark.attach(spark, topics=[topic], value_format="string", database="named")
    try:
        assert sorted(row.value for row in spark.sql(f"SELECT value FROM named.{topic}").collect()) == ["1", "2"]
    finally:
        attached.detach()


def test_the_master_of_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPARK_MASTER.default == LOCAL_MASTER
    assert _named_master() is None
    file.write_text('[spark]\nmaster = "spark://spark-1:7077"')
    assert _named_master() == "spark://spark-1:7077"
    monkeypatch.setenv("STOKER_SPARK_MASTER", "local[1]")
    assert _named_master() == "local[1]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert _named_master() is None, "spark-submit has said which"


@pytest.mark.spark
def test_a_session_runs_there(file: Path, tmp_path: Path) -> None:
    """Of a program in the directory of the file, without a word about it in the program."""
    file.write_text('[spark]\nmaster = "local[1,2]"')
    program = "import stoker.spark; print(stoker.spark.session().sparkContext.master)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.stdout.strip() == "local[1,2]", ran.stderr
