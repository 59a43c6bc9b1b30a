"""Metadata and rules: what a schema may carry besides its text, in the one form in which equal ones are equal.

Sets and maps are sorted, what is empty is left out, and a rule's kind and mode are always said, as in Confluent's.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from stoker.registry.errors import invalid_rule_set

Json = dict[str, Any]

VERSION_PROPERTY: Final = "confluent:version"
"""Which version the schema is, for those who asked for that when they registered it."""
RESERVED_PROPERTY: Final = "confluent:reserved"
"""Names of fields, with commas between, that the schema may not have."""
ENCODED_PROPERTY: Final = "__enc__"
"""Confluent's registry has encrypted the sensitive properties, and its hash of them is of the plain text."""
_KINDS: Final = ("TRANSFORM", "CONDITION")
_MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_OTHER_MODES: Final = ("WRITE", "READ", "WRITEREAD")
_RULES: Final = {"migrationRules": _MIGRATION_MODES, "domainRules": _OTHER_MODES, "encodingRules": _OTHER_MODES}
_ENVIRONMENTS: Final = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
_LONGEST_NAME: Final = 256


def metadata_of(value: object) -> Json | None:
    """From a request or a record. Raises ValueError."""
    if value is None:
        return None
    given = _without_null(_object(value, "metadata"))
    tags = _object(given.get("tags", {}), "metadata.tags")
    properties = _object(given.get("properties", {}), "metadata.properties")
    return _without_empty(
        tags={key: _names(tags[key], f"metadata.tags.{key}") for key in sorted(tags)},
        properties={key: _text(properties[key], f"metadata.properties.{key}") for key in sorted(properties)},
        sensitive=_names(given.get("sensitive", []), "metadata.sensitive"),
    )


def rule_set_of(value: object) -> Json | None:
    """From a request or a record. Raises ValueError."""
    if value is None:
        return None
    given = _without_null(_object(value, "ruleSet"))
    rules = {name: [_rule(each) for each in _list(given.get(name, []), f"ruleSet.{name}")] for name in _RULES}
    enabled_at = given.get("enableAt")
    if enabled_at is not None:
        _choice(enabled_at, _ENVIRONMENTS, "ruleSet.enableAt")
    return _without_empty(**rules, enableAt=enabled_at)


def _rule(value: object) -> Json:
    given = _without_null(_object(value, "a rule"))
    texts = {
        name: _text(given.get(name, ""), f"a rule's {name}")
        for name in ("name", "doc", "type", "expr", "onSuccess", "onFailure")
    }
    params = _object(given.get("params", {}), "a rule's params")
    disabled = given.get("disabled", False)
    if not isinstance(disabled, bool):
        raise ValueError(f"a rule's disabled must be true or false, it is {disabled!r}")
    return {
        **_without_empty(name=texts["name"], doc=texts["doc"]),
        "kind": _choice(given.get("kind", "TRANSFORM"), _KINDS, "a rule's kind"),
        "mode": _choice(given.get("mode", "WRITEREAD"), (*_MIGRATION_MODES, *_OTHER_MODES), "a rule's mode"),
        **_without_empty(
            type=texts["type"],
            tags=_names(given.get("tags", []), "a rule's tags"),
            params={key: _text(params[key], f"a rule's params.{key}") for key in sorted(params)},
            expr=texts["expr"],
            onSuccess=texts["onSuccess"],
            onFailure=texts["onFailure"],
        ),
        "disabled": disabled,
    }


def refuse_bad_rules(rule_set: Json | None) -> None:
    """Raises Unprocessable if rules have no proper name, the same one, no type, or a mode that is for other rules."""
    seen: set[str] = set()
    for group, modes in _RULES.items():
        for rule in (rule_set or {}).get(group, ()):
            name = rule.get("name")
            _refuse_bad_name(name, seen)
            seen.add(name)
            if "type" not in rule:
                raise invalid_rule_set(f"Missing rule type of rule '{name}'")
            if rule["mode"] not in modes:
                raise invalid_rule_set(
                    f"{group.removesuffix('Rules').capitalize()} rules can only be {', '.join(modes)}; "
                    f"rule '{name}' is {rule['mode']}"
                )
            if rule["mode"] not in ("WRITEREAD", "UPDOWN") and any(
                "," in rule.get(action, "") for action in ("onSuccess", "onFailure")
            ):
                raise invalid_rule_set(f"Multiple actions only valid with WRITEREAD and UPDOWN, in rule '{name}'")


