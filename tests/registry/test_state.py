"""What the records say, in memory: by replay alone, whatever the records are."""

import gc
import json
import logging
import tracemalloc
from typing import Any

import pytest

from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.records import ConfigKey, SchemaKey, decode_record, encode_record, schema_record
from stoker.registry.settings import Mode
from stoker.registry.state import RegistryState
from tests.registry.schema_log import Encoded, SchemaLog, record_text, replayed


def schema(subject: str, version: int, schema_id: int, text: str = '"string"', **more: Any) -> Encoded:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {"subject": subject, "version": version, "id": schema_id, "schema": text, "deleted": False, **more}
    return json.dumps(key).encode(), json.dumps(value).encode()


def state_of(*records: Encoded) -> RegistryState:
    return replayed(list(records)).state


def test_a_schema_of_many_subjects_is_in_memory_once() -> None:
    state = state_of(schema("a", 1, 1), schema("b", 1, 1))
    assert state.subjects["a"].versions[1].entity is state.subjects["b"].versions[1].entity


def test_versions_are_in_order_whatever_the_order_of_the_records() -> None:
    state = state_of(schema("a", 3, 3, '"int"'), schema("a", 1, 1), schema("a", 2, 2, '"long"'))
    assert list(state.subjects["a"].versions) == [1, 2, 3]
    latest = state.subjects["a"].latest()
    assert latest is not None
    assert latest.version == 3


def test_an_id_that_another_schema_has_is_not_taken_from_it(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(schema("a", 1, 1), schema("b", 1, 1, '"int"'), schema(":.c:b", 1, 1, '"int"'))
    assert set(state.subjects) == {"a", ":.c:b"}
    known = state.schema(".", 1)
    assert known is not None
    assert known.text == '"string"'
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_tombstone_takes_a_version_away_and_with_the_last_its_id_and_subject() -> None:
    log = [schema("a", 1, 1), schema("b", 1, 1)]
    entity = SchemaEntity(schema_type="AVRO", text='"string"')
    state = state_of(*log, (log[0][0], None))
    assert set(state.subjects) == {"b"}
    assert state.ids_of(".", entity) == (1,)
    state = state_of(*log, (log[0][0], None), (log[1][0], None))
    assert not state.subjects
    assert state.ids_of(".", entity) == ()
    assert state.schema(".", 1) is None
    assert state.next_id(".") == 2


def test_an_imported_schema_may_have_two_ids_and_the_lower_one_counts() -> None:
    state = state_of(schema("a", 1, 9), schema("b", 1, 4))
    entity = SchemaEntity(schema_type="AVRO", text='"string"')
    assert state.ids_of(".", entity) == (4, 9)
    assert state.ids_of_guid(entity.fingerprint) == [(".", 4), (".", 9)]
    found = state.find("a", entity, deleted=False)
    assert found is not None
    assert found.schema_id == 9


def test_deleting_a_subject_deletes_the_versions_that_were_there_then() -> None:
    delete = (
        b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}',
        b'{"subject":"a","version":2}',
    )
    versions = [schema("a", number, number, f'"{kind}"') for number, kind in ((1, "int"), (2, "long"), (3, "float"))]
    state = state_of(versions[0], versions[1], delete, versions[2])
    assert [version.deleted for version in state.subjects["a"].versions.values()] == [True, True, False]
    assert {version.subject for version in state.users_of(".", 1)} == {"a"}


@pytest.mark.parametrize(
    ("key", "left"), [({}, {"b"}), ({"subject": "a"}, {"b", ":.c:a"}), ({"subject": ":.c:"}, {"a", "b"})]
)
def test_clearing_forgets_what_was_softly_deleted(key: dict[str, str], left: set[str]) -> None:
    state = state_of(
        schema("a", 1, 1, deleted=True),
        schema("b", 1, 1),
        schema(":.c:a", 1, 1, deleted=True),
        (json.dumps({"keytype": "CLEAR_SUBJECT", **key, "magic": 0}).encode(), json.dumps(key).encode()),
    )
    assert set(state.subjects) == left


def test_a_context_is_there_until_its_record_is_gone_and_its_schemas_are() -> None:
    context = (b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}', b'{"context":".c"}')
    gone = (context[0], None)
    assert set(state_of(context).contexts) == {".", ".c"}
    assert set(state_of(context, gone).contexts) == {"."}
    assert set(state_of(context, schema(":.c:a", 1, 1), gone).contexts) == {".", ".c"}


def test_ids_count_in_each_context_for_themselves() -> None:
    state = state_of(schema("a", 1, 5), schema(":.c:a", 1, 2))
    assert (state.next_id("."), state.next_id(".c"), state.next_id(".new")) == (6, 3, 1)
    assert (state.highest_id("."), state.highest_id(".c"), state.highest_id(".new")) == (5, 2, 1)


