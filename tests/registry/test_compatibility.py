"""Which versions a new schema is compared with, and what its author is told."""

from typing import Any

import pytest

from stoker.registry.errors import Incompatible, Unprocessable
from stoker.registry.settings import Level
from tests.registry.schema_log import SchemaLog, record_text, wanted

OPTIONAL, REQUIRED, LESS = record_text("a", "b?"), record_text("a", "b"), record_text("a")

ALLOWED: list[tuple[str, list[str], str, bool]] = [
    ("NONE", ['"int"'], '"string"', True),
    ("BACKWARD", [LESS], OPTIONAL, True),
    ("BACKWARD", [LESS], REQUIRED, False),
    ("BACKWARD", [REQUIRED], LESS, True),
    ("BACKWARD", [LESS, OPTIONAL], REQUIRED, True),
    ("BACKWARD_TRANSITIVE", [LESS, OPTIONAL], REQUIRED, False),
    ("FORWARD", [LESS], REQUIRED, True),
    ("FORWARD", [REQUIRED], LESS, False),
    ("FORWARD", [REQUIRED, OPTIONAL], LESS, True),
    ("FORWARD_TRANSITIVE", [REQUIRED, OPTIONAL], LESS, False),
    ("FULL", [LESS], OPTIONAL, True),
    ("FULL", [LESS], REQUIRED, False),
    ("FULL", [REQUIRED], LESS, False),
    ("FULL", [LESS, OPTIONAL], REQUIRED, True),
    ("FULL_TRANSITIVE", [LESS, OPTIONAL], REQUIRED, False),
]


def registered(*texts: str, **config: Any) -> SchemaLog:
    log = SchemaLog()
    log.configure("a", compatibility="NONE")
    for text in texts:
        log.register("a", text)
    log.configure("a", **config)
    return log


@pytest.mark.parametrize(("level", "before", "new", "is_allowed"), ALLOWED)
def test_a_level_says_which_versions_are_compared_and_who_reads_whom(
    level: str, before: list[str], new: str, is_allowed: bool
) -> None:
    log = registered(*before, compatibility=level)
    asked = log.registry.incompatibilities("a", wanted(new), log.registry.subject("a").live())
    assert (asked == []) == is_allowed
    if is_allowed:
        assert log.register("a", new)[1] == len(before) + 1
    else:
        with pytest.raises(Incompatible) as refused:
            log.register("a", new)
        assert refused.value.status == 409
        assert f"compatibility: '{level}'" in refused.value.message


@pytest.mark.acceptance("B113")
def test_none_lets_anything_in() -> None:
    """Under NONE a subject takes schemas that have nothing in common, even of other types."""
    log = registered('"int"', compatibility="NONE")
    assert log.register("a", REQUIRED)[1] == 2
    assert log.register("a", '{"type":"object"}', schemaType="JSON")[1] == 3
    assert log.register("a", 'syntax = "proto3"; message M {}', schemaType="PROTOBUF")[1] == 4


@pytest.mark.acceptance("B114")
@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE"])
def test_transitive_levels_compare_with_all_versions(level: str) -> None:
    """A third version that goes with the second is refused because of the first, which the refusal names."""
    first, third = (REQUIRED, LESS) if level.startswith("FORWARD") else (LESS, REQUIRED)
    plain = level.removesuffix("_TRANSITIVE")
    assert registered(first, OPTIONAL, compatibility=plain).register("a", third)[1] == 3
    with pytest.raises(Incompatible, match=r"\{oldSchemaVersion: 1\}"):
        registered(first, OPTIONAL, compatibility=level).register("a", third)


def test_a_refusal_names_the_rule_the_field_both_schemas_and_the_level() -> None:
    log = registered(LESS, compatibility="BACKWARD")
    with pytest.raises(Incompatible) as refused:
        log.register("a", REQUIRED)
    message = refused.value.message
    assert refused.value.code == 409
    assert message.startswith(
        'Schema being registered is incompatible with an earlier schema for subject "a", details: '
        "[{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'"
    )
    assert "field b of the reader's record R has no default and is missing in the writer's" in message
    assert "additionalInfo:'/fields/1'" in message
    assert "(the new schema reads, the old one wrote)" in message
    assert message.endswith(
        f"{{oldSchemaVersion: 1}}, {{oldSchema: '{LESS}'}}, {{validateFields: 'false', compatibility: 'BACKWARD'}}]"
    )


def test_forward_names_the_old_schema_as_the_reader() -> None:
    log = registered(REQUIRED, compatibility="FORWARD")
    with pytest.raises(Incompatible, match=r"\(the old schema reads, the new one wrote\)"):
        log.register("a", LESS)


def test_full_tells_of_both_directions() -> None:
    log = registered(record_text("a", "b"), compatibility="FULL")
    told = log.registry.incompatibilities("a", wanted(record_text("a", "c")), log.registry.subject("a").live())
    assert [("the old schema reads" in each, "the new schema reads" in each) for each in told] == [
        (True, False),
        (False, True),
        (False, False),
        (False, False),
        (False, False),
    ]


def test_another_type_is_incompatible() -> None:
    log = registered(LESS, compatibility="BACKWARD")
    with pytest.raises(Incompatible, match="Incompatible because of different schema type") as refused:
        log.register("a", "{}", schemaType="JSON")
    assert "version 1 is of type AVRO" in refused.value.message


