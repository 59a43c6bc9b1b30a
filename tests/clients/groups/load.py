"""A producer that writes steadily while members come and go."""

import threading
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message

from tests.clients.client import WAIT_SECONDS
from tests.clients.drivers.confluent import ConfluentKafka

PER_SECOND = 50


class Load:
    """Writes to each partition 50 times a second, from entry to `stop`; the value of a record is its number in the partition."""

    def __init__(self, confluent: ConfluentKafka, topic: str, partitions: int) -> None:
        self._producer = confluent.producer({})
        self._topic = topic
        self._partitions = partitions
        self._ended = threading.Event()
        self._errors: list[KafkaError] = []
        self._thread = threading.Thread(target=self._write)
        self.written = 0
        """How many records each partition has got, when it has stopped."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(WAIT_SECONDS) == 0, "not delivered in time"
        assert self._errors == []

    def _write(self) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._errors.append(error)

        while not self._ended.wait(1 / PER_SECOND):
            for partition in range(self._partitions):
                self._producer.produce(self._topic, str(self.written), partition=partition, on_delivery=delivered)
            self.written += 1
            self._producer.poll(0)
