"""Registering schemas and looking them up, as Confluent's registry does."""

import json
from typing import Any

import pytest

from stoker.registry.entities import SchemaEntity
from stoker.registry.errors import NotFound, Unprocessable
from stoker.registry.registry import LATEST, Registry, parse_version
from stoker.registry.settings import Mode
from tests.registry.schema_log import ONE, REFERS, THREE, TWO, SchemaLog, record_text, refusal, to_r, wanted


@pytest.fixture
def log() -> SchemaLog:
    return SchemaLog()


# -- registering ------------------------------------------------------------------------------------------------------


def test_ids_are_of_schemas_and_versions_of_subjects(log: SchemaLog) -> None:
    assert log.register("a", ONE) == (1, 1)
    assert log.register("a", TWO) == (2, 2)
    assert log.register("b", TWO) == (2, 1)
    assert log.register("b", THREE) == (3, 2)
    assert log.register(":.c:a", THREE) == (1, 1)
    assert log.register("a", json.dumps(json.loads(ONE), indent=2)) == (1, 1), "known, whatever its spelling"


def test_a_known_schema_writes_nothing(log: SchemaLog) -> None:
    log.register("a", ONE)
    assert log.registry.register("a", wanted(ONE)).records == []


def test_a_known_schema_is_answered_in_any_mode(log: SchemaLog) -> None:
    log.register("a", ONE)
    for mode in (Mode.READONLY, Mode.READONLY_OVERRIDE, Mode.IMPORT):
        log.set_mode(None, mode, force=True)
        assert log.register("a", ONE) == (1, 1)


@pytest.mark.parametrize(
    ("mode", "schema_id", "message"),
    [
        (Mode.READONLY, None, "Subject a in context  is in read-only mode"),
        (Mode.READONLY_OVERRIDE, None, "Subject a in context  is in read-only mode"),
        (Mode.IMPORT, None, "Subject a in context  is not in read-write mode"),
        (Mode.READWRITE, 7, "Subject a in context  is not in import mode"),
    ],
)
def test_the_mode_says_who_may_register(log: SchemaLog, mode: Mode, schema_id: int | None, message: str) -> None:
    log.set_mode(None, mode)
    refusal(42205, message, lambda: log.register("a", ONE, schema_id=schema_id))


def test_a_refusal_names_the_context(log: SchemaLog) -> None:
    log.set_mode(":.c:", Mode.READONLY)
    refusal(42205, "Subject :.c:a in context :.c: is in read-only mode", lambda: log.register(":.c:a", ONE))


@pytest.mark.parametrize("name", [":.c:", ":.__GLOBAL:a"])
def test_a_context_is_no_subject(log: SchemaLog, name: str) -> None:
    refusal(42208, f"The specified subject '{name}' is not a valid.", lambda: log.register(name, ONE))


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", {}, "Empty schema"),
        ("  ", {}, "Empty schema"),
        ("{", {}, "Invalid schema of type AVRO, details: "),
        ("{}", {"schemaType": "XML"}, "Invalid schema type XML. Supported types are: AVRO, JSON, PROTOBUF"),
        ('"\ud800"', {}, "The schema has half a character"),
        ('"string"', {"metadata": {"properties": {"a": "\udfff"}}}, "The schema has half a character"),
        (
            REFERS,
            {"references": to_r()},
            'Invalid schema of type AVRO, details: No schema reference found for subject "r" and version 1',
        ),
        (
            REFERS,
            {"references": to_r(LATEST)},
            'Invalid schema of type AVRO, details: No schema reference found for subject "r" and version -1',
        ),
        (ONE, {"version": 2}, "Version is not one more than previous version"),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}', {}, "default"),
    ],
)
def test_what_is_no_schema_is_refused_with_the_reason(
    log: SchemaLog, text: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unprocessable) as refused:
        log.register("a", text, **more)
    assert refused.value.code == 42201
    assert message in refused.value.message
    assert log.records == []


def test_what_another_registry_let_in_is_not_held_to_the_rules_for_new_schemas(log: SchemaLog) -> None:
    loose = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    log.set_mode("a", Mode.IMPORT)
    assert log.register("a", loose, schema_id=5, version=3) == (5, 3)
    log.set_mode("a", None)
    assert log.registry.lookup("a", wanted(loose)).version == 3
    assert log.register("a", loose.replace('"x"', "7")) == (6, 4)
    log.configure("b", validateNewSchemas=False)
    assert log.register("b", loose.replace("R", "S")) == (7, 1)


