"""Java's clients, which speak transactions of version 2 (KIP-890), and KafkaJS, which speaks the classic ones.

Both run in the processes of `tests/clients/drivers/`; `java/Transactions.java` and `kafkajs/transactions.js` are their parts.
"""

import base64
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tests.clients.client import Codec, eventually
from tests.clients.drivers.remote import RemoteClient
from tests.clients.transactions.transactional_client import (
    GroupMember,
    GroupProtocol,
    Isolation,
    Partition,
    TransactionalClient,
    TransactionalProducer,
    TransactionFailed,
)

_numbers = itertools.count(1)


class RemoteTransactions(TransactionalClient):
    """Producers and members are things of the process, known to it by a number."""

    def __init__(self, process: RemoteClient) -> None:
        super().__init__(process.bootstrap_servers)
        self._process = process

    def call(self, operation: str, **arguments: Any) -> Any:
        answer = self._process.call(f"transactions_{operation}", **arguments)
        if isinstance(answer, dict) and "failure" in answer:
            raise TransactionFailed(answer["failure"]["name"], answer["failure"]["message"])
        return answer

    def _producer(self, transactional_id: str, timeout_ms: int, codec: Codec) -> "RemoteProducer":
        number = next(_numbers)
        self.call("open", producer=number, transactional_id=transactional_id, timeout_ms=timeout_ms, codec=codec)
        return RemoteProducer(self, number)

    def _member(self, group: str, topic: str, protocol: GroupProtocol) -> "RemoteMember":
        number = next(_numbers)
        self.call("join", member=number, group=group, topic=topic, protocol=protocol)
        return RemoteMember(self, number, group)

    def read(self, topic: str, *, isolation: Isolation, count: int) -> list[bytes]:
        return _values(self.call("read", topic=topic, isolation=isolation, count=count))

    def read_to_end(self, topic: str, *, isolation: Isolation) -> list[bytes]:
        return _values(self.call("read", topic=topic, isolation=isolation, count=None))

    def end(self, topic: str, *, isolation: Isolation) -> int:
        end: int = self.call("end", topic=topic, isolation=isolation)
        return end


class JavaTransactions(RemoteTransactions):
    name: ClassVar[str] = "java"
    protocols: ClassVar[tuple[GroupProtocol, ...]] = ("classic", "consumer")


class KafkaJsTransactions(RemoteTransactions):
    name: ClassVar[str] = "kafkajs"
    tells_end_by_isolation: ClassVar[bool] = False
    names_the_member: ClassVar[bool] = False
    takes_several_groups: ClassVar[bool] = False


class RemoteProducer(TransactionalProducer):
    def __init__(self, client: RemoteTransactions, number: int) -> None:
        self._client = client
        self._number = number

    def begin(self) -> None:
        self._call("begin")

    def send(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> list[int]:
        texts = [base64.b64encode(value).decode() for value in values]
        offsets: list[int] = self._call("send", topic=topic, values=texts, partition=partition)
        return offsets

    def send_offsets(self, to: GroupMember | str, offsets: Mapping[Partition, int]) -> None:
        whose: dict[str, Any] = {"group": to, "member": None}
        if isinstance(to, RemoteMember):
            whose = {"group": to.group, "member": to.number}
        wanted = [[*where, offset] for where, offset in offsets.items()]

        def refusal() -> TransactionFailed | None:
            try:
                self._call("send_offsets", offsets=wanted, **whose)
            except TransactionFailed as failed:
                return failed
            return None

        # KafkaJS leaves it to its user to wait until the transaction before is complete.
        left = eventually(refusal, lambda found: found is None or found.name != "CONCURRENT_TRANSACTIONS")
        if left is not None:
            raise left

    def commit(self) -> None:
        self._call("commit")

    def abort(self) -> None:
        self._call("abort")

    def close(self) -> None:
        self._call("close")

    def _call(self, operation: str, **arguments: Any) -> Any:
        return self._client.call(operation, producer=self._number, **arguments)


class RemoteMember(GroupMember):
    def __init__(self, client: RemoteTransactions, number: int, group: str) -> None:
        self._client = client
        self.number = number
        self.group = group

    def poll(self, count: int) -> list[bytes]:
        return _values(self._client.call("poll", member=self.number, count=count))

    def rewind(self) -> None:
        self._client.call("rewind", member=self.number)

    def close(self) -> None:
        self._client.call("leave", member=self.number)


def _values(texts: list[str]) -> list[bytes]:
    return [base64.b64decode(text) for text in texts]
