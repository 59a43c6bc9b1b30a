"""Kafka's client properties in the words of librdkafka, for the commands that are built on it, and its clients opened by them.

Most names are the same. What librdkafka has under another name is renamed, what only tunes the Java client falls away,
and what would change the meaning of a command if it fell away is refused with the reason.
"""

import re
from collections.abc import Callable, Mapping
from textwrap import wrap
from typing import Any, Final, TypeVar

from stoker.client.errors import InvalidClientProperty
from stoker.settings.alternatives import contradiction

ClientT = TypeVar("ClientT")

_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}

_ALIASES: Final = {"compression.codec": "compression.type", "request.required.acks": "acks"}
"""What librdkafka itself takes by two names, and tells of by the first."""

_WITHOUT_EFFECT: Final = frozenset(
    [
        # Bytes are sent and shown as they are.
        "key.deserializer",
        "key.serializer",
        "value.deserializer",
        "value.serializer",
        # How the Java client waits, measures and keeps house.
        "auto.include.jmx.reporter",
        "bootstrap.controllers",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "max.block.ms",
        "metadata.max.idle.ms",
        "metric.reporters",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        # Java's own ways to the same end.
        "security.providers",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    ]
)
_WITHOUT_EFFECT_PREFIXES: Final = ("metrics.", "sasl.kerberos.ticket.renew.", "sasl.login.refresh.")

_JAVA_ONLY: Final = "it names a Java class, and there is no Java here"
_REFUSED: Final = {
    "config.providers": "values that stand elsewhere cannot be looked up; write them into the file",
    "interceptor.classes": _JAVA_ONLY,
    "partitioner.class": _JAVA_ONLY + "; keys go where Kafka's default partitioner puts them",
    "partitioner.ignore.keys": "keys decide the partition here, as by default in Kafka",
    "sasl.client.callback.handler.class": _JAVA_ONLY,
    "sasl.login.callback.handler.class": _JAVA_ONLY,
    "sasl.login.class": _JAVA_ONLY,
    "ssl.enabled.protocols": "librdkafka takes those of OpenSSL",
    "ssl.engine.factory.class": _JAVA_ONLY,
    "ssl.protocol": "librdkafka takes that of OpenSSL",
    "transactional.id": "this command begins no transactions",
}

_OPTION: Final = re.compile(r"""\s+(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""")
_LOGIN: Final = re.compile(rf"\S*\.(?:Plain|Scram)LoginModule\s+required(?P<options>(?:{_OPTION.pattern})+)\s*;")
_ESCAPED: Final = re.compile(r"\\(.)")

_PEM_TEXTS: Final = frozenset(
    [
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.key.pem",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.truststore.certificates",
    ]
)
_PEM_BLOCK: Final = re.compile(
    r"(?P<begin>-----BEGIN ([A-Z0-9 ]+)-----)(?P<body>.*?)(?P<end>-----END \2-----)", re.DOTALL
)

_NOT_CREATED: Final = re.compile(r"^Failed to create (?:producer|consumer): ")
_NO_SUCH_PROPERTY: Final = re.compile(r'No such configuration property: "(.*)"')

_ACKS: Final = ("all", "-1", "0", "1")

_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def librdkafka_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """The same properties for librdkafka, whose own names are taken too. Raises InvalidClientProperty."""
    remaining = {name: value.strip() for name, value in properties.items()}
    if (pair := contradiction(remaining)) is not None:
        raise InvalidClientProperty(f"{pair[0]} and {pair[1]} are different words for one thing: give one of them")
    settings = _trust(remaining) | _identity(remaining) | _compression_level(remaining) | _credentials(remaining)
    for name, value in remaining.items():
        if value and (reason := _REFUSED.get(name)):
            raise InvalidClientProperty(f"{name} cannot be used: {reason}")
        if name in _REFUSED or name in _WITHOUT_EFFECT or name.startswith(_WITHOUT_EFFECT_PREFIXES):
            continue
        settings |= _translated(name, value)
    return settings


def open_librdkafka(kind: Callable[..., ClientT], settings: Mapping[str, Any], **more: Any) -> ClientT:
    """A Producer or Consumer. Raises InvalidClientProperty for a setting that librdkafka does not take."""
    from confluent_kafka import KafkaException  # who speaks of properties alone does not load librdkafka

    try:
        return kind(dict(settings), **more)
    except KafkaException as refused:
        text = _NOT_CREATED.sub("", refused.args[0].str())
        unknown = _NO_SUCH_PROPERTY.fullmatch(text)
        raise InvalidClientProperty(f"there is no client property {unknown[1]!r}" if unknown else text) from None


def name_in_java(name: str) -> str:
    """The property that the user may have set of what librdkafka calls so."""
    return next((java for java, renamed in _RENAMED.items() if renamed == name), _ALIASES.get(name, name))