def test_an_imported_schema_keeps_its_id_and_version(log: SchemaLog) -> None:
    log.set_mode(None, Mode.IMPORT)
    assert log.register("a", ONE, schema_id=17, version=4) == (17, 4)
    assert log.register("a", ONE, schema_id=17, version=4) == (17, 4)
    assert log.register("a", TWO, schema_id=9, version=2) == (9, 2)
    assert log.register("b", '"int"', schema_id=20) == (20, 1), "nothing is compared"
    assert log.register("b", '"string"', schema_id=21) == (21, 2)
    refusal(
        42205,
        "Overwrite new schema with id 17 in context  is not permitted.",
        lambda: log.register("c", TWO, schema_id=17),
    )
    log.set_mode(None, None)
    assert log.register("d", THREE) == (22, 1)


def test_an_imported_schema_in_another_context_has_ids_of_its_own(log: SchemaLog) -> None:
    log.register("a", ONE)
    log.set_mode(":.x:", Mode.IMPORT)
    assert log.register(":.x:a", TWO, schema_id=1) == (1, 1)


def test_the_id_0_and_minus_1_are_as_clients_send_them(log: SchemaLog) -> None:
    assert log.register("a", ONE, schema_id=-1, version=0) == (1, 1)


def test_force_registers_what_does_not_go_with_those_before(log: SchemaLog) -> None:
    log.register("a", '"int"')
    assert log.register("a", '"string"', force=True) == (2, 2)


def test_normalizing_makes_one_of_those_that_differ_in_spelling_alone(log: SchemaLog) -> None:
    text = '{"type":"record","name":"a.b.R","fields":[]}'
    same = '{"type":"record","name":"R","namespace":"a.b","fields":[]}'
    assert log.register("plain", text)[0] == log.register("plain", same)[0]
    schema = '{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}'
    other = '{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}'
    assert log.register("json", schema, schemaType="JSON") != log.register("json", other, schemaType="JSON")
    log.configure("sorted", normalize=True)
    assert log.register("sorted", schema, schemaType="JSON") == log.register("sorted", other, schemaType="JSON")
    assert log.register("asked", schema, schemaType="JSON", normalize=True) == log.register(
        "asked", other, schemaType="JSON", normalize=True
    )


def test_a_reference_to_the_latest_version_is_stored_with_its_number(log: SchemaLog) -> None:
    log.register("r", ONE)
    log.register("r", TWO)
    log.register("b", REFERS, references=to_r(LATEST))
    assert log.registry.version("b", 1).entity.references[0].version == 2
    assert log.register("b", REFERS, references=to_r(LATEST))[1] == 1
    assert log.registry.referrers("r", 2) == [3]
    assert log.registry.referrers("r", LATEST) == [3]
    assert log.registry.referrers("r", 1) == []


def test_references_are_in_the_context_of_who_refers(log: SchemaLog) -> None:
    log.register(":.c:r", ONE)
    assert log.register(":.c:b", REFERS, references=to_r()) == (2, 1)
    assert log.register("b", REFERS, references=to_r(subject=":.c:r")) == (1, 1)
    with pytest.raises(Unprocessable):
        log.register("b2", REFERS, references=to_r())
    assert log.registry.referrers(":.c:r", 1) == [1, 2]


def test_references_of_what_is_referred_to_are_resolved_in_its_own_context(log: SchemaLog) -> None:
    log.register(":.c:r", ONE)
    log.register(":.c:b", REFERS, references=to_r())
    outer = '{"type":"record","name":"O","fields":[{"name":"b","type":"B"}]}'
    assert log.register("o", outer, references=[{"name": "B", "subject": ":.c:b", "version": 1}]) == (1, 1)


def test_a_new_schema_may_not_refer_to_a_deleted_one_and_a_stored_one_may(log: SchemaLog) -> None:
    log.register("r", ONE)
    log.register("b", REFERS, references=to_r())
    log.register("r", TWO)
    log.delete("b")
    log.delete("r", 1)
    assert log.registry.lookup("b", wanted(REFERS, references=to_r()), deleted=True).version == 1
    with pytest.raises(Unprocessable, match="No schema reference found"):
        log.register("c", REFERS.replace("B", "C"), references=to_r())


def test_a_number_that_was_deleted_for_good_may_mean_another_schema(log: SchemaLog) -> None:
    """What was parsed with the old meaning is not used again."""
    log.register("r", ONE)
    log.register("b", REFERS, references=to_r())
    log.delete("b")
    log.delete("b", permanent=True)
    log.delete("r")
    log.delete("r", permanent=True)
    log.register("r", '{"type":"enum","name":"R","symbols":["X"]}')
    log.register("b", REFERS, references=to_r())
    parsed = log.registry.parser.parse(log.registry.version("b", 1).entity, ".")
    assert "enum" in parsed.formatted("resolved")