ODD = [
    (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":"one"}'),
    (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1,"schema":"\\ud800"}'),
    (b'{"keytype":"CONFIG","magic":0}', b'{"compatibilityLevel":"SOMETIMES"}'),
    (b'{"keytype":"CONFIG","magic":0}', b'{"normalize":"perhaps"}'),
    (b'{"keytype":"CONFIG","magic":0}', b'{"defaultMetadata":{"tags":7}}'),
    (b'{"keytype":"MODE","magic":0}', b'{"mode":7}'),
    (b'{"keytype":"MODE","magic":0}', b"{}"),
    (b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}', b'{"version":"all"}'),
]


@pytest.mark.parametrize(("key", "value"), ODD)
def test_an_odd_record_is_left_out_with_one_warning(key: bytes, value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(schema("b", 1, 1))
    state.replay(decode_record(key, value))
    state.replay(decode_record(*schema("c", 1, 1)))
    assert set(state.subjects) == {"b", "c"}
    assert (state.configs, state.modes) == ({}, {})
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    "key",
    [
        b'{"keytype":"SCHEMA","subject":"unknown","version":1,"magic":1}',
        b'{"keytype":"SCHEMA","subject":"b","version":7,"magic":1}',
        b'{"keytype":"CONFIG","subject":"unknown","magic":0}',
        b'{"keytype":"MODE","magic":0}',
        b'{"keytype":"DELETE_SUBJECT","subject":"b","magic":0}',
        b'{"keytype":"CLEAR_SUBJECT","magic":0}',
        b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}',
        b'{"keytype":"NOOP","magic":0}',
    ],
)
def test_a_tombstone_of_what_is_not_there_is_nothing(key: bytes, caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(schema("b", 1, 1))
    state.replay(decode_record(key, None))
    assert set(state.subjects) == {"b"}
    assert not caplog.records


def test_settings_of_older_registries_are_read() -> None:
    state = state_of(
        (b'{"subject":null,"magic":0,"keytype":"CONFIG"}', b'{"compatibilityLevel":"full","ts":1,"offset":2}'),
        (b'{"magic":0,"keytype":"MODE","subject":"a"}', b'{"mode":"READONLY"}'),
    )
    assert state.configs == {None: {"compatibilityLevel": "FULL"}}
    assert state.modes == {"a": Mode.READONLY}


def test_what_is_taken_away_is_taken_away_under_every_key_it_was_written_under() -> None:
    """Else compaction would keep the record under the other key, and it would come back with the next start."""
    log = SchemaLog()
    karapace = (b'{"subject":"a","magic":0,"keytype":"CONFIG"}', b'{"compatibilityLevel":"NONE"}')
    log.records.append(karapace)
    log.registry.state.replay(decode_record(*karapace))
    log.configure("a", compatibility="FULL")
    log.write(log.registry.delete_config("a"))
    assert log.registry.scopes.own_config("a") is None
    assert replayed(log.compacted()).scopes.own_config("a") is None
    assert log.registry.state.tombstones(ConfigKey("a")) == log.registry.state.tombstones(ConfigKey("a"))[:1]


def test_references_are_known_by_who_refers() -> None:
    refers = {"references": [{"name": "n", "subject": "a", "version": 1}]}
    state = state_of(
        schema("a", 1, 1),
        schema(":.c:a", 1, 1),
        schema("b", 1, 2, '"int"', **refers),
        schema(":.c:b", 1, 2, '"int"', deleted=True, **refers),
    )
    assert [each.subject for each in state.referrers_of(SchemaKey("a", 1), deleted=True)] == ["b"]
    assert [each.subject for each in state.referrers_of(SchemaKey(":.c:a", 1), deleted=True)] == [":.c:b"]
    assert state.referrers_of(SchemaKey(":.c:a", 1), deleted=False) == []


def test_many_schemas_take_little_memory() -> None:
    fields = [f"a_field_with_an_ordinary_name_{number}" for number in range(9)]
    records = []
    for number in range(2_000):
        text = record_text(*fields, name=f"R{number}")
        version = SubjectVersion(f"topic-{number}-value", 1, number + 1, SchemaEntity(schema_type="AVRO", text=text))
        records.append(encode_record(schema_record(version)))
    assert len(text) > 570
    gc.collect()
    tracemalloc.start()
    try:
        kept = replayed(records)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / len(kept.state.subjects) < 4_000


def test_half_a_character_is_left_out_and_nothing_is_half_there(caplog: pytest.LogCaptureFixture) -> None:
    """Such a record of somebody else once stood under its subject without an id, and its tombstone ended the replay."""
    odd = schema("a", 1, 1, '"\ud800"')
    state = state_of(odd, schema("b", 1, 2), (odd[0], None), schema("c", 1, 3, '"int"'))
    assert set(state.subjects) == {"b", "c"}
    assert state.schema(".", 1) is None
    assert "is left out" in caplog.text
