"""Which records of a batch are refused, and in which words: one by one, and by columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.broker.schema_id_check import check_schema_ids, is_quickly_checked, problems_of
from stoker.broker.schema_id_columns import problems_by_columns
from stoker.broker.schema_ids import KnownSchemas, SchemaRule, SchemaRules, Subjects
from stoker.log.errors import AppendRefused
from stoker.log.validation import MAX_RECORDS_READ
from stoker.wire.compression import Codec, compress
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import HEADER_SIZE, BatchHeader, Record, build_batch, read_header

ID = b"\0\0\0\0\7"
OTHER_ID = b"\0\0\0\1\0"
UNKNOWN_ID = b"\0\0\0\0\x08"
GUID = b"\1" + bytes(range(16))
UNKNOWN_GUID = b"\1" + bytes(16)
KNOWN = KnownSchemas(frozenset({ID, OTHER_ID}), frozenset({GUID}))
OF_VALUES = (SchemaRule(False, Subjects("orders-value"), KNOWN),)
OF_KEYS = (SchemaRule(True, Subjects("orders-key"), KNOWN),)
OF_BOTH = (*OF_KEYS, *OF_VALUES)
NO_ID = "not with 00 and a schema id of 4 bytes: was it written without a registry's serializer?"
HEADER = "__value_schema_id"


def refusal_of(batch: memoryview, header: BatchHeader, rules: SchemaRules) -> AppendRefused | None:
    try:
        check_schema_ids(batch, header, rules)
    except AppendRefused as refusal:
        return refusal
    return None


def refused(
    records: list[Record], rules: SchemaRules = OF_VALUES, codec: Codec = Codec.NONE
) -> tuple[str, dict[int, str | None]]:
    """What is said of the batch, and of each record; nothing if it is taken."""
    batch = memoryview(build_batch(records, codec=codec))
    refusal = refusal_of(batch, read_header(batch), rules)
    if refusal is None:
        return "", {}
    assert refusal.error_code is ErrorCode.INVALID_RECORD
    return refusal.message, dict(refusal.record_errors)


CASES: list[tuple[Record, SchemaRules, str]] = [
    (Record(value=ID + b"data"), OF_VALUES, ""),
    (Record(value=OTHER_ID + b"data"), OF_VALUES, ""),
    (Record(value=ID), OF_VALUES, ""),
    (Record(value=GUID + b"data"), OF_VALUES, ""),
    (Record(key=b"any", value=ID), OF_VALUES, ""),
    (Record(key=b"any", value=None), OF_VALUES, ""),
    (Record(key=None, value=b"any"), OF_KEYS, ""),
    (Record(key=ID, value=b"any"), OF_KEYS, ""),
    (Record(key=ID, value=ID), OF_BOTH, ""),
    (Record(), OF_BOTH, ""),
    (Record(value=ID, headers=[("trace", b"x"), ("empty", None)]), OF_VALUES, ""),
    (Record(value=b"{}", headers=[("trace", b"x"), (HEADER, GUID)]), OF_VALUES, ""),
    (Record(value=b"{}", headers=[(HEADER, GUID + b"\0")]), OF_VALUES, ""),
    (Record(value=b"{}", headers=[(HEADER, ID)]), OF_VALUES, ""),
    (Record(value=b"", headers=[(HEADER, GUID)]), OF_VALUES, ""),
    (Record(value=ID, headers=[(HEADER, None)]), OF_VALUES, ""),
    (Record(value=None, headers=[(HEADER, UNKNOWN_GUID)]), OF_VALUES, ""),
    (Record(key=b"k", value=ID, headers=[("__key_schema_id", GUID)]), OF_BOTH, ""),
    (Record(value=UNKNOWN_ID + b"x"), OF_VALUES, "schema id 8 of the value is not registered under the subject orders-value"),
    (Record(key=UNKNOWN_ID), OF_KEYS, "schema id 8 of the key is not registered under the subject orders-key"),
    (Record(value=b'{"a":1}'), OF_VALUES, f"the value begins with 7b 22 61 22 3a 31 7d, {NO_ID}"),
    (Record(value=b'{"amount":1}'), OF_VALUES, f"the value begins with 7b 22 61 6d 6f 75 6e 74..., {NO_ID}"),
    (Record(value=ID[:4]), OF_VALUES, f"the value begins with 00 00 00 00, {NO_ID}"),
    (Record(value=GUID[:16]), OF_VALUES, f"the value begins with 01 00 01 02 03 04 05 06..., {NO_ID}"),
    (Record(value=b"\2" + ID[1:]), OF_VALUES, f"the value begins with 02 00 00 00 07, {NO_ID}"),
    (Record(value=b""), OF_VALUES, "the value is empty: it must begin with 00 and a schema id of 4 bytes"),
    (Record(key=b"k", value=b"v"), OF_BOTH, f"the key begins with 6b, {NO_ID}"),
    (Record(key=ID, value=b"v"), OF_BOTH, f"the value begins with 76, {NO_ID}"),
    (Record(value=b"{}", headers=[("__key_schema_id", GUID)]), OF_VALUES, f"the value begins with 7b 7d, {NO_ID}"),
    (
        Record(value=ID, headers=[(HEADER, UNKNOWN_GUID)]),
        OF_VALUES,
        f"schema guid {'00' * 16} of the header {HEADER} is not registered under the subject orders-value",
    ),
    (
        Record(value=ID, headers=[(HEADER, GUID), (HEADER, b"x")]),
        OF_VALUES,
        f"the header {HEADER} begins with 78, {NO_ID}",
    ),
    (
        Record(value=ID, headers=[(HEADER, b"")]),
        OF_VALUES,
        f"the header {HEADER} is empty: it must begin with 00 and a schema id of 4 bytes",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "rules", "problem"), CASES)
def test_a_record(record: Record, rules: SchemaRules, problem: str) -> None:
    """By itself, and in the middle of a batch that is large enough to be read by columns."""
    message, errors = refused([record], rules)
    assert errors == ({0: problem} if problem else {})
    assert message.endswith(f"record 0: {problem}" if problem else "")
    good = Record(key=ID, value=ID + b"x" * 50)
    message, errors = refused([*[good] * 400, record, *[good] * 100], rules)
    assert errors == ({400: problem} if problem else {})
    assert message == (
        f"1 of 501 records do not name a schema that this topic takes; record 400: {problem}" if problem else ""
    )


contents = st.one_of(
    st.none(),
    st.sampled_from([ID, OTHER_ID, UNKNOWN_ID, GUID, UNKNOWN_GUID, ID + b"data", b"", b"\0", b"x" * 200]),
    st.binary(max_size=20),
)
headers = st.lists(
    st.tuples(st.sampled_from(["a", HEADER, "__key_schema_id"]), st.one_of(st.none(), contents)), max_size=2
)
records = st.builds(Record, timestamp=st.integers(0, 2**40), key=contents, value=contents, headers=headers.map(tuple))


@settings(max_examples=200)
@given(
    st.lists(records, min_size=1, max_size=20), st.sampled_from([OF_VALUES, OF_KEYS, OF_BOTH]), st.sampled_from(Codec)
)
def test_the_same_records_are_refused_one_by_one_and_by_columns(
    made: list[Record], rules: SchemaRules, codec: Codec
) -> None:
    expected = {
        index: problem
        for index, record in enumerate(made)
        for problem in problems_of(rules, record.key, record.value, record.headers)
    }
    assert refused(made, rules, codec)[1] == expected
    body = build_batch(made)[HEADER_SIZE:]
    assert dict(problems_by_columns(body, len(made), rules)) == expected


@settings(max_examples=200)
@given(st.lists(records, min_size=1, max_size=5), st.data())
def test_damaged_records_are_refused_and_nothing_else_happens(made: list[Record], data: st.DataObject) -> None:
    """The checksum only says that the producer sent it so. Either way of reading ends in words or in AppendRefused."""
    batch = bytearray(build_batch(made))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(HEADER_SIZE, len(batch) - 1))] = data.draw(st.integers(0, 255))
    view = memoryview(batch)
    alone = refusal_of(view, read_header(view), OF_BOTH)
    many = memoryview(build_batch([Record(key=ID, value=ID + b"x" * 99)] * 400))
    beside = bytearray(many) + batch[HEADER_SIZE:]
    header = read_header(many)._replace(record_count=400 + len(made), batch_length=len(beside) - 12)
    among_others = refusal_of(memoryview(beside), header, OF_BOTH)
    assert {each.error_code for each in (alone, among_others) if each is not None} <= {ErrorCode.INVALID_RECORD}


def test_every_record_that_is_wrong_is_named() -> None:
    """Up to as many as librdkafka puts into a batch; a hundred with words of their own."""
    message, errors = refused([Record(value=ID if number % 3 else b"x") for number in range(12_000)])
    assert list(errors) == list(range(0, 12_000, 3))
    assert [index for index, problem in errors.items() if problem is not None] == list(range(0, 300, 3))
    assert message.startswith("4000 of 12000 records do not name a schema that this topic takes; record 0: ")
    message, errors = refused([Record(value=b"x")] * 12_000)
    assert list(errors) == list(range(10_000))
    assert message.startswith("10000 or more of 12000 records ")


def test_headers_that_all_differ_are_read_too() -> None:
    made = [Record(value=b"{}", headers=[("number", b"%d" % number), (HEADER, GUID)]) for number in range(3000)]
    made[2500] = Record(value=b"{}", headers=[("number", b"2500"), (HEADER, UNKNOWN_GUID)])
    assert list(refused(made)[1]) == [2500]


def test_ids_that_all_differ() -> None:
    made = [Record(value=b"\0" + number.to_bytes(4) + b"x" * 20) for number in range(5000)]
    _, errors = refused(made)
    assert len(errors) == 4998
    assert not {7, 256} & errors.keys()


def test_more_records_than_anyone_reads() -> None:
    batch = memoryview(build_batch([Record(value=ID)]))
    header = read_header(batch)._replace(record_count=MAX_RECORDS_READ + 1)
    with pytest.raises(
        AppendRefused, match="are more than the 1000000 that a batch may have where schemas are validated"
    ):
        check_schema_ids(batch, header, OF_VALUES)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.SNAPPY])
def test_a_batch_that_unpacks_to_more_than_it_may(codec: Codec) -> None:
    packed = compress(codec, np.zeros(129 * 1024 * 1024, dtype=np.uint8).tobytes()) if codec else bytes(100)
    batch = memoryview(build_batch([Record(value=ID)], codec=codec))
    bomb = bytes(batch[:HEADER_SIZE]) + packed
    with pytest.raises(AppendRefused) as refusal:
        check_schema_ids(memoryview(bomb), read_header(batch), OF_VALUES)
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (build_batch([Record(value=ID)]), True),
        (build_batch([Record(value=bytes(16_000))]), True),
        (build_batch([Record(value=bytes(17_000))]), False),
        (build_batch([Record(value=ID)], codec=Codec.LZ4), False),
        (b"", True),
        (bytes(HEADER_SIZE - 1), True),
    ],
)
def test_what_the_event_loop_may_read_itself(batch: bytes, expected: bool) -> None:
    assert is_quickly_checked(memoryview(batch)) is expected