def test_a_long_schema_is_not_shown_in_full() -> None:
    long = record_text(*(f"field_{number}" for number in range(1_000)))
    log = registered(long, compatibility="FORWARD")
    told = log.registry.incompatibilities("a", wanted(LESS), log.registry.subject("a").live())
    shown = next(each for each in told if each.startswith("{oldSchema:"))
    assert shown.startswith("{oldSchema: <truncated> '{")
    assert len(shown) < 10_300


def test_schemas_of_one_text_are_not_the_same_if_they_refer_to_others() -> None:
    log = SchemaLog()
    log.configure("r", compatibility="NONE")
    for kind in ("message R {}", "enum R { ZERO = 0; }"):
        log.register("r", f'syntax = "proto3"; {kind}', schemaType="PROTOBUF")
    before = 'syntax = "proto3"; import "r.proto"; message M { R r = 1; }'
    after = before.replace("r = 1;", "r = 1; string more = 2;")
    to_r = [{"name": "r.proto", "subject": "r", "version": version} for version in (1, 2)]
    log.register("a", before, schemaType="PROTOBUF", references=to_r[:1])
    told = [
        log.registry.incompatibilities(
            "a", wanted(after, schemaType="PROTOBUF", references=[each]), log.registry.subject("a").live()
        )
        for each in to_r
    ]
    assert told[0] == []
    assert "FIELD_KIND_CHANGED" in told[1][0]


def test_deleted_versions_are_not_compared() -> None:
    log = registered('"int"', compatibility="FULL_TRANSITIVE")
    log.delete("a")
    assert log.register("a", '"string"')[1] == 2


def test_only_versions_of_the_same_group_are_compared() -> None:
    log = SchemaLog()
    log.configure("a", compatibilityGroup="major", compatibility="BACKWARD")
    first = {"metadata": {"properties": {"major": "1"}}}
    second = {"metadata": {"properties": {"major": "2"}}}
    assert log.register("a", '"int"', **first)[1] == 1
    assert log.register("a", '"string"', **second)[1] == 2
    assert log.register("a", '"long"', **first)[1] == 3
    with pytest.raises(Incompatible, match=r"\{oldSchemaVersion: 2\}"):
        log.register("a", LESS, **second)


def test_the_lenient_policy_pardons_new_properties_of_an_open_content_model() -> None:
    old = '{"type":"object","properties":{"a":{"type":"string"}}}'
    new = '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}'
    log = SchemaLog()
    log.register("a", old, schemaType="JSON")
    with pytest.raises(Incompatible, match="PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"):
        log.register("a", new, schemaType="JSON")
    log.configure("a", compatibilityPolicy="lenient")
    assert log.register("a", new, schemaType="JSON")[1] == 2


PROTOBUF = 'syntax = "proto3"; message M { string a = 1; oneof o { string b = 2; } }'
JSON = '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}'


@pytest.mark.parametrize(("schema_type", "text"), [("AVRO", OPTIONAL), ("JSON", JSON), ("PROTOBUF", PROTOBUF)])
def test_reserved_fields_are_kept_free_where_fields_are_validated(schema_type: str, text: str) -> None:
    log = SchemaLog()
    reserved = {"metadata": {"properties": {"confluent:reserved": "b, z"}}}
    log.register("free", text, schemaType=schema_type, **reserved)
    log.configure(None, validateFields=True)
    with pytest.raises(Incompatible, match="field that conflicts with the reserved field b") as refused:
        log.register("a", text, schemaType=schema_type, **reserved)
    assert refused.value.message.endswith("{validateFields: 'true', compatibility: 'BACKWARD'}]")
    log.register("a", text, schemaType=schema_type, metadata={"properties": {"confluent:reserved": "z"}})
    with pytest.raises(Incompatible, match="reserved field z removed from its metadata"):
        log.register("a", text, schemaType=schema_type, metadata={})


def test_no_field_begins_with_two_dollars_where_fields_are_validated() -> None:
    log = SchemaLog()
    text = JSON.replace('"b"', '"$$b"')
    log.register("free", text, schemaType="JSON")
    log.configure("a", validateFields=True)
    with pytest.raises(Unprocessable, match=r"Field names cannot start with \$\$ prefix: '\$\$b'"):
        log.register("a", text, schemaType="JSON")
    assert log.register("a", '"string"')[1] == 1
    assert log.register("b", '{"type":"object"}', schemaType="JSON")[1] == 1


def test_asking_needs_a_schema_and_none_before_it() -> None:
    log = SchemaLog()
    assert log.registry.incompatibilities("a", wanted(LESS), []) == []
    with pytest.raises(Unprocessable, match="Empty schema"):
        log.registry.incompatibilities("a", wanted(""), [])


def test_every_level_says_what_it_means() -> None:
    assert {level.name: (level.new_reads_old, level.old_reads_new, level.is_transitive) for level in Level} == {
        "NONE": (False, False, False),
        "BACKWARD": (True, False, False),
        "BACKWARD_TRANSITIVE": (True, False, True),
        "FORWARD": (False, True, False),
        "FORWARD_TRANSITIVE": (False, True, True),
        "FULL": (True, True, False),
        "FULL_TRANSITIVE": (True, True, True),
    }
