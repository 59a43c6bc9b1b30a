"""Metadata and rules of a schema: its own, those of the version before it, and those of the config."""

import pytest

from stoker.registry.entities import SchemaEntity
from stoker.registry.registry import LATEST
from tests.registry.schema_log import ONE, REFERS, THREE, TWO, SchemaLog, refusal, to_r, wanted


@pytest.fixture
def log() -> SchemaLog:
    return SchemaLog()


METADATA = {"properties": {"owner": "a"}}
RULES = {"domainRules": [{"name": "r", "type": "CEL", "expr": "true"}]}


def entity_of(log: SchemaLog, version: int) -> SchemaEntity:
    return log.registry.version("a", version).entity


def test_a_new_version_takes_metadata_and_rules_from_the_one_before(log: SchemaLog) -> None:
    log.register("a", ONE, metadata=METADATA, ruleSet=RULES)
    assert log.register("a", TWO) == (2, 2)
    assert entity_of(log, 2).metadata == METADATA
    assert entity_of(log, 2).rule_set == entity_of(log, 1).rule_set
    assert log.register("a", THREE, metadata={}) == (3, 3)
    assert entity_of(log, 3).metadata == {}
    assert log.register("a", TWO) == (4, 4), "with the metadata of version 3, it is another schema than version 2"
    assert log.registry.lookup("a", wanted(TWO)).version == 4
    assert log.registry.lookup("a", wanted(TWO, metadata=METADATA)).version == 2


def test_a_schema_without_text_is_the_one_before_with_other_metadata(log: SchemaLog) -> None:
    log.register("a", ONE)
    assert log.register("a", "", metadata=METADATA) == (2, 2)
    assert entity_of(log, 2).text == ONE
    refusal(40403, "Schema not found", lambda: log.registry.lookup("a", wanted("")))


def test_the_config_adds_to_what_is_registered_and_overrides_it(log: SchemaLog) -> None:
    log.configure(
        "a",
        defaultMetadata={"properties": {"owner": "nobody", "team": "x"}, "tags": {"t": ["PII"]}, "sensitive": ["s"]},
        overrideMetadata={"properties": {"region": "eu"}, "sensitive": ["r"]},
        defaultRuleSet={"domainRules": [{"name": "r", "type": "OLD"}, {"name": "q", "type": "OLD"}]},
        overrideRuleSet={"encodingRules": [{"name": "e", "type": "ENCRYPT"}], "enableAt": "CLIENT"},
    )
    log.register("a", ONE, metadata=METADATA, ruleSet=RULES)
    assert entity_of(log, 1).metadata == {
        "tags": {"t": ["PII"]},
        "properties": {"owner": "a", "region": "eu", "team": "x"},
        "sensitive": ["r", "s"],
    }
    rules = entity_of(log, 1).rule_set
    assert rules is not None
    assert [(rule["name"], rule["type"]) for rule in rules["domainRules"]] == [("q", "OLD"), ("r", "CEL")]
    assert [rule["name"] for rule in rules["encodingRules"]] == ["e"]
    assert rules["enableAt"] == "CLIENT"
    assert log.register("a", ONE, metadata=METADATA, ruleSet=RULES) == (1, 1)
    assert log.register("a", ONE) == (1, 1)


def test_a_version_that_was_asked_for_is_said_in_the_metadata_and_kept_up(log: SchemaLog) -> None:
    assert log.register("a", ONE, version=1) == (1, 1)
    assert entity_of(log, 1).metadata == {"properties": {"confluent:version": "1"}}
    assert log.register("a", TWO) == (2, 2)
    assert entity_of(log, 2).metadata == {"properties": {"confluent:version": "2"}}
    assert log.register("a", ONE) == (1, 1), "known without it"
    assert log.register("a", TWO, metadata={"properties": {"confluent:version": "2"}}) == (2, 2)
    assert log.register("a", TWO, version=LATEST) == (2, 2)
    assert log.register("a", ONE, version=LATEST) == (3, 3)
    assert log.registry.lookup("a", wanted(ONE)).version == 3
    refusal(42201, "Version is not one more than previous version", lambda: log.register("a", THREE, version=7))


def test_the_version_in_the_metadata_must_be_that_of_the_schema_it_is_compared_with(log: SchemaLog) -> None:
    log.register("a", ONE)
    log.register("a", TWO)
    said = wanted(ONE, metadata={"properties": {"confluent:version": "1"}})
    assert log.registry.lookup("a", said).version == 1
    wrong = wanted(ONE, metadata={"properties": {"confluent:version": "2"}})
    refusal(40403, "Schema not found", lambda: log.registry.lookup("a", wrong))


def test_a_schema_with_its_references_written_out_is_the_same(log: SchemaLog) -> None:
    log.register("r", ONE)
    log.register("b", REFERS, references=to_r())
    written_out = REFERS.replace('"R"', ONE)
    assert log.registry.lookup("b", wanted(written_out)).version == 1
    assert log.register("b", written_out) == (2, 1)
