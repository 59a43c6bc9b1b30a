"""Records of `_schemas`: the bytes that Confluent's registry writes, and all that is read."""

import base64
import hashlib
import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    Key,
    MalformedRecord,
    ModeKey,
    NoopKey,
    RegistryRecord,
    SchemaKey,
    clear_subject_record,
    config_record,
    context_record,
    decode_record,
    delete_subject_record,
    encode_key,
    encode_record,
    mode_record,
    schema_record,
    subject_version_of,
)

KEYS: list[tuple[Key, bytes]] = [
    (SchemaKey("orders-value", 3), b'{"keytype":"SCHEMA","subject":"orders-value","version":3,"magic":1}'),
    (SchemaKey(':.a:é/"\\', 1), '{"keytype":"SCHEMA","subject":":.a:é/\\"\\\\","version":1,"magic":1}'.encode()),
    (ConfigKey(None), b'{"keytype":"CONFIG","magic":0}'),
    (ConfigKey("orders"), b'{"keytype":"CONFIG","subject":"orders","magic":0}'),
    (ModeKey(None), b'{"keytype":"MODE","magic":0}'),
    (ModeKey("orders"), b'{"keytype":"MODE","subject":"orders","magic":0}'),
    (DeleteSubjectKey("orders"), b'{"keytype":"DELETE_SUBJECT","subject":"orders","magic":0}'),
    (ClearSubjectKey("orders"), b'{"keytype":"CLEAR_SUBJECT","subject":"orders","magic":0}'),
    (ClearSubjectKey(None), b'{"keytype":"CLEAR_SUBJECT","magic":0}'),
    (ContextKey(".staging"), b'{"keytype":"CONTEXT","tenant":"default","context":".staging","magic":0}'),
    (NoopKey(), b'{"keytype":"NOOP","magic":0}'),
]


@pytest.mark.parametrize(("key", "written"), KEYS)
def test_keys_are_written_byte_for_byte_as_confluents(key: Key, written: bytes) -> None:
    assert encode_key(key) == written
    assert decode_record(written, None) == RegistryRecord(key, None)


AVRO = SchemaEntity(schema_type="AVRO", text='"string"')
FULL = SchemaEntity.from_json(
    {
        "schemaType": "JSON",
        "schema": "{}",
        "references": [{"name": "n", "subject": "s", "version": 2}],
        "metadata": {"properties": {"b": "2", "a": 1}, "tags": {"t": ["y", "x", "x"]}},
        "ruleSet": {"domainRules": [{"name": "r", "type": "CEL", "kind": "CONDITION", "expr": "true"}]},
    }
)


@pytest.mark.parametrize(
    ("record", "written"),
    [
        (
            schema_record(SubjectVersion("s", 1, 7, AVRO)),
            {
                "subject": "s",
                "version": 1,
                "id": 7,
                "md5": "CV1xzxJVa51eMwrVdbPfXQ==",
                "schema": '"string"',
                "deleted": False,
            },
        ),
        (
            schema_record(SubjectVersion("s", 2, 8, FULL, deleted=True)),
            {
                "subject": "s",
                "version": 2,
                "id": 8,
                "md5": base64.b64encode(FULL.fingerprint).decode(),
                "schemaType": "JSON",
                "references": [{"name": "n", "subject": "s", "version": 2}],
                "metadata": {"tags": {"t": ["x", "y"]}, "properties": {"a": "1", "b": "2"}},
                "ruleSet": {
                    "domainRules": [
                        {
                            "name": "r",
                            "kind": "CONDITION",
                            "mode": "WRITEREAD",
                            "type": "CEL",
                            "expr": "true",
                            "disabled": False,
                        }
                    ]
                },
                "schema": "{}",
                "deleted": True,
            },
        ),
        (config_record(None, {"compatibilityLevel": "FULL"}), {"compatibilityLevel": "FULL"}),
        (config_record("s", {"compatibilityLevel": "FULL"}), {"subject": "s", "compatibilityLevel": "FULL"}),
        (mode_record(None, "IMPORT"), {"mode": "IMPORT"}),
        (mode_record("s", "IMPORT"), {"subject": "s", "mode": "IMPORT"}),
        (delete_subject_record("s", 3), {"subject": "s", "version": 3}),
        (clear_subject_record("s"), {"subject": "s"}),
        (clear_subject_record(None), {}),
        (context_record(".c"), {"tenant": "default", "context": ".c"}),
    ],
)
def test_values_have_confluents_fields_in_its_order_and_what_is_not_there_is_left_out(
    record: RegistryRecord, written: dict[str, Any]
) -> None:
    key, value = encode_record(record)
    assert value == json.dumps(written, separators=(",", ":")).encode()
    assert decode_record(key, value) == record


