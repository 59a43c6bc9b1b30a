"""The tables that users plan changes by: which change of a schema each level of compatibility allows.

BACKWARD means that the new schema reads what was written with the old one, so consumers are upgraded first; FORWARD that the
old schema reads what is written with the new one, so producers are; FULL means both. Tables that have it the other way round,
call every rename and every change of a type breaking, or allow only fields with a default to be removed under BACKWARD, are
wrong.
"""

import pytest

from stoker.registry.formats import avro
from stoker.registry.formats.schema import Incompatibility


def order(*fields: str) -> avro.AvroSchema:
    return avro.parse(f'{{"type":"record","name":"Order","fields":[{",".join(fields)}]}}', {})


def backward(old: avro.AvroSchema, new: avro.AvroSchema) -> list[Incompatibility]:
    return new.incompatibilities(old)


def forward(old: avro.AvroSchema, new: avro.AvroSchema) -> list[Incompatibility]:
    return old.incompatibilities(new)


ID = '{"name":"id","type":"string"}'
AMOUNT = '{"name":"amount","type":"int"}'
OPTIONAL_REGION = '{"name":"region","type":"string","default":"US"}'
NULLABLE_REGION = '{"name":"region","type":["null","string"],"default":null}'
REQUIRED_REGION = '{"name":"region","type":"string"}'
RENAMED_ID = '{"name":"order_id","type":"string"}'
RENAMED_ID_WITH_DEFAULT = '{"name":"order_id","type":"string","default":""}'
ALIASED_ID = '{"name":"order_id","type":"string","aliases":["id"]}'

CHANGES = [
    # what is changed, the old fields, the new ones, BACKWARD, FORWARD
    ("nothing", [ID, AMOUNT], [ID, AMOUNT], True, True),
    ("add a field with a default", [ID], [ID, OPTIONAL_REGION], True, True),
    ("add a nullable field with the default null", [ID], [ID, NULLABLE_REGION], True, True),
    ("add a field without a default", [ID], [ID, REQUIRED_REGION], False, True),
    ("remove a field with a default", [ID, OPTIONAL_REGION], [ID], True, True),
    ("remove a field without a default", [ID, REQUIRED_REGION], [ID], True, False),
    ("rename a field", [ID], [RENAMED_ID], False, False),
    ("rename a field, and give it a default", [ID], [RENAMED_ID_WITH_DEFAULT], True, False),
    ("rename a field, and keep the old name as an alias", [ID], [ALIASED_ID], True, False),
    ("int to long", [AMOUNT], [AMOUNT.replace("int", "long")], True, False),
    ("long to int", [AMOUNT.replace("int", "long")], [AMOUNT], False, True),
    ("int to string", [AMOUNT], [AMOUNT.replace("int", "string")], False, False),
    ("a required field becomes nullable", [AMOUNT], [AMOUNT.replace('"int"', '["null","int"]')], True, False),
    ("another order of the fields", [ID, AMOUNT], [AMOUNT, ID], True, True),
]


@pytest.mark.acceptance("B110", "B111", "B112", "B115")
@pytest.mark.parametrize(
    ("old", "new", "is_backward", "is_forward"), [pytest.param(*case[1:], id=case[0]) for case in CHANGES]
)
def test_what_each_level_allows(old: list[str], new: list[str], is_backward: bool, is_forward: bool) -> None:
    """BACKWARD: the new Avro schema reads old data; FORWARD: the old one reads new data; FULL: both."""
    assert (backward(order(*old), order(*new)) == []) is is_backward
    assert (forward(order(*old), order(*new)) == []) is is_forward


@pytest.mark.acceptance("B121")
@pytest.mark.parametrize("region", [OPTIONAL_REGION, NULLABLE_REGION])
def test_an_optional_field_may_be_added_under_full(region: str) -> None:
    """Adding a field with a default to an Avro schema is compatible in both directions."""
    assert backward(order(ID), order(ID, region)) == forward(order(ID), order(ID, region)) == []


@pytest.mark.acceptance("B122")
def test_any_field_may_be_removed_under_backward() -> None:
    """Removing a field is BACKWARD compatible, with a default or without; for FORWARD it must have had one."""
    assert backward(order(ID, REQUIRED_REGION), order(ID)) == []
    (reason,) = forward(order(ID, REQUIRED_REGION), order(ID))
    assert reason.rule == "READER_FIELD_MISSING_DEFAULT_VALUE"
    assert forward(order(ID, OPTIONAL_REGION), order(ID)) == []


