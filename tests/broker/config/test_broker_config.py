"""The settings of a broker, whole and checked."""

from typing import get_type_hints

import pytest

from stoker.broker.config import broker_config
from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.definitions import BROKER, TOPIC
from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.listeners import Listener
from stoker.broker.config.setting import ConfigType, Effect

DERIVED = {
    "advertised_listeners",
    "cordoned_log_dirs",
    "listeners",
    "log_dirs",
    "max_connections_per_ip_overrides",
    "metadata_log_dir",
}
TYPES = {
    ConfigType.BOOLEAN: bool,
    ConfigType.DOUBLE: float,
    ConfigType.INT: int,
    ConfigType.LIST: tuple[str, ...],
    ConfigType.LONG: int,
    ConfigType.STRING: str,
}


def plaintext(host: str, port: int, name: str = "PLAINTEXT") -> Listener:
    return Listener(name=name, security_protocol="PLAINTEXT", host=host, port=port)


def test_every_setting_that_takes_effect_is_an_attribute_of_its_type_or_the_default_of_a_topic_setting() -> None:
    of_topics = {name for setting in TOPIC.values() for name in setting.broker_names}
    expected: dict[str, object] = {}
    for setting in BROKER.values():
        if setting.effect is Effect.HONOURED and (
            setting.name not in of_topics or setting.name == "log.flush.scheduler.interval.ms"
        ):
            kind = TYPES.get(setting.type)
            expected[setting.attribute] = kind if setting.default is not None or kind is None else kind | None
    for name in ("broker_id", "listener_security_protocol_map", "log_dir", "process_roles"):
        expected.pop(name)  # folded into node_id, the listeners and log_dirs
    hints = {name: kind for name, kind in get_type_hints(BrokerConfig).items() if name not in DERIVED}
    assert hints == {name: kind for name, kind in expected.items() if name not in DERIVED}


def test_a_broker_without_settings_is_kafkas_default() -> None:
    config = BrokerConfig({})
    assert config.node_id == 1
    assert config.listeners == config.advertised_listeners == (plaintext("", 9092),)
    assert config.log_dirs == ("/tmp/kafka-logs",)
    assert config.metadata_log_dir == "/tmp/kafka-logs"
    assert (config.num_partitions, config.auto_create_topics_enable, config.broker_rack) == (1, True, None)
    assert config.socket_request_max_bytes == 104857600
    assert config.stoker_replication_factor_policy == "single"


def test_what_kafka_requires_counts_as_given() -> None:
    assert BrokerConfig({}).originals == {
        "broker.id": "1",
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
    }


