"""Configs and modes: what may be set, and what is in force where."""

from typing import Any

import pytest

from stoker.registry.errors import NotFound, Unprocessable
from stoker.registry.settings import Level, Mode, parse_config, parse_level, parse_mode
from tests.registry.schema_log import SchemaLog, record_text

LEVELS = ["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]


def test_levels_and_modes_are_read_in_any_case() -> None:
    assert [parse_level(name.lower()).name for name in LEVELS] == LEVELS
    assert parse_mode("import") is Mode.IMPORT


@pytest.mark.parametrize(
    ("request_", "code", "named"),
    [
        ({"compatibility": "SOMETIMES"}, 42203, "full_transitive"),
        ({"compatibility": 7}, 42203, "compatibilityLevel must be of type string"),
        ({"normalize": "yes"}, 42203, "normalize must be of type boolean"),
        ({"compatibilityPolicy": "MILD"}, 42203, "STRICT and LENIENT"),
        ({"defaultMetadata": {"properties": []}}, 42203, "defaultMetadata"),
        ({"defaultMetadata": {"properties": {"a": {}}}}, 42203, "metadata.properties.a must be a text"),
        ({"alias": "\ud800"}, 42203, "half a character"),
        ({"overrideRuleSet": {"domainRules": [{"name": "r"}]}}, 42210, "Missing rule type"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(request_: dict[str, Any], code: int, named: str) -> None:
    with pytest.raises(Unprocessable, match=named) as refused:
        parse_config(request_)
    assert refused.value.code == code


RULE = {"name": "r", "type": "CEL"}


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"domainRules": [{"type": "CEL"}]}, "Missing rule name"),
        ({"domainRules": [{**RULE, "name": "1"}]}, "Illegal initial character in rule name: 1"),
        ({"domainRules": [{**RULE, "name": "a b"}]}, "Illegal character in rule name: a b"),
        ({"domainRules": [{**RULE, "name": "a" * 257}]}, "Rule name too long"),
        ({"domainRules": [RULE], "encodingRules": [RULE]}, "Found rule with duplicate name 'r'"),
        ({"domainRules": [{**RULE, "mode": "UPGRADE"}]}, "Domain rules can only be WRITE, READ, WRITEREAD"),
        ({"migrationRules": [RULE]}, "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN"),
        ({"domainRules": [{**RULE, "mode": "READ", "onFailure": "DLQ,NONE"}]}, "Multiple actions only valid with"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(rules: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unprocessable, match=reason) as refused:
        parse_config({"defaultRuleSet": rules})
    assert refused.value.code == 42210


def test_proper_rules_are_let_in() -> None:
    rules = {
        "migrationRules": [{**RULE, "mode": "UPDOWN", "onFailure": "DLQ,NONE"}],
        "domainRules": [{**RULE, "name": "größe_1-b"}],
        "enableAt": "CLIENT",
    }
    config = parse_config({"defaultRuleSet": rules})
    assert config["defaultRuleSet"]["domainRules"][0]["mode"] == "WRITEREAD"


def test_fields_that_are_not_named_stay_and_null_takes_one_away() -> None:
    log = SchemaLog()
    log.configure("a", compatibility="full", normalize=True)
    change = log.registry.put_config("a", parse_config({"compatibility": None, "alias": "b", "unknown": 1}))
    assert change.reply == {"alias": "b", "normalize": True}
    log.write(change)
    assert log.registry.scopes.own_config("a") == {"compatibilityLevel": "BACKWARD", "alias": "b", "normalize": True}


@pytest.mark.parametrize(
    ("configured", "subject", "expected"),
    [
        ({}, "a", {"compatibilityLevel": "BACKWARD"}),
        ({None: {"compatibility": "FULL"}}, "a", {"compatibilityLevel": "FULL"}),
        ({None: {"compatibility": "FULL"}}, ":.c:a", {"compatibilityLevel": "BACKWARD"}),
        ({":.c:": {"compatibility": "FULL"}}, ":.c:a", {"compatibilityLevel": "FULL"}),
        ({":.c:": {"compatibility": "FULL"}}, "a", {"compatibilityLevel": "BACKWARD"}),
        ({":.__GLOBAL:": {"compatibility": "FULL"}}, ":.c:a", {"compatibilityLevel": "FULL"}),
        ({":.__GLOBAL:": {"compatibility": "FULL"}}, None, {"compatibilityLevel": "FULL"}),
        (
            {":.__GLOBAL:": {"compatibility": "FULL"}, None: {"normalize": True}},
            "a",
            {"compatibilityLevel": "BACKWARD", "normalize": True},
        ),
        (
            {None: {"compatibility": "FULL", "normalize": True, "alias": "x"}, "a": {"validateFields": True}},
            "a",
            {"compatibilityLevel": "BACKWARD", "normalize": True, "validateFields": True},
        ),
        (
            {None: {"normalize": True}, "a": {"compatibility": "NONE", "normalize": False}},
            "a",
            {"compatibilityLevel": "NONE", "normalize": False},
        ),
    ],
)
def test_the_nearest_config_is_in_force(
    configured: dict[str | None, dict[str, Any]], subject: str | None, expected: dict[str, Any]
) -> None:
    log = SchemaLog()
    for name, fields in configured.items():
        log.configure(name, **fields)
    assert log.registry.scopes.config(subject) == expected


def test_the_default_level_is_a_setting_of_the_server() -> None:
    log = SchemaLog(default_level=Level.FULL)
    assert log.registry.scopes.level("a") is Level.FULL
    log.configure("a", normalize=True)
    assert log.registry.scopes.level("a") is Level.FULL


def test_deleting_a_config_tells_what_it_was() -> None:
    log = SchemaLog()
    assert log.write(log.registry.delete_config(None)) == {"compatibilityLevel": "BACKWARD"}
    with pytest.raises(NotFound) as refused:
        log.registry.delete_config("a")
    assert (refused.value.code, refused.value.message) == (40401, "Subject 'a' not found.")
    for name in (None, "a", ":.c:"):
        log.configure(name, compatibility="NONE")
        assert log.write(log.registry.delete_config(name)) == {"compatibilityLevel": "NONE"}
        assert name not in log.registry.state.configs
    assert not log.registry.state.subjects
    assert set(log.registry.state.contexts) == {"."}


@pytest.mark.parametrize(
    ("modes", "subject", "expected"),
    [
        ({}, "a", "READWRITE"),
        ({None: "READONLY"}, "a", "READONLY"),
        ({None: "READONLY"}, ":.c:a", "READWRITE"),
        ({None: "READONLY", "a": "READWRITE"}, "a", "READWRITE"),
        ({None: "READONLY_OVERRIDE", "a": "READWRITE"}, "a", "READONLY_OVERRIDE"),
        ({":.c:": "IMPORT"}, ":.c:a", "IMPORT"),
        ({":.__GLOBAL:": "READONLY"}, ":.c:a", "READONLY"),
        ({":.__GLOBAL:": "FORWARD"}, None, "FORWARD"),
    ],
)
def test_the_nearest_mode_is_in_force(modes: dict[str | None, str], subject: str | None, expected: str) -> None:
    log = SchemaLog()
    for name, mode in modes.items():
        log.set_mode(name, Mode[mode])
    assert log.registry.scopes.mode(subject).name == expected


def test_a_mode_is_taken_away_by_null_or_by_deleting_it() -> None:
    log = SchemaLog()
    assert log.write(log.registry.delete_mode(None)) is Mode.READWRITE
    with pytest.raises(NotFound, match="Subject 'a' not found"):
        log.registry.delete_mode("a")
    log.set_mode("a", Mode.READONLY)
    log.set_mode("a", None)
    assert log.registry.scopes.own_mode("a") is None
    for name in (None, "a", "b", ":.c:", ":.c:a"):
        log.set_mode(name, Mode.READONLY)
    assert log.write(log.registry.delete_modes_within(":.c:")) is Mode.READONLY
    assert set(log.registry.state.modes) == {None, "a", "b"}
    assert log.write(log.registry.delete_modes_within(None)) is Mode.READONLY
    assert log.registry.state.modes == {}
    assert log.write(log.registry.delete_modes_within(":.c:")) is None


def test_forward_mode_is_for_all_contexts_at_once() -> None:
    log = SchemaLog()
    for name in (None, "a", ":.c:"):
        with pytest.raises(Unprocessable, match="Forward mode only supported on global level") as refused:
            log.registry.put_mode(name, Mode.FORWARD, force=False)
        assert refused.value.code == 42204


@pytest.mark.parametrize("name", [None, "a", ":.__GLOBAL:"])
def test_import_mode_needs_an_empty_place_or_force(name: str | None) -> None:
    log = SchemaLog()
    log.register("a", '"string"')
    with pytest.raises(Unprocessable, match="Cannot import since found existing subjects") as refused:
        log.registry.put_mode(name, Mode.IMPORT, force=False)
    assert refused.value.code == 42205
    log.set_mode(name, Mode.IMPORT, force=True)
    log.set_mode(name, Mode.IMPORT)
    assert log.registry.scopes.mode("a") is Mode.IMPORT


def test_import_mode_forgets_what_was_softly_deleted() -> None:
    log = SchemaLog()
    log.register("a", '"string"')
    log.register("b", record_text("x"))
    log.delete("a")
    log.set_mode("a", Mode.IMPORT)
    assert set(log.registry.state.subjects) == {"b"}
    assert log.register("a", '"string"', schema_id=40) == (40, 1)


def test_import_mode_does_not_forget_what_is_referred_to() -> None:
    log = SchemaLog()
    log.register("a", record_text("x", name="A"))
    inner = '{"type":"record","name":"B","fields":[{"name":"a","type":"A"}]}'
    log.register("b", inner, references=[{"name": "A", "subject": "a", "version": 1}])
    log.delete("b")
    log.delete("a")
    with pytest.raises(
        Unprocessable, match=r"One or more references exist to the schema .*subject=a,version=1"
    ) as refused:
        log.registry.put_mode("a", Mode.IMPORT, force=False)
    assert refused.value.code == 42206


def test_what_is_read_only_takes_no_config() -> None:
    log = SchemaLog()
    log.configure("a", normalize=True)
    log.set_mode("a", Mode.READONLY)
    with pytest.raises(Unprocessable, match="Subject a in context  is in read-only mode"):
        log.registry.put_config("a", {})
    with pytest.raises(Unprocessable, match="Subject a in context  is in read-only mode"):
        log.registry.delete_config("a")
