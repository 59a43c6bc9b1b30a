"""Which schemas count, by the records of a registry."""

import base64
import json

import pytest

from stoker.broker.schema_ids import KnownSchemas, SchemaIds, Subjects

ORDERS = Subjects("orders-value")
OF_ORDERS = Subjects("orders-", is_prefix=True)
ANY = Subjects("", is_prefix=True)
GUID = bytes(range(16))

Change = tuple[object, object]


def schema(subject: str, version: int, schema_id: int, **fields: object) -> Change:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {"subject": subject, "version": version, "id": schema_id, "schema": '"int"', "deleted": False, **fields}
    return key, value


def gone(subject: str, version: int) -> Change:
    return {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}, None


def delete_subject(subject: str, version: int) -> Change:
    key = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
    return key, {"subject": subject, "version": version}


def encoded(part: object) -> bytes | None:
    return part if part is None or isinstance(part, bytes) else json.dumps(part).encode()


def replayed(*changes: Change) -> SchemaIds:
    schemas = SchemaIds()
    for key, value in changes:
        assert schemas.replay(encoded(key), encoded(value)), (key, value)
    return schemas


def ids(known: KnownSchemas) -> set[int]:
    assert all(each[:1] == b"\0" and len(each) == 5 for each in known.by_id)
    return {int.from_bytes(each[1:]) for each in known.by_id}


ONE = schema("orders-value", 1, 1)
TWO = schema("orders-value", 2, 2)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], set()),
        ([ONE], {1}),
        ([ONE, TWO], {1, 2}),
        ([ONE, TWO, schema("orders-value", 1, 1, deleted=True)], {2}),
        ([schema("orders-value", 1, 1, deleted=True), ONE], {1}),
        ([ONE, schema("orders-value", 1, 1, deleted=True), gone("orders-value", 1)], set()),
        ([ONE, TWO, delete_subject("orders-value", 1)], {2}),
        ([ONE, TWO, delete_subject("orders-value", 2)], set()),
        ([ONE, delete_subject("orders-value", 1), TWO], {2}),
        ([ONE, (delete_subject("orders-value", 1)[0], None)], {1}),
        ([delete_subject("orders-value", 3)], set()),
        ([ONE, schema("orders-value", 2, 1), gone("orders-value", 2)], {1}),
        ([ONE, schema("orders-key", 1, 7), schema("other-value", 1, 8)], {1}),
        ([schema(":.staging:orders-value", 1, 9)], set()),
        ([ONE, delete_subject(":.staging:orders-value", 5)], {1}),
        ([schema(":.:orders-value", 1, 9)], {9}),
        ([schema("orders-value", 1, 2**31 - 1)], {2**31 - 1}),
        ([ONE, ({"keytype": "NOOP", "magic": 0}, None), ({"keytype": "CONFIG", "magic": 0}, {"x": 1})], {1}),
        ([ONE, ({"keytype": "CLEAR_SUBJECT", "subject": "orders-value"}, {"subject": "orders-value"})], {1}),
        ([ONE, ({"keytype": "OF_A_LATER_RELEASE"}, b"no json")], {1}),
    ],
)
def test_ids_of_a_subject(changes: list[Change], expected: set[int]) -> None:
    """Versions that were deleted, softly or for good, do not count, nor do other contexts."""
    assert ids(replayed(*changes).known(ORDERS)) == expected


def test_ids_of_many_subjects() -> None:
    schemas = replayed(
        ONE, schema("orders-com.shop.Order", 1, 3), schema("payments-value", 1, 4), schema(":.a:orders-x", 1, 5)
    )
    assert ids(schemas.known(OF_ORDERS)) == {1, 3}
    assert ids(schemas.known(ANY)) == {1, 3, 4}
    assert [str(each) for each in (ORDERS, OF_ORDERS, ANY)] == [
        "the subject orders-value",
        "a subject that begins with orders-",
        "any subject",
    ]


@pytest.mark.parametrize(
    ("md5", "expected"),
    [
        (base64.b64encode(GUID).decode(), {b"\1" + GUID}),
        (None, set()),
        (17, set()),
        ("", set()),
        ("%%%", set()),
        ("ü", set()),
        (base64.b64encode(GUID[:-1]).decode(), set()),
        (base64.b64encode(GUID * 3).decode(), set()),
    ],
)
def test_the_md5_of_a_schema_is_its_guid(md5: object, expected: set[bytes]) -> None:
    """Without one that can be read, the schema is known by its id alone."""
    known = replayed(schema("orders-value", 1, 1, md5=md5)).known(ORDERS)
    assert known.by_guid == expected
    assert ids(known) == {1}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"", None),
        (b"\xff\xfe", b"{}"),
        (b"[]", b"{}"),
        (b"7", b"{}"),
        (b"null", b"{}"),
        (b"{}", b"{}"),
        (b"[" * 100_000, b"{}"),
        (ONE[0], b"no json"),
        (ONE[0], b"[]"),
        (ONE[0], b"[1]"),
        (ONE[0], b"7"),
        (ONE[0], b"{}"),
        (ONE[0], {"id": "one"}),
        (ONE[0], {"id": None}),
        (ONE[0], {"id": -1}),
        (ONE[0], {"id": 2**32}),
        (ONE[0], b'{"id": 1e999}'),
        (ONE[0], b'{"id": ' + b"9" * 10_000 + b"}"),
        (ONE[0], b'{"id":' * 100_000),
        ({"keytype": "SCHEMA", "subject": "orders-value"}, ONE[1]),
        ({"keytype": "SCHEMA", "version": 1}, ONE[1]),
        ({"keytype": "SCHEMA", "subject": "orders-value", "version": "x"}, ONE[1]),
        ({"keytype": "DELETE_SUBJECT", "subject": "orders-value"}, {}),
    ],
)
def test_what_no_registry_wrote_is_left_out(key: object, value: object) -> None:
    """It says so, and what was known before still is."""
    schemas = replayed(TWO)
    assert not schemas.replay(encoded(key), encoded(value))
    assert ids(schemas.known(ORDERS)) == {2}
