"""librdkafka for the console tools: Java's properties in its words, one line in place of its log, and a first answer."""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from stoker.client.errors import CannotConnect, InvalidClientProperty, NotTrusted
from stoker.client.librdkafka import librdkafka_settings, name_in_java
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.thrown import log_warning

ClientT = TypeVar("ClientT")

_CONFIG_EXCEPTION: Final = "org.apache.kafka.common.config.ConfigException"
_LOST: Final = (KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL, KafkaError._AUTHENTICATION)
_UNTRUSTED: Final = (KafkaError._SSL, KafkaError._AUTHENTICATION)
_HOPELESS: Final = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL)
_CONFIGS: Final = "org.apache.kafka.common.config.AbstractConfig"
_NO_SUCH_PROPERTY: Final = re.compile(r'No such configuration property: "([^"]+)"')
_PROPERTY: Final = re.compile(r'(?<=onfiguration property )"([^"]+)"')
_FIRST_ATTEMPT_SECONDS: Final = 0.25
_LONGEST_SECONDS: Final = 30.0
_DETAIL: Final = re.compile(r" \(.*\)$", re.DOTALL)


def _in_java(found: re.Match[str]) -> str:
    return f'"{name_in_java(found[1])}"'


class Errors:
    """librdkafka's error callback."""

    def __init__(self) -> None:
        self.cause = "no answer"
        self.is_hopeless = False
        self.is_untrusted = False
        self.fatal: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal = error
        elif error.code() in _LOST:
            self.cause = _DETAIL.sub("", error.str())
            self.is_untrusted = error.code() in _UNTRUSTED
        if error.code() in _HOPELESS:
            self.is_hopeless = True


def open_client(
    kind: Callable[[dict[str, Any]], ClientT], properties: Mapping[str, str], errors: Errors, own: Mapping[str, Any]
) -> ClientT:
    """A client of Java's properties; `own` are settings of librdkafka that are stronger. Raises JavaError.

    Properties that nobody knows are told of and fall away, as in Java.
    """
    try:
        given = librdkafka_settings(properties)
    except InvalidClientProperty as error:
        raise JavaError(_CONFIG_EXCEPTION, str(error)) from None
    unknown: list[str] = []
    while True:
        try:
            client = kind({"log_level": 0, "error_cb": errors, "reconnect.backoff.ms": 10} | given | dict(own))
        except KafkaException as refused:
            problem = refused.args[0].str()
            named = _NO_SUCH_PROPERTY.search(problem)
            if named is None or given.pop(named[1], None) is None:
                raise JavaError(_CONFIG_EXCEPTION, _PROPERTY.sub(_in_java, problem)) from None
            unknown.append(named[1])
        else:
            if unknown:
                log_warning(
                    f"These configurations '[{', '.join(unknown)}]' were supplied but are not used yet.", _CONFIGS
                )
            return client


def first_metadata(client: Any, errors: Errors, address: str, topic: str | None = None) -> Any:
    """What the cluster tells of topics. Asking for one by name creates it, where brokers do that.

    Raises CannotConnect, or NotTrusted, as soon as every address has failed.
    """
    timeout, waited = _FIRST_ATTEMPT_SECONDS, 0.0
    while waited < _LONGEST_SECONDS:
        try:
            return client.list_topics(topic, timeout=timeout)
        except KafkaException as failed:
            if failed.args[0].code() not in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
                raise JavaError("org.apache.kafka.common.KafkaException", failed.args[0].str()) from None
            client.poll(0)
            if errors.is_hopeless:
                break
            waited += timeout
            timeout *= 2
    raise (NotTrusted if errors.is_untrusted else CannotConnect)(address, errors.cause)


def warn(line: str) -> None:
    sys.stdout.flush()
    print(line, file=sys.stderr)
