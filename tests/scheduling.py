"""Which tests run together in one process, when several do (`pytest -n`)."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.backends import APACHE_KAFKA, is_on_apache_kafka

SPARK = "spark"
STREAMS = "streams"


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # it ships without types
    """Those of a file, those of all files that share a Spark session, which takes long to start and is slow at first, and those on a
    three-broker Apache Kafka: one is enough for all. There are two sessions, one of them for streams: one for all would take as long as everything
    else.
    """

    def __init__(self, config: pytest.Config, log: Producer | None) -> None:
        super().__init__(config, log)
        self._root = config.rootpath
        self._uses_session = cache(self._names_it)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Raises UsageError where tests share a name: one of them would run, and nobody would hear of the others."""
        if twice := [name for name, count in Counter(collection).items() if count > 1]:
            raise pytest.UsageError(f"more than one test has the name {', '.join(twice)}")
        super().add_node_collection(node, collection)

    def _split_scope(self, nodeid: str) -> str:
        if is_on_apache_kafka(nodeid):
            return APACHE_KAFKA
        file: str = super()._split_scope(nodeid)
        if not self._uses_session(file):
            return file
        return STREAMS if file.startswith("tests/streams/") else SPARK

    def _names_it(self, file: str) -> bool:
        return "SparkSession" in (self._root / file).read_text()
