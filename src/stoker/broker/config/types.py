"""Text to values and back, by the rules and in the words of Kafka's `ConfigDef`.

Text is trimmed; numbers are decimal and must fit their type; a list is separated by commas. What differs: the name of a Java class is taken
as it stands, since there is no class path to look in.
"""

import re
from collections.abc import Iterable

from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.setting import ConfigType, Form, Setting, Value

_JAVA_WHITESPACE = "".join(map(chr, range(33)))
"""What Java's String.trim takes away."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_COMMA = re.compile(r"\s*,\s*")

# Seldom needed, therefore compiled on first use: a broker must start quickly.
_DOUBLE = r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)"
_REPLICA = r"([0-9]+:[0-9]+)?"
_DURATION = r"(?i:P(?=.)([+-]?[0-9]+D)?(T(?=.)([+-]?[0-9]+H)?([+-]?[0-9]+M)?([+-]?[0-9]+([.,][0-9]{0,9})?S)?)?)"
_HOST_AND_PORT = r"[^:@\s]+.*:[0-9]+"

_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def trim(text: str) -> str:
    return text.strip(_JAVA_WHITESPACE)


def split_list(text: str) -> tuple[str, ...]:
    """The elements of a comma-separated list, empty ones included, as Kafka sees them."""
    trimmed = trim(text)
    return tuple(_COMMA.split(trimmed)) if trimmed else ()


def parse(setting: Setting, text: str) -> Value:
    """The value of `text` for `setting`; raises InvalidConfig."""
    value = parse_type(setting.name, text, setting.type)
    return check(setting, value)


def parse_type(name: str, text: str, config_type: ConfigType) -> Value:
    """`text` as a value of the type, without regard to range and choices."""
    trimmed = trim(text)
    match config_type:
        case ConfigType.BOOLEAN:
            lowered = trimmed.lower()
            if lowered not in ("true", "false"):
                raise InvalidConfig(name, text, "Expected value to be either true or false")
            return lowered == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            if _INTEGER.fullmatch(trimmed):
                number = int(trimmed)
                bound = 1 << _BITS[config_type] - 1
                if -bound <= number < bound:
                    return number
            raise InvalidConfig(name, text, f"Not a number of type {config_type.name}")
        case ConfigType.DOUBLE:
            if not re.fullmatch(_DOUBLE, trimmed):
                raise InvalidConfig(name, text, "Not a number of type DOUBLE")
            return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
        case ConfigType.LIST:
            return split_list(text)
        case _:
            return trimmed


def check(setting: Setting, value: Value) -> Value:
    """The value if it is within range and choices, a list without its duplicates; raises InvalidConfig."""
    if isinstance(value, tuple):
        return _check_list(setting, value)
    if value is None:
        return value
    if isinstance(value, (int, float)):
        if setting.at_least is not None and value < setting.at_least:
            raise _invalid(setting, value, f"Value must be at least {setting.at_least}")
        if setting.at_most is not None and value > setting.at_most:
            raise _invalid(setting, value, f"Value must be no more than {setting.at_most}")
        if setting.form is Form.GZIP_LEVEL and value != -1 and not 1 <= value <= 9:
            raise _invalid(setting, value, "Value must be between 1 and 9 or equal to -1")
        return value
    if setting.choices:
        _check_choice(setting, value)
    elif setting.form is Form.NON_EMPTY and not value:
        raise _invalid(setting, value, "String must be non-empty")
    elif setting.form is Form.OFFSET_RESET and not _is_offset_reset(value):
        raise _invalid(
            setting,
            value,
            f"Invalid value `{value}` for configuration {setting.name}. The value must be either 'earliest', 'latest' "
            "or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        )
    return value


def _check_choice(setting: Setting, value: str) -> None:
    if setting.any_case:
        if value.upper() not in setting.choices:
            choices = ", ".join(setting.choices)
            raise _invalid(setting, value, f"String must be one of (case insensitive): {choices}")
    elif value not in setting.choices:
        raise _invalid(setting, value, f"String must be one of: {', '.join(setting.choices)}")


def _check_list(setting: Setting, value: tuple[str, ...]) -> tuple[str, ...]:
    if setting.form is Form.REPLICA_LIST:
        if not all(re.fullmatch(_REPLICA, trim(element)) for element in value) and "".join(value) != "*":
            raise _invalid(
                setting,
                value,
                f"{setting.name} must be the literal '*' or a list of replicas in the following format: "
                f"{Form.REPLICA_LIST.value}",
            )
        return value
    if setting.form is Form.QUORUM:
        return _check_quorum(setting, value)
    distinct = tuple(dict.fromkeys(value))
    if not distinct and not setting.may_be_empty:
        valid = setting.valid_values or "any non-empty value"
        reason = f"Configuration '{setting.name}' must not be empty. Valid values include: {valid}"
        raise InvalidConfig(setting.name, "", reason, message=reason)
    for element in distinct:
        if not element:
            reason = f"Configuration '{setting.name}' values must not be empty."
            raise InvalidConfig(setting.name, ",".join(value), reason, message=reason)
        if setting.choices:
            _check_choice(setting, element)
    return distinct


def _check_quorum(setting: Setting, value: tuple[str, ...]) -> tuple[str, ...]:
    with_id = setting.name.endswith("voters")
    form = "{id}@{host}:{port}" if with_id else "{host}:{port}"
    for entry in value:
        node, at, address = entry.rpartition("@")
        if not re.fullmatch(_HOST_AND_PORT, address) or bool(at) != with_id or (with_id and not node.isdecimal()):
            reason = f"Each entry should be in the form `{form}`."
            message = f"Invalid configuration value for {setting.name}: {entry}. {reason}"
            raise InvalidConfig(setting.name, entry, reason, message=message)
    return value


def _is_offset_reset(value: str) -> bool:
    if value in ("earliest", "latest"):
        return True
    kind, _, duration = value.partition(":")
    return kind == "by_duration" and "-" not in duration and re.fullmatch(_DURATION, duration) is not None


def _invalid(setting: Setting, value: Value, reason: str) -> InvalidConfig:
    return InvalidConfig(setting.name, show(value), reason)


def show(value: Value) -> str:
    """A value as Java prints it inside a message."""
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    text = render(value)
    return "null" if text is None else text


def render(value: Value) -> str | None:
    """A value as DescribeConfigs shows it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _java_double(value)
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _java_double(value: float) -> str:
    """As Java's Double.toString: plain from 0.001 to below ten million, else with an exponent."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + (len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1)
    digits = digits.rstrip("0")
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{power}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is closest to `name`, to be put behind a message; empty if none is close."""
    from difflib import get_close_matches  # only needed when something is wrong

    matches = get_close_matches(name, known, n=1, cutoff=0.75)
    return f" (did you mean {matches[0]}?)" if matches else ""