@pytest.mark.parametrize(
    ("settings", "attribute", "value"),
    [
        ({"node.id": "7"}, "node_id", 7),
        ({"broker.id": "7"}, "node_id", 7),
        ({"broker.id": "7", "node.id": "7"}, "node_id", 7),
        ({"log.dir": "/a"}, "log_dirs", ("/a",)),
        ({"log.dir": "/a", "log.dirs": "/b, /c"}, "log_dirs", ("/b", "/c")),
        ({"log.dirs": "/b,/c", "metadata.log.dir": "/m"}, "metadata_log_dir", "/m"),
        ({"log.dirs": "/b,/c"}, "metadata_log_dir", "/b"),
        ({"log.dirs": "/b,/c", "cordoned.log.dirs": "/c"}, "cordoned_log_dirs", ("/c",)),
        ({"log.dirs": "/b,/c", "cordoned.log.dirs": "*"}, "cordoned_log_dirs", ("/b", "/c")),
        ({"broker.rack": " a "}, "broker_rack", "a"),
        ({"auto.create.topics.enable": "FALSE"}, "auto_create_topics_enable", False),
        (
            {"max.connections.per.ip.overrides": "::1:5,10.0.0.1:7"},
            "max_connections_per_ip_overrides",
            {"::1": 5, "10.0.0.1": 7},
        ),
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "listeners", (plaintext("127.0.0.1", 0),)),
        (
            {
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://a:2",
            },
            "advertised_listeners",
            (plaintext("a", 1),),
        ),
        (
            {
                "listeners": "IN://:1,OUT://:2",
                "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
            "listeners",
            (plaintext("", 1, "IN"), plaintext("", 2, "OUT")),
        ),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:9092", "advertised.listeners": "PLAINTEXT://example.org:9092"},
            "advertised_listeners",
            (plaintext("example.org", 9092),),
        ),
        (
            {
                "controller.listener.names": "CTL",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CTL:SASL_SSL",
                "listeners": "PLAINTEXT://:1,CTL://:2",
            },
            "listeners",
            (plaintext("", 1),),
        ),
    ],
)
def test_attributes(settings: dict[str, str], attribute: str, value: object) -> None:
    assert getattr(BrokerConfig(settings), attribute) == value


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"node.id": "x"}, "Invalid value x for configuration node.id: Not a number of type INT"),
        ({"node.id": "1", "broker.id": "2"}, "You must set `node.id` to the same value as `broker.id`."),
        ({"process.roles": "controller"}, "Invalid value controller for configuration process.roles: Stoker is a broker"),
        ({"authorizer.class.name": "A"}, "Invalid value A for configuration authorizer.class.name: Stoker has no access control yet"),
        ({"config.providers": "env"}, "Invalid value env for configuration config.providers: Stoker does not resolve"),
        (
            {"listeners": "SASL_SSL://:9093"},
            "Invalid value SASL_SSL://:9093 for configuration listeners: listener SASL_SSL uses SASL_SSL, "
            "which Stoker does not serve yet; it serves PLAINTEXT",
        ),
        (
            {"listeners": "A://:1", "listener.security.protocol.map": "A:SSL"},
            "Invalid value A://:1 for configuration listeners: listener A uses SSL, which Stoker does not serve yet",
        ),
        ({"listeners": "CONTROLLER://:9093"}, "There must be at least one broker advertised listener. Perhaps all listeners appear"),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:9092"},
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        ),
        (
            {"advertised.listeners": "OTHER://a:1", "listener.security.protocol.map": "OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
            "Found OTHER. The valid options based on the current configuration are PLAINTEXT",
        ),
        ({"log.dirs": "/b", "cordoned.log.dirs": "/c"}, "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /c"),
        ({"log.dirs": "/b", "cordoned.log.dirs": "*,/b"}, "When cordoned.log.dirs is set to *, it must not contain other values"),
        ({"max.connections.per.ip.overrides": "a:b"}, "Invalid value a:b for configuration max.connections.per.ip.overrides: the limit of a"),
        ({"listener.name.plaintext.max.connections": "x"}, "Invalid value x for configuration listener.name.plaintext.max.connections"),
        ({"stoker.replication.factor.policy": "x"}, "Invalid value x for configuration stoker.replication.factor.policy: String must be one of: single, refuse"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        BrokerConfig(settings)
    assert str(caught.value).startswith(message)


@pytest.mark.acceptance("S019", "B029")
def test_tiered_storage_is_refused_by_name() -> None:
    """Switching tiered storage on in server.properties is refused by name, since Stoker has no remote store."""
    snippet = {"remote.log.storage.system.enable": "true", "remote.log.storage.manager.class.name": "org.example.S3"}
    with pytest.raises(InvalidConfig) as caught:
        BrokerConfig(snippet)
    assert str(caught.value) == (
        "Invalid value true for configuration remote.log.storage.system.enable: "
        "Stoker has no remote store; tiered storage needs Apache Kafka"
    )


def test_typed_access_by_name() -> None:
    config = BrokerConfig({})
    assert config.boolean("log.cleaner.enable") is True
    assert config.integer("group.max.size") == 2147483647
    assert config.text("ssl.protocol") == "TLSv1.3"
    assert config.names("group.consumer.assignors") == ("uniform", "range")
    for access, name in [
        (config.boolean, "group.max.size"),
        (config.integer, "log.cleaner.enable"),
        (config.text, "broker.rack"),
        (config.names, "ssl.protocol"),
    ]:
        with pytest.raises(TypeError, match=name):
            access(name)


def test_unknown_names_are_kept_as_they_are() -> None:
    config = BrokerConfig({"nobody.knows": "x"})
    assert config.originals["nobody.knows"] == "x"
    assert "nobody.knows" not in config.values


def test_what_is_refused_says_why_for_each() -> None:
    refused = {setting.name for setting in BROKER.values() if setting.effect is Effect.REFUSED}
    assert broker_config._REFUSALS.keys() == refused
