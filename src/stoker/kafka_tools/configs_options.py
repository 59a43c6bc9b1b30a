"""The options of kafka-configs.sh, and which of them go together."""

from collections.abc import Sequence
from typing import Final

from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError
from stoker.kafka_tools.options import Option, OptionParser

TOPICS: Final = "topics"
CLIENTS: Final = "clients"
USERS: Final = "users"
BROKERS: Final = "brokers"
IPS: Final = "ips"
CLIENT_METRICS: Final = "client-metrics"
GROUPS: Final = "groups"
BROKER_LOGGERS: Final = "broker-loggers"
_TYPES: Final = (TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS)
_WITH_DEFAULTS: Final = (USERS, CLIENTS, BROKERS, IPS)


def _about_add_config() -> str:
    from stoker.kafka_tools.config_names import CONFIG_NAMES, listed

    return "".join(
        [
            "Key Value pairs of configs to add. Square brackets can be used to group values which contain commas: "
            "'k1=v1,k2=[v1,v2,v2],k3=v3'. The following is a list of valid configurations: ",
            *(f"For entity-type '{entity_type}': \n{listed(entity_type)}\n" for entity_type in CONFIG_NAMES),
            "Entity types 'users' and 'clients' may be specified together to update config for clients of a specific "
            "user.",
        ]
    )


