"""The process that Python workers are forked from, and the script that starts it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stoker.spark.settings import worker_python
from stoker.spark.worker_daemon import beforehand, without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZIP = "/spark/python/lib/pyspark.zip"


def test_pyspark_comes_from_where_it_is_installed() -> None:
    assert without_zip(["/mine", ZIP, "/spark/python/lib/py4j-src.zip", "/site"]) == [
        "/mine",
        "/spark/python/lib/py4j-src.zip",
        "/site",
    ]


def test_the_zip_stays_where_pyspark_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert without_zip(["/mine", ZIP]) == ["/mine", ZIP]


def test_workers_that_plan_import_less() -> None:
    assert set(beforehand("pyspark.sql.worker.create_data_source")) < {
        "pyspark.sql.worker.create_data_source",
        *beforehand("pyspark.worker"),
    }


@pytest.mark.parametrize(
    ("arguments", "started"),
    [
        (["-m", "pyspark.daemon", "pyspark.worker"], ["-m", "stoker.spark.worker_daemon", "pyspark.worker"]),
        (["-m", "pyspark.other", "a b"], ["-m", "pyspark.other", "a b"]),
    ],
    ids=["daemon", "other"],
)
def test_the_script_starts_this_python(arguments: list[str], started: list[str], tmp_path: Path) -> None:
    """With what is on the path, but the zip; a name may have a space in it."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$PYTHONPATH" "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": f"/a b:{ZIP}:/c", "STOKER_WORKER_PYTHON": str(python)}
    ran = subprocess.run([worker_python(), *arguments], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["/a b:/c", *started]


@pytest.mark.parametrize("raised", ["BrokenPipeError", "ConnectionResetError", "ValueError"])
def test_a_worker_that_spark_has_left_says_nothing(raised: str) -> None:
    """It ends, and is told apart from one that did what it should; anything else is told as always."""
    program = f"from stoker.spark.worker_daemon import quiet\ndef worker(): raise {raised}\nquiet(worker)()"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ("Traceback" in ran.stderr) == (raised == "ValueError")


def test_workers_have_everything_when_they_begin(spark: "SparkSession") -> None:
    """A task finds the modules that it needs imported, and compiled: not from Spark's zip."""

    def look(_: object) -> list[tuple[str, bool]]:
        import pyspark

        return [(pyspark.__file__, "stoker.spark.rows" in sys.modules)]

    file, is_there = spark.sparkContext.parallelize([0], 1).flatMap(look).collect()[0]
    assert "pyspark.zip" not in file
    assert is_there
