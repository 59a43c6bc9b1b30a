"""docs/configuration.md, written from the tables of settings: `python -m stoker.broker.config.document > docs/configuration.md`."""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from stoker.broker.config.broker_group_settings import BROKER_GROUP_SETTINGS
from stoker.broker.config.broker_log_settings import BROKER_LOG_SETTINGS
from stoker.broker.config.broker_node_settings import BROKER_NODE_SETTINGS
from stoker.broker.config.broker_quorum_settings import BROKER_QUORUM_SETTINGS
from stoker.broker.config.broker_quota_settings import BROKER_QUOTA_SETTINGS, DYNAMIC_ONLY_SETTINGS
from stoker.broker.config.broker_remote_settings import BROKER_REMOTE_SETTINGS
from stoker.broker.config.broker_replication_settings import BROKER_REPLICATION_SETTINGS
from stoker.broker.config.broker_security_settings import BROKER_SECURITY_SETTINGS
from stoker.broker.config.broker_share_settings import BROKER_SHARE_SETTINGS
from stoker.broker.config.broker_socket_settings import BROKER_SOCKET_SETTINGS
from stoker.broker.config.broker_transaction_settings import BROKER_TRANSACTION_SETTINGS
from stoker.broker.config.client_metrics_settings import CLIENT_METRICS_SETTINGS
from stoker.broker.config.confluent_topic_settings import CONFLUENT_TOPIC_SETTINGS
from stoker.broker.config.group_settings import GROUP_SETTINGS
from stoker.broker.config.setting import (
    DAY_MS,
    HOUR_MS,
    MAX_DOUBLE,
    MAX_INT,
    MAX_LONG,
    MINUTE_MS,
    Effect,
    Setting,
    UpdateMode,
)
from stoker.broker.config.stoker_settings import STOKER_SETTINGS
from stoker.broker.config.topic_settings import TOPIC_SETTINGS
from stoker.broker.config.types import render

_INTRODUCTION: Final = """\
# Configuration

<!-- Written by `python -m stoker.broker.config.document`: change the tables in src/stoker/broker/config, not this page. -->

Stoker has every setting of Apache Kafka 4.3 under Kafka's name, with Kafka's type, default and range, and shows, changes and refuses it
with Kafka's answers. The column *in Stoker* says what a setting does here:

- **yes**: it takes effect.
- **not yet**: it is checked, stored and shown; what it governs is still to come.
- **no**: it is checked, stored and shown; on one node, or without a JVM, it has nothing to govern.
- **refused**: another value than the default is refused by name, because to ignore it would mislead.

A value comes from, the strongest first: the topic's own settings, the settings of this broker, those of all brokers (`kafka-configs.sh`),
`-o key=value`, the file of `--config`, the default. *Update* says whether a broker setting may change while the broker runs, and at which
level.

A file is a Java properties file. Three things that people paste are taken although Kafka would not take them, and each is said in one line
of the log: a `# comment` behind a value, settings of older Kafka versions such as `zookeeper.connect`, and `broker.id=-1`. An unknown
name has no effect and is named in the log. Without a `node.id` the node is 1.

What differs from Apache Kafka:

- The name of a Java class is taken as it stands: there is no class path to look in, and no class is run.
- `listeners` may only use PLAINTEXT so far, and a controller's listener is not opened.
- Topics have four settings of Confluent Server, for records that must have a registered schema:
  [schema validation](schema-validation.md).
- The number of threads may change by more than half or double at a time: Stoker has no such threads.
- A file is read as UTF-8, and as Latin-1 only if it is not UTF-8.
- `min.insync.replicas` may be set for one broker and removed for all: Stoker has no eligible leader replicas (KIP-966) that forbid it.
"""

_SECTIONS: Final[tuple[tuple[str, tuple[Setting, ...]], ...]] = (
    ("Stoker's own", STOKER_SETTINGS),
    ("Topics", TOPIC_SETTINGS),
    ("Topics: schema validation, as in Confluent Server", CONFLUENT_TOPIC_SETTINGS),
    ("Broker: the node", BROKER_NODE_SETTINGS),
    ("Broker: listeners, connections and requests", BROKER_SOCKET_SETTINGS),
    ("Broker: logs", BROKER_LOG_SETTINGS),
    ("Broker: idempotent producers and transactions", BROKER_TRANSACTION_SETTINGS),
    ("Broker: consumer groups", BROKER_GROUP_SETTINGS),
    ("Broker: replication", BROKER_REPLICATION_SETTINGS),
    ("Broker: quotas", BROKER_QUOTA_SETTINGS),
    ("Broker: throttles, which cannot be in a file", DYNAMIC_ONLY_SETTINGS),
    ("Broker: security", BROKER_SECURITY_SETTINGS),
    ("Broker: controller quorum and metadata log", BROKER_QUORUM_SETTINGS),
    ("Broker: tiered storage", BROKER_REMOTE_SETTINGS),
    ("Broker: share and streams groups", BROKER_SHARE_SETTINGS),
    ("Groups", GROUP_SETTINGS),
    ("Client metrics", CLIENT_METRICS_SETTINGS),
)

_EFFECTS: Final = {Effect.HONOURED: "yes", Effect.PLANNED: "not yet", Effect.SHOWN: "no", Effect.REFUSED: "refused"}
_LARGEST: Final = {MAX_INT: "largest int", MAX_LONG: "largest long", MAX_DOUBLE: "largest double"}
_UNITS: Final = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"))


def configuration_page() -> str:
    """The whole page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for title, settings in _SECTIONS:
        is_of_broker = title.startswith(("Broker", "Stoker"))
        yield f"## {title}\n"
        yield _row(["Setting", "In Stoker", "Type", "Default", *(["Update"] if is_of_broker else []), "What it is"])
        yield _row(["---"] * (6 if is_of_broker else 5))
        for setting in settings:
            update = (
                [setting.update.value if setting.update is not UpdateMode.READ_ONLY else ""] if is_of_broker else []
            )
            yield _row(
                [
                    f"`{setting.name}`",
                    _EFFECTS[setting.effect],
                    _type(setting),
                    _default(setting),
                    *update,
                    setting.description,
                ]
            )
        yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _type(setting: Setting) -> str:
    name = setting.type.name.lower()
    return f"{name} `{setting.valid_values}`" if setting.valid_values else name


def _default(setting: Setting) -> str:
    default = setting.default
    if default is None:
        return "–"
    if isinstance(default, (int, float)) and not isinstance(default, bool) and default in _LARGEST:
        return _LARGEST[default]
    text = f"`{render(default)}`" if default not in ("", ()) else "empty"
    if isinstance(default, int) and setting.name.endswith(".ms"):
        for milliseconds, unit in _UNITS:
            if default >= milliseconds and default % milliseconds == 0:
                return f"{text} ({default // milliseconds} {unit})"
    return text


if __name__ == "__main__":
    sys.stdout.write(configuration_page())