class ConfigOptions:
    """What was given to kafka-configs.sh. Raises JavaError and UsageAsked if it cannot be."""

    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.bootstrap_server = parser.option(
            "bootstrap-server", "The Kafka servers to connect to.", described_as="server to connect to"
        )
        self.bootstrap_controller = parser.option(
            "bootstrap-controller", "The Kafka controllers to connect to.", described_as="controller to connect to"
        )
        self.command_config = parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client. This is used only with --bootstrap-server option for describing and altering broker configs.",
            described_as="command config property file",
        )
        self.alter = parser.flag("alter", "Alter the configuration for the entity.")
        self.describe = parser.flag("describe", "List configs for the given entity.")
        self.all_ = parser.flag("all", "List all configs for the given entity, including static configs if available.")
        self.entity_type = parser.option(
            "entity-type", "Type of entity (topics/clients/users/brokers/broker-loggers/ips/client-metrics/groups)"
        )
        self.entity_name = parser.option(
            "entity-name",
            "Name of entity (topic name/client id/user principal name/broker id/ip/client metrics/group id)",
        )
        self.entity_default = parser.flag(
            "entity-default", "Default entity name for clients/users/brokers/ips (applies to corresponding entity type)"
        )
        self.add_config = parser.option("add-config", _about_add_config)
        self.add_config_file = parser.option(
            "add-config-file",
            "Path to a properties file with configs to add. See add-config for a list of valid configurations.",
        )
        self.delete_config = parser.option("delete-config", "config keys to remove 'k1,k2'", separator=",")
        self.topic = parser.option("topic", "The topic's name.")
        self.client = parser.option("client", "The client's ID.")
        self.client_defaults = parser.flag("client-defaults", "The config defaults for all clients.")
        self.user = parser.option("user", "The user's principal name.")
        self.user_defaults = parser.flag("user-defaults", "The config defaults for all users.")
        self.broker = parser.option("broker", "The broker's ID.")
        self.broker_defaults = parser.flag("broker-defaults", "The config defaults for all brokers.")
        self.broker_logger = parser.option("broker-logger", "The broker's ID for its logger config.")
        self.ip_defaults = parser.flag("ip-defaults", "The config defaults for all IPs.")
        self.ip = parser.option("ip", "The IP address.")
        self.group = parser.option("group", "The group's ID.")
        self.client_metrics = parser.option("client-metrics", "The client metrics config resource name.")
        self.parser = parser
        self.given = parser.parse(arguments)
        self._flags: list[tuple[Option[str], str]] = [
            (self.topic, TOPICS),
            (self.client, CLIENTS),
            (self.user, USERS),
            (self.broker, BROKERS),
            (self.broker_logger, BROKER_LOGGERS),
            (self.ip, IPS),
            (self.client_metrics, CLIENT_METRICS),
            (self.group, GROUPS),
        ]
        self._default_flags: list[tuple[Option[str], str]] = [
            (self.client_defaults, CLIENTS),
            (self.user_defaults, USERS),
            (self.broker_defaults, BROKERS),
            (self.ip_defaults, IPS),
        ]

    @property
    def entity_types(self) -> list[str]:
        flags = [kind for option, kind in (*self._flags, *self._default_flags) if self.given.has(option)]
        return self.given.values(self.entity_type) + flags

    @property
    def entity_names(self) -> list[str]:
        """The default entity is called ""."""
        given = self.given
        names = iter(given.values(self.entity_name))
        listed = [
            next(names) if name == "entity-name" else ""
            for name in given.sequence
            if name in ("entity-name", "entity-default")
        ]
        flags = [given.text(option) for option, _ in self._flags if given.has(option)]
        return listed + flags + ["" for option, _ in self._default_flags if given.has(option)]

    def check(self) -> None:
        given = self.given
        given.print_help_or_version(
            "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, "
            "client-metrics or group"
        )
        if given.has(self.alter) == given.has(self.describe):
            raise self.parser.usage("Command must include exactly one action: --describe, --alter")
        given.forbid(self.describe, self.alter, self.add_config, self.delete_config)
        self._check_entities()
        if given.has(self.describe):
            self._check_describe()
        else:
            self._check_alter()

    def _check_entities(self) -> None:
        given, types, names = self.given, self.entity_types, self.entity_names
        if len(types) != len(set(types)):
            duplicates = [each for index, each in enumerate(types) if each in types[:index]]
            raise _illegal(f"Duplicate entity type(s) specified: {','.join(duplicates)}")
        if not given.has_any(self.bootstrap_server, self.bootstrap_controller):
            raise _illegal("Either --bootstrap-server or --bootstrap-controller must be specified.")
        for kind in types:
            if kind not in _TYPES:
                raise _illegal(
                    f"Invalid entity type {kind}, the entity type must be one of {', '.join(_TYPES)} with a "
                    "--bootstrap-server or --bootstrap-controller argument"
                )
        if not types:
            raise _illegal("At least one entity type must be specified")
        if len(types) > 1 and set(types) != {USERS, CLIENTS}:
            raise _illegal(f"Only '{USERS}' and '{CLIENTS}' entity types may be specified together")
        flags = [option for option, _ in (*self._flags, *self._default_flags)]
        if given.has_any(self.entity_name, self.entity_type, self.entity_default) and given.has_any(*flags):
            raise _illegal("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
        if given.has(self.bootstrap_server) and given.has(self.bootstrap_controller):
            raise _illegal("Only one of --bootstrap-server or --bootstrap-controller can be specified")
        if any(names) and (BROKERS in types or BROKER_LOGGERS in types):
            for option in (self.entity_name, self.broker, self.broker_logger):
                name = given.value(option)
                if name is not None and not _is_integer(name):
                    raise _illegal(
                        f"The entity name for {types[0]} must be a valid integer broker id, but it is: {name}"
                    )

    def _check_describe(self) -> None:
        types = self.entity_types
        if self.given.has(self.entity_default) and not any(kind in _WITH_DEFAULTS for kind in types):
            raise _illegal(f"--entity-default must not be specified with --describe of {','.join(types)}")
        if BROKER_LOGGERS in types and not any(self.entity_names):
            raise _illegal(f"An entity name must be specified with --describe of {','.join(types)}")

    def _check_alter(self) -> None:
        given, types, names = self.given, self.entity_types, self.entity_names
        if any(kind in _WITH_DEFAULTS for kind in types):
            if not names:
                raise _illegal(
                    "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
                )
        elif not any(names):
            raise _illegal(f"An entity name must be specified with --alter of {','.join(types)}")
        if given.has(self.add_config) and given.has(self.add_config_file):
            raise _illegal("Only one of --add-config or --add-config-file must be specified")
        if not given.has_any(self.add_config, self.add_config_file, self.delete_config):
            raise _illegal(
                "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
            )


def _illegal(message: str) -> JavaError:
    return JavaError(ILLEGAL_ARGUMENT, message)


def _is_integer(text: str) -> bool:
    try:
        return -(2**31) <= int(text) < 2**31
    except ValueError:
        return False
