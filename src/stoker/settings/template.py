"""The file that `stoker config init` writes: every setting, explained, and those that were given."""

from collections.abc import Mapping

from stoker.settings.definitions import FILE_NAME, PROPERTY_VARIABLES, SETTINGS, Setting

_HEAD = f"""\
# {FILE_NAME}: the addresses that every command and program of Stoker uses in this directory and below it.
# A flag (--bootstrap-server ...) is stronger than a variable (STOKER_BOOTSTRAP_SERVER ...), and that than this file.
# `stoker config show` tells what counts, and where it comes from. `stoker up` starts only what is not named here.
"""
_PROPERTIES = f"""\
# Kafka's client properties, by Kafka's names, for every client: what the cluster asks for security, time-outs and so on.
# Passwords are better kept in variables: {PROPERTY_VARIABLES}SASL_PASSWORD is sasl.password.
[kafka.properties]
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.username" = "ann"
"""


def template(given: Mapping[str, str]) -> str:
    """The text of a file in which the settings that are `given`, by their names, are made and all others are comments."""
    tables: dict[str, list[str]] = {}
    for setting in SETTINGS:
        tables.setdefault(setting.name.partition(".")[0], []).append(_lines(setting, given.get(setting.name)))
    parts = [_HEAD]
    for table, lines in tables.items():
        parts.append("\n".join([f"[{table}]", *lines]) + "\n")
        if table == "kafka":
            parts.append(_PROPERTIES)
    return "\n".join(parts)


def _lines(setting: Setting, value: str | None) -> str:
    key = setting.name.rpartition(".")[2]
    default = "" if setting.default is None else f" By default {setting.default}."
    mark = "# " if value is None else ""
    return f"# {setting.explanation}{default}\n{mark}{key} = {_quoted(setting.example if value is None else value)}"


def _quoted(text: str) -> str:
    """As a basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + "".join(f"\\u{ord(each):04x}" if ord(each) < 32 or ord(each) == 127 else each for each in escaped) + '"'
    )