def _refuse_bad_name(name: str | None, seen: set[str]) -> None:
    if not name:
        raise invalid_rule_set("Missing rule name")
    if name in seen:
        raise invalid_rule_set(f"Found rule with duplicate name '{name}'")
    if len(name) > _LONGEST_NAME:
        raise invalid_rule_set(f"Rule name too long: it may have {_LONGEST_NAME} characters")
    if not (name[0].isalpha() or name[0] == "_"):
        raise invalid_rule_set(f"Illegal initial character in rule name: {name}")
    if not all(character.isalnum() or character in "_-" for character in name):
        raise invalid_rule_set(f"Illegal character in rule name: {name}")


# -- joined ---------------------------------------------------------------------------------------------------------


def merged_metadata(older: Json | None, newer: Json | None) -> Json | None:
    """All of both; of what both name, the newer."""
    if older is None or newer is None:
        return older if newer is None else newer
    tags = {**older.get("tags", {}), **newer.get("tags", {})}
    properties = {**older.get("properties", {}), **newer.get("properties", {})}
    sensitive = {*older.get("sensitive", ()), *newer.get("sensitive", ())}
    return _without_empty(
        tags=dict(sorted(tags.items())), properties=dict(sorted(properties.items())), sensitive=sorted(sensitive)
    )


def merged_rule_sets(older: Json | None, newer: Json | None) -> Json | None:
    """The newer rules, and of the older ones those with other names, which come first."""
    if older is None or newer is None:
        return older if newer is None else newer
    rules = {}
    for group in _RULES:
        names = {rule.get("name") for rule in newer.get(group, ())}
        rules[group] = [rule for rule in older.get(group, ()) if rule.get("name") not in names]
        rules[group] += newer.get(group, ())
    return _without_empty(**rules, enableAt=newer.get("enableAt") or older.get("enableAt"))


# -- the version in the metadata ------------------------------------------------------------------------------------


def property_of(metadata: Json | None, name: str) -> str | None:
    return None if metadata is None else metadata.get("properties", {}).get(name)


def version_in(metadata: Json | None) -> int | None:
    said = property_of(metadata, VERSION_PROPERTY)
    return int(said) if said is not None and said.isascii() and said.isdecimal() and len(said) <= 10 else None


def with_version(metadata: Json | None, number: int) -> Json:
    changed = merged_metadata(metadata, {"properties": {VERSION_PROPERTY: str(number)}})
    assert changed is not None
    return changed


def without_version(metadata: Json) -> Json:
    properties = {key: value for key, value in metadata.get("properties", {}).items() if key != VERSION_PROPERTY}
    return _without_empty(tags=metadata.get("tags"), properties=properties, sensitive=metadata.get("sensitive"))


# -- the hash -------------------------------------------------------------------------------------------------------


def hash_metadata(update: Callable[[bytes], None], metadata: Json) -> None:
    for key, values in metadata.get("tags", {}).items():
        update((key + "".join(values)).encode())
    for key, value in metadata.get("properties", {}).items():
        update((key + value).encode())
    update("".join(metadata.get("sensitive", ())).encode())


def hash_rule_set(update: Callable[[bytes], None], rule_set: Json) -> None:
    for group in _RULES:
        for rule in rule_set.get(group, ()):
            _hash_rule(update, rule)
    update(rule_set.get("enableAt", "").encode())


def _hash_rule(update: Callable[[bytes], None], rule: Json) -> None:
    parts = [rule.get(field, "") for field in ("name", "doc", "kind", "mode", "type")]
    parts += rule.get("tags", ())
    parts += [key + value for key, value in rule.get("params", {}).items()]
    parts += [rule.get(field, "") for field in ("expr", "onSuccess", "onFailure")]
    update("".join(parts).encode())
    if rule["disabled"]:
        update(b"\1")


# -- from JSON ------------------------------------------------------------------------------------------------------


def _without_empty(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value}


def _without_null(given: Json) -> Json:
    return {name: value for name, value in given.items() if value is not None}


def _object(value: object, name: str) -> Json:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object, it is {value!r:.100}")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list, it is {value!r:.100}")
    return value


def _names(value: object, name: str) -> list[str]:
    return sorted({_text(each, name) for each in _list(value, name)})


def _text(value: object, name: str) -> str:
    """Numbers and booleans will do, as in Confluent's."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, it is {value!r:.100}")
    return value


def _choice(value: object, choices: Iterable[str], name: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, it is {value!r:.100}")
    return value
