"""Which tests run together in one process, when several do (`pytest -n`)."""

from functools import cache

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.backends import APACHE_KAFKA, is_on_apache_kafka

SPARK = "spark"
STREAMS = "streams"
PARTS_OF_STREAMS = "streams/"


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # it ships without types
    """Those of a file, those of all files that share a Spark session, which takes long to start and is slow at first, and those on a
    three-broker Apache Kafka: one is enough for all. Streams, and the rooms in them, have two sessions of their own, or they would all wait for one another.
    """

    def __init__(self, config: pytest.Config, log: Producer | None) -> None:
        super().__init__(config, log)
        self._root = config.rootpath
        self._uses_session = cache(self._names_it)

    def _split_scope(self, nodeid: str) -> str:
        if is_on_apache_kafka(nodeid):
            return APACHE_KAFKA
        file: str = super()._split_scope(nodeid)
        if not self._uses_session(file):
            return file
        if not file.startswith("tests/streams/"):
            return SPARK
        return STREAMS if file.count("/") == 2 else PARTS_OF_STREAMS

    def _names_it(self, file: str) -> bool:
        return "SparkSession" in (self._root / file).read_text()
