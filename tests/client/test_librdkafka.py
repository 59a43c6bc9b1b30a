"""Kafka's client properties in the words of librdkafka, and librdkafka as the judge of them."""

import logging

import pytest
from confluent_kafka import Consumer, Producer

from stoker.client.errors import InvalidClientProperty
from stoker.client.librdkafka import librdkafka_settings, open_librdkafka


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        ({"bootstrap.servers": " a:1,b:2 "}, {"bootstrap.servers": "a:1,b:2"}),
        ({"linger.ms": "5", "acks": "all"}, {"linger.ms": "5", "acks": "all"}),
        ({"queue.buffering.max.ms": "5"}, {"queue.buffering.max.ms": "5"}),
        ({"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ({"max.request.size": "2000000"}, {"message.max.bytes": "2000000"}),
        ({"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": "32768"}),
        ({"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": "0"}),
        ({"receive.buffer.bytes": "65536"}, {"socket.receive.buffer.bytes": "65536"}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        (
            {"partition.assignment.strategy": "RangeAssignor, roundrobin"},
            {"partition.assignment.strategy": "range,roundrobin"},
        ),
        ({"compression.type": "zstd", "compression.zstd.level": "3", "compression.gzip.level": "9"},
         {"compression.type": "zstd", "compression.level": "3"}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me.pem", "ssl.key.password": "x"},
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem", "ssl.key.password": "x"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "x"},
        ),
        ({"ssl.truststore.certificates": "-----BEGIN"}, {"ssl.ca.pem": "-----BEGIN"}),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "u"}, {"sasl.mechanism": "PLAIN", "sasl.username": "u"}),
        (
            {"sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="a b\\"c;";'},
            {"sasl.username": "ann", "sasl.password": 'a b"c;'},
        ),
        (
            {"sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required\n  password=p\n  username='ann';"},
            {"sasl.username": "ann", "sasl.password": "p"},
        ),
        ({"key.serializer": "X", "metrics.num.samples": "2", "interceptor.classes": ""}, {}),
    ],
)  # fmt: skip
def test_settings(properties: dict[str, str], settings: dict[str, str]) -> None:
    assert librdkafka_settings(properties) == settings


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"sasl.jaas.config": "x"}, "sasl.jaas.config cannot be used: a PlainLoginModule or ScramLoginModule"),
        ({"sasl.jaas.config": 'a.PlainLoginModule required username="ann";'}, "with username and password is read"),
        ({"sasl.jaas.config": 'a.PlainLoginModule required username="a" password="b"; c'}, "nothing else of JAAS"),
        ({"interceptor.classes": "com.example.X"}, "interceptor.classes cannot be used: it names a Java class"),
        ({"ssl.truststore.location": "/ca.jks"}, "reads no JKS; .*ssl.truststore.type=PEM"),
        ({"ssl.keystore.location": "/me.jks"}, "reads no JKS; .*ssl.keystore.type=PKCS12"),
        ({"acks": "7"}, "Invalid value 7 for configuration acks: String must be one of: all, -1, 0, 1"),
        ({"retries": "Integer.MAX_VALUE"}, "retries=Integer.MAX_VALUE is no number; 2147483647"),
        ({"auto.offset.reset": "by_duration:PT1H"}, "librdkafka knows earliest, latest and none"),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor"},
            "StickyAssignor cannot be used: librdkafka knows RangeAssignor",
        ),
        ({"transactional.id": "t"}, "transactional.id cannot be used: this command begins no transactions"),
    ],
)
def test_what_cannot_be_translated_is_refused_by_name(properties: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidClientProperty, match=reason):
        librdkafka_settings(properties)


def test_librdkafka_knows_what_it_is_told() -> None:
    """Every renamed setting, with a value that it can have."""
    given = {
        "fetch.max.wait.ms": "100",
        "max.request.size": "2000000",
        "buffer.memory": "33554432",
        "send.buffer.bytes": "-1",
        "receive.buffer.bytes": "65536",
        "compression.type": "lz4",
        "compression.lz4.level": "3",
        "ssl.endpoint.identification.algorithm": "",
        "partition.assignment.strategy": "RangeAssignor",
        "auto.offset.reset": "none",
    }
    assert Producer(dict(librdkafka_settings(given)) | {"log_level": 0}).flush(0) == 0


@pytest.mark.parametrize("kind", [Producer, Consumer])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ssl.mine": "1"}, "there is no client property 'ssl.mine'"),
        ({"sasl.mechanism": "MINE"}, "Unsupported SASL mechanism: MINE"),
        ({"socket.timeout.ms": "1"}, 'Configuration property "socket.timeout.ms" value 1 is outside allowed range'),
    ],
)
def test_what_librdkafka_does_not_take_is_named(
    kind: type[Producer | Consumer], settings: dict[str, str], words: str
) -> None:
    own = {"group.id": "g", "security.protocol": "SASL_PLAINTEXT"}
    with pytest.raises(InvalidClientProperty) as refused:
        open_librdkafka(kind, own | settings, logger=logging.getLogger("silent"))
    assert str(refused.value).startswith(words)
