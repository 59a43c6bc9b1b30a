"""What is known of one setting, and the words in which the tables of settings are written.

A table is a tuple of calls such as

    int32("num.partitions", 1, "Partitions of a topic whose creator names no number.", MEDIUM, at_least=1, effect=HONOURED),

that is: name, default, description, importance, then what is not usual. The defaults are Python values: `None` is Kafka's null, a list is
a tuple of strings. Only data here and in the tables: parsing and checking are in `types`.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

Value = bool | int | float | str | tuple[str, ...] | None

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1
MAX_DOUBLE = 1.7976931348623157e308
SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class ConfigType(IntEnum):
    """The numbers are those of the DescribeConfigs response."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    """How likely it is that somebody has to change a setting, as Kafka's reference ranks it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether a broker setting may change while the broker runs, and at which level (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Effect(Enum):
    """What Stoker does with a setting. Whatever the effect, it is checked, stored and shown as Kafka does."""

    HONOURED = "takes effect"
    PLANNED = "not yet"
    SHOWN = "none on one node"
    REFUSED = "refused unless left at its default"


HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
READ_ONLY, PER_BROKER, CLUSTER_WIDE = UpdateMode.READ_ONLY, UpdateMode.PER_BROKER, UpdateMode.CLUSTER_WIDE
HONOURED, PLANNED, SHOWN, REFUSED = Effect.HONOURED, Effect.PLANNED, Effect.SHOWN, Effect.REFUSED


class Form(Enum):
    """A shape that a value must have besides its type, its range and its choices."""

    ANY = ""
    NON_EMPTY = "non-empty string"
    NON_NULL = "non-null string"
    QUORUM = "non-empty list"
    GZIP_LEVEL = "[1,...,9] or -1"
    REPLICA_LIST = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    OFFSET_RESET = "[latest, earliest, by_duration:PnDTnHnMn.nS]"


class Setting(NamedTuple):
    """One setting of Kafka's reference, or of Stoker's own.

    `default` is absent in Kafka where `required` is true: Kafka then refuses to start without a value, and `default` is what Stoker takes.
    `broker_names` are the broker settings that give a topic or group setting its default, the strongest first.
    """

    name: str
    type: ConfigType
    default: Value
    description: str
    importance: Importance = MEDIUM
    update: UpdateMode = READ_ONLY
    effect: Effect = SHOWN
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    any_case: bool = False
    may_be_empty: bool = True
    form: Form = Form.ANY
    internal: bool = False
    required: bool = False
    broker_names: tuple[str, ...] = ()

    @property
    def is_sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    @property
    def is_dynamic(self) -> bool:
        """Whether a broker setting may change while the broker runs."""
        return self.update is not READ_ONLY

    @property
    def attribute(self) -> str:
        """The name of the setting as a Python attribute."""
        return self.name.replace(".", "_")

    @property
    def valid_values(self) -> str:
        """The range or the choices, as Kafka's reference writes them; empty if anything of the type will do."""
        if self.choices:
            return ("(case insensitive) " if self.any_case else "") + f"[{', '.join(self.choices)}]"
        if self.at_least is not None and self.at_most is not None:
            return f"[{self.at_least},...,{self.at_most}]"
        if self.at_least is not None:
            return f"[{self.at_least},...]"
        return self.form.value


def boolean(
    name: str,
    default: bool,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    effect: Effect = SHOWN,
    internal: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.BOOLEAN,
        default,
        description,
        importance,
        update,
        effect,
        internal=internal,
        broker_names=broker_names,
    )


def int16(
    name: str,
    default: int,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    at_least: int | None = None,
    effect: Effect = SHOWN,
) -> Setting:
    return Setting(name, ConfigType.SHORT, default, description, importance, update, effect, at_least)


def int32(
    name: str,
    default: int | None,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    effect: Effect = SHOWN,
    form: Form = Form.ANY,
    internal: bool = False,
    required: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.INT,
        default,
        description,
        importance,
        update,
        effect,
        at_least,
        at_most,
        form=form,
        internal=internal,
        required=required,
        broker_names=broker_names,
    )


def int64(
    name: str,
    default: int | None,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    at_least: int | None = None,
    effect: Effect = SHOWN,
    internal: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.LONG,
        default,
        description,
        importance,
        update,
        effect,
        at_least,
        internal=internal,
        broker_names=broker_names,
    )


def double(
    name: str,
    default: float,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    effect: Effect = SHOWN,
    internal: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.DOUBLE,
        default,
        description,
        importance,
        update,
        effect,
        at_least,
        at_most,
        internal=internal,
        broker_names=broker_names,
    )


def string(
    name: str,
    default: str | None,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    choices: tuple[str, ...] = (),
    any_case: bool = False,
    effect: Effect = SHOWN,
    form: Form = Form.ANY,
    internal: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.STRING,
        default,
        description,
        importance,
        update,
        effect,
        choices=choices,
        any_case=any_case,
        form=form,
        internal=internal,
        broker_names=broker_names,
    )


def string_list(
    name: str,
    default: tuple[str, ...] | None,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    choices: tuple[str, ...] = (),
    may_be_empty: bool = True,
    effect: Effect = SHOWN,
    form: Form = Form.ANY,
    required: bool = False,
    broker_names: tuple[str, ...] = (),
) -> Setting:
    return Setting(
        name,
        ConfigType.LIST,
        default,
        description,
        importance,
        update,
        effect,
        choices=choices,
        may_be_empty=may_be_empty,
        form=form,
        required=required,
        broker_names=broker_names,
    )


def java_class(
    name: str,
    default: str | None,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    effect: Effect = SHOWN,
) -> Setting:
    return Setting(name, ConfigType.CLASS, default, description, importance, update, effect)


def password(
    name: str,
    description: str,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    *,
    effect: Effect = SHOWN,
) -> Setting:
    return Setting(name, ConfigType.PASSWORD, None, description, importance, update, effect)
