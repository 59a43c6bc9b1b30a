"""What can go wrong between a client and a cluster.

StokerError
└── ClientError
    ├── InvalidClientProperty   a client property that cannot be used
    ├── CannotConnect           nobody answers at an address
    ├── ConnectionLost          the broker went away before it answered
    ├── NotKafka                what answers does not speak Kafka's protocol
    ├── NotTrusted              client or broker does not believe the other's certificate, or login
    ├── RequestTimedOut         no answer in time
    ├── UnsupportedByBroker     an API, or a version of it, that the broker does not have
    ├── DeliveryTimedOut        records that were not acknowledged in time
    ├── KafkaRefused            the broker answered with an error code
    │   └── ProduceRefused      it did so to a batch of records
    └── CannotFetch             records that were asked for cannot be had
        ├── OffsetsGone         the log begins after them, or ends before them
        └── TopicGone           the topic, or the partition, is not there (any more)
"""

from typing import Final

from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode

_ERROR_CODES: Final = {int(code): code for code in ErrorCode}


class ClientError(StokerError):
    """The root of what this room raises on purpose."""


class InvalidClientProperty(ClientError):
    """A client property that cannot be used; the message names it."""


class CannotConnect(ClientError):
    """Nobody answers at `address`, for `reason`; `advertised_by` is the id of the broker that is said to be there."""

    def __init__(self, address: str, reason: str, advertised_by: int | None = None) -> None:
        advertised = "" if advertised_by is None else f", which broker {advertised_by} advertises"
        super().__init__(f"cannot connect to {address}{advertised}: {reason}")
        self.address = address
        self.reason = reason
        self.advertised_by = advertised_by


class ConnectionLost(ClientError):
    """The connection ended before the answer came."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"the connection to {address} was lost: {reason}")


class NotKafka(ClientError):
    """What answers at `address` does not speak Kafka's protocol."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"what answers at {address} does not speak Kafka's protocol as it should: {reason}")


class NotTrusted(ClientError):
    """Client or broker does not believe who the other is: asked again it will be no other."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} is not trusted, or does not trust this client: {reason}")
        self.address = address
        self.reason = reason


class RequestTimedOut(ClientError):
    """No answer in time."""

    def __init__(self, address: str, request: str, seconds: float) -> None:
        super().__init__(f"{address} did not answer {request} in {seconds:g} s")


class UnsupportedByBroker(ClientError):
    """An API, or a version of it, that the broker does not have."""


class DeliveryTimedOut(ClientError):
    """Records that were not acknowledged in time; some of them may have been written."""

    def __init__(self, records: int, seconds: float, reason: str) -> None:
        super().__init__(f"{records} records were not acknowledged in {seconds:g} s; the last reason: {reason}")


class KafkaRefused(ClientError):
    """The broker answered with an error code; `message` is the broker's, or what the code means."""

    def __init__(self, error_code: int, message: str | None = None) -> None:
        self.error_code = as_error_code(error_code)
        self.message = message or self.error_code.message
        super().__init__(f"{self.message} ({self.error_code.name})")


class ProduceRefused(KafkaRefused):
    """The broker refused a batch of records, and would refuse it again."""

    def __init__(
        self, partition: TopicPartition, records: int, size: int, error_code: int, message: str | None = None
    ) -> None:
        meaning = as_error_code(error_code).message
        said = f"{meaning} ({message})" if message else meaning
        super().__init__(error_code, f"{partition} refused a batch of {records} records, {size} bytes: {said}")
        self.partition = partition


def as_error_code(code: int) -> ErrorCode:
    """The error of a number; one that this client does not know is UNKNOWN_SERVER_ERROR, as in Kafka's clients."""
    return _ERROR_CODES.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)


def raise_if_refused(error_code: int, message: str | None = None) -> None:
    if error_code:
        raise KafkaRefused(error_code, message)


class CannotFetch(ClientError):
    """Records that were asked for cannot be had, and why."""


class OffsetsGone(CannotFetch):
    """`offset` should be read, and the log has only those from `log_start_offset` up to before `end_offset`."""

    def __init__(self, topic: str, partition: int, offset: int, log_start_offset: int, end_offset: int) -> None:
        super().__init__(topic, partition, offset, log_start_offset, end_offset)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.end_offset = end_offset

    def __str__(self) -> str:
        there = f"has offsets from {self.log_start_offset} up to before {self.end_offset}"
        why = "were deleted" if self.offset < self.log_start_offset else "are not there, or not yet committed"
        return f"partition {self.partition} of topic {self.topic!r} {there}: the records from {self.offset} on {why}"


class TopicGone(CannotFetch):
    """The message says whether the topic, its partition, or the topic that had this name before is gone."""
