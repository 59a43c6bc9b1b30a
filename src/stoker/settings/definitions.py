"""Every setting once: its key in stoker.toml, its variable, its flags and its default."""

from dataclasses import dataclass
from typing import Final

FILE_NAME: Final = "stoker.toml"
FILE_VARIABLE: Final = "STOKER_CONFIG"
FILE_FLAG: Final = "--config-file"
COMMAND_CONFIG_FLAG: Final = "--command-config"

KAFKA_PROPERTIES: Final = "kafka.properties"
"""A table of Kafka's client properties by Kafka's names, handed on as they are."""
PROPERTY_VARIABLES: Final = "STOKER_KAFKA_PROPERTIES_"
"""... and how the variables of single properties begin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """`name` is its path in stoker.toml; `default` is what counts where nobody names it."""

    name: str
    variable: str
    flags: tuple[str, ...]
    """The first is the one that all commands know that have it at all."""
    default: str | None
    example: str
    explanation: str
    is_secret: bool = False
    is_list: bool = False
    """Whether the file may give several texts; they are joined by commas, as the variable has them."""


BOOTSTRAP_SERVERS: Final = Setting(
    name="kafka.bootstrap-servers",
    variable="STOKER_BOOTSTRAP_SERVER",
    flags=("--bootstrap-server", "-b"),
    default="localhost:9092",
    example="broker-1:9092",
    explanation="The cluster: one broker of it, or more with commas between.",
    is_list=True,
)
REGISTRY_URL: Final = Setting(
    name="registry.url",
    variable="STOKER_REGISTRY_URL",
    flags=("--registry-url", "-r"),
    default="http://localhost:8081",
    example="http://registry-1:8081",
    explanation="The schema registry.",
)
REGISTRY_USER: Final = Setting(
    name="registry.user",
    variable="STOKER_REGISTRY_USER",
    flags=("--user", "-u"),
    default=None,
    example="ann:password",
    explanation="Who asks, as NAME:PASSWORD, if the registry wants to know.",
    is_secret=True,
)
SPARK_MASTER: Final = Setting(
    name="spark.master",
    variable="STOKER_SPARK_MASTER",
    flags=("--master",),
    default="local[*,4]",
    example="spark://spark-1:7077",
    explanation="Spark's master: where streams, SQL and the demo run.",
)

SETTINGS: Final = (BOOTSTRAP_SERVERS, REGISTRY_URL, REGISTRY_USER, SPARK_MASTER)

TABLES: Final = {
    "": ("kafka", "registry", "spark"),
    "kafka": ("bootstrap-servers", "properties"),
    "registry": ("url", "user"),
    "spark": ("master",),
}
"""What each table of the file may hold."""


def property_variable(name: str) -> str:
    """`sasl.password` is STOKER_KAFKA_PROPERTIES_SASL_PASSWORD; a `_` of the name is written twice."""
    return PROPERTY_VARIABLES + name.replace("_", "__").replace(".", "_").upper()


def property_of_variable(variable: str) -> str:
    """The other way; all properties of Kafka are written small."""
    name = variable.removeprefix(PROPERTY_VARIABLES).lower()
    return name.replace("__", "\0").replace("_", ".").replace("\0", "_")
