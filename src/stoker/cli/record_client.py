"""What `stoker produce` and `stoker consume` share of librdkafka: silence, topics, and errors that name the address."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError, KafkaException

from stoker.cli.failure import CommandFailed
from stoker.cli.output import say
from stoker.client.errors import CannotConnect, InvalidClientProperty, NotTrusted
from stoker.client.librdkafka import ClientT, librdkafka_settings, open_librdkafka
from stoker.client.properties import BOOTSTRAP_SERVERS, ClientProperties
from stoker.settings.alternatives import overlaid

_LOST: Final = (KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL, KafkaError._AUTHENTICATION)
_UNTRUSTED: Final = (KafkaError._SSL, KafkaError._AUTHENTICATION)
_HOPELESS: Final = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL)
_FIRST_ATTEMPT_SECONDS: Final = 0.25

_DETAIL = re.compile(r" \(.*\)$", re.DOTALL)
_SPEAKER = re.compile(r"^(?:Unable to produce message: )?(?:Broker|Local): ")
_ATTEMPT = re.compile(r"(?:Connect to \S+ failed|Failed to resolve '\S+'): ")
_BROKER = re.compile(r"^(?:\w+://)?[^/\s]+/\S+: ")


class Connecting(Protocol):
    """What producer and consumer have in common."""

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any: ...


class ClientErrors:
    """librdkafka's error callback: one line when the cluster goes away, where librdkafka logs one a second."""

    def __init__(self) -> None:
        self.cause = "no answer"
        self.is_untrusted = False
        self.hopeless = False
        self.fatal: KafkaError | None = None
        self._connected = False

    def __call__(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal = error
        elif error.code() in _LOST:
            self.cause = reason_of(error)
            self.is_untrusted = error.code() in _UNTRUSTED
        if error.code() in _HOPELESS and not self.hopeless:
            self.hopeless = True
            if self._connected:
                say(f"no broker can be reached: {self.cause}; trying again")

    def connected(self) -> None:
        """The cluster has answered: from now on it may come back."""
        self._connected = True
        self.hopeless = False


def reason_of(error: KafkaError) -> str:
    """librdkafka's words without what only its authors understand."""
    text = _DETAIL.sub("", _BROKER.sub("", error.str()))
    return _ATTEMPT.sub("", text)


def open_client(
    kind: Callable[[dict[str, Any]], ClientT],
    properties: ClientProperties,
    own: Mapping[str, str],
    settings: Mapping[str, Any],
    errors: ClientErrors,
    *,
    fixed: Mapping[str, Any],
) -> ClientT:
    """A librdkafka client.

    `settings` are what the command thinks right. Stronger are `properties`, from the file, and `own`, typed by hand; and
    on what is `fixed` the command relies.
    """
    given = librdkafka_settings(overlaid(properties.given, own))
    quiet = {
        "client.id": properties.client_id,
        "log_level": 0,
        "error_cb": errors,
        "reconnect.backoff.ms": 10,  # also how long it waits after the first connection before it opens the second
    }
    return open_librdkafka(kind, quiet | dict(settings) | given | dict(fixed))


def parse_property(text: str) -> tuple[str, str]:
    """`name=value`, as --producer-property and --consumer-property take it."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidClientProperty(f"{text!r} is no property; give it as name=value")
    return name, value


def cluster_metadata(
    client: Connecting, serve: Callable[[float], object], properties: ClientProperties, errors: ClientErrors
) -> Any:
    """All topics of the cluster. Raises CannotConnect, or NotTrusted, as soon as every address has failed."""
    address = properties.given[BOOTSTRAP_SERVERS]
    timeout = _FIRST_ATTEMPT_SECONDS
    waited = 0.0
    while waited < properties.request_timeout_ms / 1000:
        try:
            metadata = client.list_topics(timeout=timeout)
        except KafkaException as failed:
            if failed.args[0].code() not in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
                raise
            serve(0)
            if errors.hopeless:
                break
            waited += timeout
            timeout *= 2
        else:
            errors.connected()
            return metadata
    raise (NotTrusted if errors.is_untrusted else CannotConnect)(address, errors.cause)


@contextmanager
def explained() -> Iterator[None]:
    """librdkafka's exceptions as failures of the command."""
    try:
        yield
    except KafkaException as failed:
        raise CommandFailed(sentence(failed.args[0])) from failed


def sentence(error: KafkaError) -> str:
    """What happened, and the name under which it is looked up."""
    return f"{_SPEAKER.sub('', reason_of(error))} ({error.name()})"