def _translated(name: str, value: str) -> dict[str, str]:
    match name:
        case "buffer.memory" if value.isdecimal():
            return {"queue.buffering.max.kbytes": str(max(1, int(value) // 1024))}
        case "retries" if not value.isdecimal():
            raise InvalidClientProperty(
                f"retries={value} is no number; 2147483647 retries until delivery.timeout.ms is over"
            )
        case "acks" if value not in _ACKS:
            raise InvalidClientProperty(
                f"Invalid value {value} for configuration acks: String must be one of: {', '.join(_ACKS)}"
            )
        case "auto.offset.reset":
            return {name: _offset_reset(value)}
        case "partition.assignment.strategy":
            return {name: ",".join(_assignor(each.strip()) for each in value.split(","))}
        case _ if name in _PEM_TEXTS:
            return {_RENAMED.get(name, name): pem_lines(value)}
        case "ssl.endpoint.identification.algorithm":
            return {name: value or "none"}
        case "send.buffer.bytes" | "receive.buffer.bytes":
            return {_RENAMED[name]: "0" if value == "-1" else value}  # what the system thinks right
        case _:
            return {_RENAMED.get(name, name): value}


def pem_lines(text: str) -> str:
    """With the line breaks that OpenSSL wants, and Java does not; what stands between the blocks is left out."""
    blocks = [
        match[0]
        if ":" in match["body"]
        else "\n".join((match["begin"], *wrap("".join(match["body"].split())), match["end"]))
        for match in _PEM_BLOCK.finditer(text)
    ]
    return "".join(f"{block}\n" for block in blocks) or text


def _offset_reset(value: str) -> str:
    if value.startswith("by_duration"):
        raise InvalidClientProperty(
            f"auto.offset.reset={value} cannot be used: librdkafka knows earliest, latest and none"
        )
    return "error" if value == "none" else value


def _assignor(name: str) -> str:
    short = name.rpartition(".")[2]
    if short == name and not name.endswith("Assignor"):
        return name  # librdkafka's own word
    if short not in _ASSIGNORS:
        raise InvalidClientProperty(
            f"partition.assignment.strategy={name} cannot be used: librdkafka knows {', '.join(_ASSIGNORS)}"
        )
    return _ASSIGNORS[short]


def _trust(remaining: dict[str, str]) -> dict[str, str]:
    """Whom to trust: librdkafka reads PEM only."""
    kind = remaining.pop("ssl.truststore.type", "JKS").upper()
    location = remaining.pop("ssl.truststore.location", "")
    remaining.pop("ssl.truststore.password", None)
    if not location:
        return {}
    if kind != "PEM":
        raise InvalidClientProperty(
            f"ssl.truststore.location={location} cannot be used: librdkafka reads no {kind}; export its certificates as "
            "PEM (keytool -exportcert -rfc) and set ssl.truststore.type=PEM"
        )
    return {"ssl.ca.location": location}


def _identity(remaining: dict[str, str]) -> dict[str, str]:
    """Who the client is: librdkafka reads PEM and PKCS12."""
    kind = remaining.pop("ssl.keystore.type", "JKS").upper()
    location = remaining.get("ssl.keystore.location", "")
    if not location or kind == "PKCS12":
        return {}
    if kind != "PEM":
        raise InvalidClientProperty(
            f"ssl.keystore.location={location} cannot be used: librdkafka reads no {kind}; convert it (keytool "
            "-importkeystore -deststoretype PKCS12) and set ssl.keystore.type=PKCS12"
        )
    del remaining["ssl.keystore.location"]
    remaining.pop("ssl.keystore.password", None)
    return {"ssl.certificate.location": location, "ssl.key.location": location}


def _credentials(remaining: dict[str, str]) -> dict[str, str]:
    """Name and password, out of Java's way to write them: librdkafka reads no JAAS."""
    text = remaining.pop("sasl.jaas.config", "")
    if not text:
        return {}
    login = _LOGIN.fullmatch(text)
    found = _OPTION.findall(login["options"]) if login else []
    options = {name: _ESCAPED.sub(r"\1", quoted + single) + bare for name, quoted, single, bare in found}
    if not {"username", "password"} <= options.keys():
        raise InvalidClientProperty(
            "sasl.jaas.config cannot be used: a PlainLoginModule or ScramLoginModule with username and password is read, and "
            "nothing else of JAAS"
        )
    if options.get("tokenauth", "").lower() == "true":
        raise InvalidClientProperty("sasl.jaas.config cannot be used: there are no delegation tokens (tokenauth) here")
    remaining.pop("sasl.username", None)  # which is the same
    remaining.pop("sasl.password", None)  # which Java passes over
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _compression_level(remaining: dict[str, str]) -> dict[str, str]:
    """Java has a level for each codec; librdkafka one for the codec that is used."""
    levels = {codec: remaining.pop(f"compression.{codec}.level", None) for codec in ("gzip", "lz4", "zstd")}
    level = levels.get(remaining.get("compression.type", "none"))
    return {} if level is None else {"compression.level": level}
