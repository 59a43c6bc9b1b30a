"""Settings of older Kafka versions that people still paste: each is ignored with one line that says why."""

from typing import Final

_ZOOKEEPER: Final = "there is no ZooKeeper: Stoker keeps its metadata itself, as Kafka does since 4.0"
_LISTENERS: Final = "give the address in `listeners` and `advertised.listeners`"
_ONE_FORMAT: Final = "there is one message format since Kafka 4.0"
_NODE_ID: Final = "give the id in `node.id`"
_PLAIN_STORE: Final = "dynamic passwords are not encoded since Kafka 4.0"

_RETIRED: Final = {
    "advertised.host.name": _LISTENERS,
    "advertised.port": _LISTENERS,
    "auto.include.jmx.reporter": "name the reporters in `metric.reporters`",
    "broker.id.generation.enable": _NODE_ID,
    "control.plane.listener.name": "it went with ZooKeeper",
    "controlled.shutdown.max.retries": "it went with ZooKeeper",
    "controlled.shutdown.retry.backoff.ms": "it went with ZooKeeper",
    "enable.zookeeper": _ZOOKEEPER,
    "host.name": _LISTENERS,
    "inter.broker.protocol.version": "the feature `metadata.version` took its place",
    "leader.imbalance.per.broker.percentage": "it went with ZooKeeper",
    "log.cleaner.min.cleanable.dirty.ratio": "the name is `log.cleaner.min.cleanable.ratio`",
    "log.message.downconversion.enable": _ONE_FORMAT,
    "log.message.format.version": _ONE_FORMAT,
    "log.message.timestamp.difference.max.ms": "use `log.message.timestamp.before.max.ms` and `log.message.timestamp.after.max.ms`",
    "message.downconversion.enable": _ONE_FORMAT,
    "message.format.version": _ONE_FORMAT,
    "message.timestamp.difference.max.ms": "use `message.timestamp.before.max.ms` and `message.timestamp.after.max.ms`",
    "offsets.commit.required.acks": "commits always wait for all in-sync replicas",
    "port": _LISTENERS,
    "quota.consumer.default": "set quotas with kafka-configs.sh --entity-type users or clients",
    "quota.producer.default": "set quotas with kafka-configs.sh --entity-type users or clients",
    "reserved.broker.max.id": _NODE_ID,
}

_RETIRED_PREFIXES: Final = {
    "password.encoder.": _PLAIN_STORE,
    "zookeeper.": _ZOOKEEPER,
}


def why_retired(name: str) -> str | None:
    """Why a setting has no meaning any more; None if it is not known as one of the past."""
    reason = _RETIRED.get(name)
    if reason is not None:
        return reason
    return next((reason for prefix, reason in _RETIRED_PREFIXES.items() if name.startswith(prefix)), None)
