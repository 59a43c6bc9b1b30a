"""Members that are confluent-kafka (librdkafka) consumers: `python -m tests.clients.groups.member_confluent ADDRESS`."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from tests.clients.groups.member_program import POLL_SECONDS, MemberLoop, Position, ReadRecord, serve

WAIT_SECONDS = 10.0


class ConfluentMember(MemberLoop):
    def open(self, settings: Mapping[str, Any], topics: list[str] | None, pattern: str | None) -> None:
        own: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 20,
        }
        self._fatal: KafkaError | None = None
        if settings["auto.offset.reset"] == "none":
            own["auto.offset.reset"] = "error"  # librdkafka's word for it
            settings = {name: value for name, value in settings.items() if name != "auto.offset.reset"}
        self._consumer = Consumer({**own, **settings, "error_cb": self._note, "on_commit": self._on_commit})
        self._waits_for_answers = False
        self._is_incremental = settings.get("group.protocol") == "consumer"
        self._processed: dict[tuple[str, int], int] = {}
        self._consumer.subscribe(
            topics if topics is not None else [pattern or ""],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=lambda _, partitions: self.tell_partitions("lost", partitions),
        )

    def poll(self) -> list[ReadRecord]:
        records = []
        for message in self._consumer.consume(500, POLL_SECONDS):
            error = message.error()
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if error is None:
                records.append(
                    ReadRecord(str(topic), int(partition or 0), int(offset or 0), (message.value() or b"").decode())
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                self.tell("end_of_partition", topic=topic, partition=partition, offset=offset)
            elif error.code() != KafkaError._MAX_POLL_EXCEEDED:  # which the revoked partitions tell
                raise KafkaException(error)
        if self._fatal is not None:
            raise KafkaException(self._fatal)
        self._processed |= {(record.topic, record.partition): record.offset + 1 for record in records}
        return records

    def commit(self, offsets: list[Position]) -> None:
        answers = self._consumer.commit(offsets=_partitions(offsets), asynchronous=False)
        for each in answers or []:
            if each.error is not None:
                raise KafkaException(each.error)

    def commit_async(self, offsets: list[Position]) -> None:
        self._waits_for_answers = True
        self._consumer.commit(offsets=_partitions(offsets), asynchronous=True)

    def seek(self, topic: str, partition: int, to: Any) -> None:
        match to:
            case "beginning":
                offset = OFFSET_BEGINNING
            case "end":
                offset = OFFSET_END
            case {"time": time}:
                asked = [TopicPartition(topic, partition, time)]
                [found] = self._consumer.offsets_for_times(asked, WAIT_SECONDS)
                offset = found.offset
            case _:
                offset = to
        self._consumer.seek(TopicPartition(topic, partition, offset))

    def close(self) -> None:
        self._consumer.close()

    def name_of(self, error: BaseException) -> str:
        return error.args[0].name() if isinstance(error, KafkaException) else type(error).__name__

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.tell_partitions("assigned", partitions)
        if self.acts_in_callbacks and partitions:
            from_the_beginning = [TopicPartition(each.topic, each.partition, OFFSET_BEGINNING) for each in partitions]
            if self._is_incremental:
                self._consumer.incremental_assign(from_the_beginning)
            else:
                self._consumer.assign(from_the_beginning)

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.tell_partitions("revoked", partitions)
        if self.acts_in_callbacks:
            going = {(each.topic, each.partition) for each in partitions} & self._processed.keys()
            offsets = [Position(*each, self._processed[each]) for each in going]
            self.commit(offsets)
            self.tell("committed", offsets=offsets)

    def _note(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        if not self._waits_for_answers:
            return  # of auto-commits nothing is told, and a commit that waits has told already
        errors = [error, *(each.error for each in partitions)]
        for each in errors:
            if each is not None:
                self.tell_failure("commit_failed", KafkaException(each))
                return
        self.tell("committed", offsets=[(each.topic, each.partition, each.offset) for each in partitions])


def _partitions(offsets: list[Position]) -> list[TopicPartition]:
    return [TopicPartition(*each) for each in offsets]


if __name__ == "__main__":
    serve(ConfluentMember)