def test_circles_and_long_chains_of_references_are_refused(log: SchemaLog) -> None:
    log.set_mode(None, Mode.IMPORT)
    log.register("a", "{}", schema_id=1, version=1, schemaType="JSON")
    for number, (name, other) in enumerate((("b", "a"), ("a", "b")), start=2):
        reference = {"name": other, "subject": other, "version": 1}
        text = json.dumps({"$ref": other, "title": name})
        log.register(name, text, schema_id=number, version=1, schemaType="JSON", references=[reference])
    with pytest.raises(Unprocessable, match=r"The reference '\w' to subject \"\w\" and version 1 leads back to itself"):
        log.registry.parser.parse(log.registry.version("b", 1).entity, ".")
    log.set_mode(None, None)
    log.register("c0", record_text(name="C0"))
    for number in range(1, 101):
        log.register(f"c{number}", **link(number))
    with pytest.raises(Unprocessable, match="100 after one another"):
        log.register("c101", **link(101))


def link(number: int) -> dict[str, Any]:
    """A schema that refers to the one with the number before."""
    before = f"C{number - 1}"
    text = json.dumps({"type": "record", "name": f"C{number}", "fields": [{"name": "f", "type": before}]})
    return {"text": text, "references": [{"name": before, "subject": before.lower(), "version": 1}]}


# -- looking up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "deleted", "found"),
    [
        (1, True, 1),
        (1, False, "Version 1 not found."),
        (2, False, 2),
        (3, True, 3),
        (LATEST, False, 2),
        (LATEST, True, 2),
        (9, True, "Version 9 not found."),
    ],
)
def test_versions_that_were_deleted_are_found_by_who_asks_for_them(
    log: SchemaLog, number: int, deleted: bool, found: int | str
) -> None:
    for text in (ONE, TWO, THREE):
        log.register("a", text)
    log.delete("a", 1)
    log.delete("a", 3)
    if isinstance(found, int):
        assert log.registry.version("a", number, deleted=deleted).version == found
    else:
        refusal(40402, found, lambda: log.registry.version("a", number, deleted=deleted))


def test_nothing_is_latest_where_all_was_deleted(log: SchemaLog) -> None:
    log.register("a", ONE)
    log.delete("a")
    refusal(40401, "Subject 'a' not found.", lambda: log.registry.version("a", LATEST))
    refusal(40402, "Version -1 not found.", lambda: log.registry.version("a", LATEST, deleted=True))
    refusal(40401, "Subject 'a' not found.", lambda: log.registry.lookup("a", wanted(ONE)))
    assert log.registry.lookup("a", wanted(ONE), deleted=True).version == 1


def test_looking_up_what_is_not_there(log: SchemaLog) -> None:
    refusal(40401, "Subject 'a' not found.", lambda: log.registry.lookup("a", wanted(ONE)))
    log.register("a", ONE)
    refusal(40403, "Schema not found", lambda: log.registry.lookup("a", wanted(TWO)))
    with pytest.raises(Unprocessable, match="Invalid schema of type AVRO"):
        log.registry.lookup("unknown", wanted("{"))


def test_a_text_that_is_stored_or_was_seen_is_not_parsed_again(log: SchemaLog, monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = json.dumps(json.loads(TWO), indent=1)
    log.register("a", ONE)
    log.register("a", spelled)
    fresh = Registry(log.registry.state)
    monkeypatch.setattr("stoker.registry.formats.avro.parse", None)
    assert fresh.lookup("a", wanted(ONE)).version == 1
    assert log.registry.lookup("a", wanted(spelled)).version == 2


def test_what_is_kept_of_parsed_schemas_is_bounded(log: SchemaLog) -> None:
    parser = log.registry.parser
    cache = parser._asked

    def size() -> int:
        kept = {id(each): each for each in cache.kept.values()}.values()
        return sum(each.size for each in kept) + sum(len(text) for _, text, _ in cache.kept)

    wide = [json.dumps({"type": "enum", "name": f"E{n}", "symbols": ["S"], "doc": "x" * 50_000}) for n in range(20)]
    for text in wide:
        parser.parse(SchemaEntity(schema_type="AVRO", text=text), ".")
        assert cache.bytes == size() <= 4 * 1024 * 1024
    assert len(cache.kept) == 18, "nine schemas, each as it was sent and as it is stored"
    parser.parse(SchemaEntity(schema_type="AVRO", text=wide[-1]), ".", is_new=True)
    assert cache.bytes == size()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (" 7 ", 7),
        ("+3", 3),
        ("2147483647", 2**31 - 1),
        ("latest", LATEST),
        ("LATEST", LATEST),
        ("-1", LATEST),
    ],
)
def test_a_version_is_a_number_or_the_latest(text: str, number: int) -> None:
    assert parse_version(text) == number


@pytest.mark.parametrize("text", ["", "0", "-2", "2147483648", "9" * 10_000, "1.0", "newest", "١", "1_0", "--1"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(Unprocessable, match="is not a valid version id") as refused:
        parse_version(text)
    assert refused.value.code == 42202


def test_refusals_have_the_status_of_their_kind() -> None:
    assert (NotFound.status, Unprocessable.status) == (404, 422)