SPELLINGS: list[tuple[bytes, Key]] = [
    (b'{"subject":"s","version":1,"magic":0,"keytype":"SCHEMA"}', SchemaKey("s", 1)),
    (b'{"keytype": "SCHEMA", "subject": "s", "version": 1, "magic": 1}', SchemaKey("s", 1)),
    (b'{"keytype":"SCHEMA","subject":"\\u0073","version":1,"magic":1}', SchemaKey("s", 1)),
    (b'{"subject":null,"magic":0,"keytype":"CONFIG"}', ConfigKey(None)),
    (b'{"magic":0,"keytype":"MODE","subject":"s"}', ModeKey("s")),
    (b'{"keytype":"NOOP","magic":0,"more":[1]}', NoopKey()),
]


@pytest.mark.parametrize(("written", "key"), SPELLINGS)
def test_keys_of_other_registries_are_read_and_their_spelling_is_kept(written: bytes, key: Key) -> None:
    record = decode_record(written, None)
    assert record == RegistryRecord(key, None, written)
    assert encode_record(record) == (written, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b"{}"),
        (b"no JSON", b"{}"),
        (b"\xff\xfe", b"{}"),
        (b"[]", b"{}"),
        (b"[" * 100_000, b"{}"),
        (b"{}", b"{}"),
        (b'{"keytype":"ASSOC","magic":0}', b"{}"),
        (b'{"keytype":7,"magic":0}', b"{}"),
        (b'{"keytype":"CONFIG","subject":[],"magic":0}', b"{}"),
        (b'{"keytype":"CONTEXT","context":5,"magic":0}', b"{}"),
        (b'{"keytype":"DELETE_SUBJECT","magic":0}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":2}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":"1","magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":true,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":0,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":2147483648,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":' + b"9" * 5_000 + b',"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"\\ud800","version":1,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', b"[]"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', b"{"),
    ],
)
def test_what_no_registry_wrote_is_malformed(key: bytes | None, value: bytes) -> None:
    with pytest.raises(MalformedRecord):
        decode_record(key, value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"id": 1},
        {"id": 1, "schema": ""},
        {"id": 1, "schema": 5},
        {"id": "1", "schema": "x"},
        {"id": -1, "schema": "x"},
        {"id": 2**31, "schema": "x"},
        {"id": 1, "schema": "x", "schemaType": []},
        {"id": 1, "schema": "x", "references": {"a": 1}},
        {"id": 1, "schema": "x", "references": [5]},
        {"id": 1, "schema": "x", "references": [{"name": "n", "subject": "s", "version": None}]},
        {"id": 1, "schema": "x", "metadata": []},
        {"id": 1, "schema": "x", "metadata": {"tags": {"t": "x"}}},
        {"id": 1, "schema": "x", "metadata": {"properties": {"p": {}}}},
        {"id": 1, "schema": "x", "ruleSet": {"domainRules": {}}},
        {"id": 1, "schema": "x", "ruleSet": {"domainRules": [{"mode": "SOMETIMES"}]}},
        {"id": 1, "schema": "x", "ruleSet": {"enableAt": "NOON"}},
    ],
)
def test_a_schema_of_wrong_types_is_malformed(value: dict[str, Any]) -> None:
    with pytest.raises(MalformedRecord):
        subject_version_of(SchemaKey("s", 1), value)


@given(key=st.binary(max_size=80) | st.none(), value=st.binary(max_size=80) | st.none())
def test_bytes_of_any_kind_are_a_record_or_malformed(key: bytes | None, value: bytes | None) -> None:
    try:
        record = decode_record(key, value)
    except MalformedRecord:
        return
    assert encode_record(record)[0] == key


def test_the_hash_in_a_record_is_not_believed_where_it_can_be_computed() -> None:
    wrong = base64.b64encode(bytes(16)).decode()
    plain = subject_version_of(SchemaKey("s", 1), {"id": 1, "schema": '"string"', "md5": wrong})
    assert plain.entity.identity == AVRO.identity
    encoded = {"id": 1, "schema": '"string"', "md5": wrong, "metadata": {"properties": {"__enc__": "true", "p": "?"}}}
    assert subject_version_of(SchemaKey("s", 1), encoded).entity.fingerprint == bytes(16)
    for odd in ("not base64", 7, "AAAA"):
        version = subject_version_of(SchemaKey("s", 1), {**encoded, "md5": odd})
        assert version.entity.fingerprint not in (bytes(16), AVRO.fingerprint)


def test_equal_schemas_are_known_by_the_md5_of_what_they_are() -> None:
    plain = SchemaEntity.from_json({"schema": '"string"'})
    assert plain.fingerprint == hashlib.md5(b'"string"', usedforsecurity=False).digest()
    assert plain.guid == str(UUID(bytes=plain.fingerprint))
    with_all = hashlib.md5(
        b"{}" + b"ns" + (2).to_bytes(4, "big") + b"\1" + b"txy" + b"a1b2" + b"\1" + b"rCONDITIONWRITEREADCELtrue",
        usedforsecurity=False,
    )
    assert FULL.fingerprint == with_all.digest()
    others: list[dict[str, Any]] = [
        {},
        {"metadata": {}},
        {"schemaType": "JSON"},
        {"metadata": {"tags": {}}},
        {"metadata": None},
    ]
    identities = {SchemaEntity.from_json({"schema": '"string"', **more}).identity for more in others}
    assert len(identities) == 3