@pytest.mark.acceptance("B123")
def test_a_new_field_needs_a_default_under_backward() -> None:
    """A new field without a default breaks BACKWARD, and the reason names the field."""
    assert backward(order(ID), order(ID, REQUIRED_REGION)) == [
        Incompatibility(
            "READER_FIELD_MISSING_DEFAULT_VALUE",
            "/fields/1",
            "field region of the reader's record Order has no default and is missing in the writer's",
        )
    ]


@pytest.mark.acceptance("B124", "S109")
def test_an_alias_makes_a_rename_safe_for_new_readers() -> None:
    """A rename is a removal and an addition; with the old name as an alias it is BACKWARD compatible, but not FORWARD."""
    fields = (
        "{\n"
        '"name": "customer_identifier", // new name\n'
        '"aliases": ["customer_id"], // old name — Avro maps it\n'
        '"type": "string"\n'
        "}"
    )
    old, aliased = order('{"name":"customer_id","type":"string"}'), order(fields)
    assert [reason.rule for reason in backward(old, order(RENAMED_ID))] == ["READER_FIELD_MISSING_DEFAULT_VALUE"]
    assert backward(old, aliased) == []
    assert [reason.rule for reason in forward(old, aliased)] == ["READER_FIELD_MISSING_DEFAULT_VALUE"]


@pytest.mark.acceptance("B125")
def test_only_some_changes_of_a_type_break() -> None:
    """int to string breaks readers; int to long is one of Avro's promotions, so BACKWARD allows it and FORWARD does not."""
    as_long, as_string = AMOUNT.replace("int", "long"), AMOUNT.replace("int", "string")
    assert [reason[:2] for reason in backward(order(AMOUNT), order(as_string))] == [("TYPE_MISMATCH", "/fields/0/type")]
    assert backward(order(AMOUNT), order(as_long)) == []
    assert [reason.rule for reason in forward(order(AMOUNT), order(as_long))] == ["TYPE_MISMATCH"]


USER_EVENT = (
    '{"type":"record","name":"UserEvent","fields":[{"name":"user_id","type":"string"},'
    '{"name":"event_type","type":"string"},{"name":"amount","type":["null","double"],"default":null}]}'
)


def test_a_rename_is_caught_under_full() -> None:
    old = avro.parse(USER_EVENT, {})
    new = avro.parse(USER_EVENT.replace('{"name":"user_id",', '{"name":"userId","default":"",'), {})
    assert backward(old, new) == []
    assert [reason[:2] for reason in forward(old, new)] == [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0")]


def test_dropping_a_field_with_a_default_is_caught_by_no_level() -> None:
    old = avro.parse(USER_EVENT, {})
    new = avro.parse(USER_EVENT.replace(',{"name":"amount","type":["null","double"],"default":null}', ""), {})
    assert backward(old, new) == forward(old, new) == []


ORDER_1 = """\
// Schema version 1 — initial
{
"type": "record",
"name": "Order",
"namespace": "com.example",
"fields": [
{"name": "id", "type": "string"},
{"name": "customerId", "type": "string"},
{"name": "amount", "type": "double"},
{"name": "createdAt", "type": "long", "logicalType": "timestamp-millis"}
]
}
"""
ORDER_2 = """\
// Schema version 2 — BACKWARD compatible additions
// Added optional field "region" with default (safe to add in BACKWARD mode)
{
"type": "record",
"name": "Order",
"namespace": "com.example",
"fields": [
{"name": "id", "type": "string"},
{"name": "customerId", "type": "string"},
{"name": "amount", "type": "double"},
{"name": "createdAt", "type": "long", "logicalType": "timestamp-millis"},
{"name": "region", "type": ["null", "string"], "default": null}
]
}
"""


@pytest.mark.acceptance("S105", "S106")
def test_two_versions_with_comments() -> None:
    """Comments are allowed in an Avro schema, a logicalType beside the type is kept, and version 2 is FULL compatible."""
    first, second = avro.parse(ORDER_1, {}), avro.parse(ORDER_2, {})
    assert first.name == "com.example.Order"
    assert first.text == (
        '{"type":"record","name":"Order","namespace":"com.example","fields":[{"name":"id","type":"string"},'
        '{"name":"customerId","type":"string"},{"name":"amount","type":"double"},'
        '{"name":"createdAt","type":"long","logicalType":"timestamp-millis"}]}'
    )
    assert backward(first, second) == forward(first, second) == []
