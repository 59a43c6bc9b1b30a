"""The process that Spark's Python workers are forked from: `spark.python.daemon.module`.

Spark's own daemon imports nothing beforehand, and Spark puts a zip of pyspark first on the path of its workers, which has no compiled
code: each new worker compiles pyspark's sources for itself, and imports all the rest, which takes more than a second of a core. Here
pyspark comes from where it is installed, and what workers need is there before they are forked.
"""

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

_ZIP: Final = "pyspark.zip"

_ALL: Final = ("stoker.spark.data_source",)
_WORKERS: Final = (
    "pandas",
    "pyarrow.compute",
    "pyspark.sql.pandas.serializers",
    "stoker.spark.exactly_once",
    "stoker.spark.formats.avro_decoding",
    "stoker.spark.formats.avro_encoding",
    "stoker.spark.formats.strings",
    "stoker.spark.rows",
    "stoker.spark.sink",
)
"""Pandas and Arrow for functions of users, too. None of them starts a thread that would be missed after a fork: jemalloc and OpenBLAS
start theirs again by themselves."""


def beforehand(worker: str) -> tuple[str, ...]:
    """The modules that workers of this kind will want: those that run tasks, or one of those that plan."""
    return (worker, *_ALL, *(_WORKERS if worker == "pyspark.worker" else ()))


def without_zip(path: list[str]) -> list[str]:
    """The path without Spark's zip, if pyspark is installed where this Python finds it."""
    shorter = [each for each in path if Path(each).name != _ZIP]
    try:
        return shorter if distribution("pyspark") is not None else path
    except PackageNotFoundError:  # a cluster whose Python has only what Spark brings
        return path


def quiet(worker: Callable[..., int]) -> Callable[..., int]:
    """A worker that ends without a word when Spark has hung up, as it does on those that had nothing to do for a minute.

    Spark's own would print a traceback into the user's terminal.
    """

    def ends_quietly(*arguments: Any) -> int:
        try:
            return worker(*arguments)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(1)

    return ends_quietly


def main() -> None:
    sys.path[:] = without_zip(sys.path)
    for name in beforehand(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker"):
        import_module(name)
    gc.collect()
    gc.freeze()  # workers collect after every task: what is here now stays anyway, and its pages stay shared
    from pyspark import daemon

    daemon.worker = quiet(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
