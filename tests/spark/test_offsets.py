import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.client.topic_partition import TopicPartition
from stoker.spark.offsets import MalformedOffsets, Offsets, QueryOffset, parse_offsets, parse_partitions, shown

offsets = st.dictionaries(
    st.builds(TopicPartition, st.from_regex(r"[a-zA-Z0-9._-]{1,10}", fullmatch=True), st.integers(0, 2**31 - 1)),
    st.integers(0, 2**63 - 1),
    max_size=8,
)


@given(offsets, offsets, st.booleans())
def test_what_is_written_is_read_back(places: Offsets, begins: Offsets, is_initial: bool) -> None:
    written = QueryOffset(places, begins, is_initial)
    assert QueryOffset.from_json(json.loads(json.dumps(written.to_json()))) == written


@given(offsets, st.randoms(use_true_random=False))
def test_the_text_does_not_depend_on_the_order(places: Offsets, random: object) -> None:
    mixed = list(places.items())
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert json.dumps(QueryOffset(dict(mixed)).to_json()) == json.dumps(QueryOffset(places).to_json())


def test_partitions_stand_in_the_order_of_their_numbers() -> None:
    places = {TopicPartition("orders", partition): partition for partition in (10, 9, 0)}
    assert list(QueryOffset(places).to_json()["orders"]) == ["0", "9", "10"]


def test_offsets_that_sparks_own_source_wrote_are_read() -> None:
    assert QueryOffset.from_json({"orders": {"1": 7, "0": 23}}) == QueryOffset(
        {TopicPartition("orders", 0): 23, TopicPartition("orders", 1): 7}
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "where an object is expected"),
        ('{"orders": 5}', "where an object is expected"),
        ('{"orders": {"x": 5}}', "'x' is no number of a partition"),
        ('{"orders": {"4294967296": 5}}', "no number of a partition"),
        ('{"orders": {"0": "5"}}', "'5' of orders 0 is no whole number from 0 on"),
        ('{"orders": {"0": true}}', "no whole number"),
        ('{"orders": {"0": -1}}', "-1 of orders 0 is no whole number from 0 on"),
        ('{"orders": {"0": 9223372036854775808}}', "no whole number"),
    ],
)
def test_other_texts_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(MalformedOffsets, match=complaint):
        parse_offsets(text)


def test_partitions_of_an_assignment() -> None:
    assert parse_partitions('{"b": [1, 0, 1], "a": [2]}') == (("a", 2), ("b", 0), ("b", 1))


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": ["0"]}', '{"a": [-1]}', "5"])
def test_other_assignments_are_refused(text: str) -> None:
    with pytest.raises(MalformedOffsets):
        parse_partitions(text)


def test_many_partitions_are_shown_in_part() -> None:
    assert shown(TopicPartition("t", number) for number in range(12)) == (
        "t-0, t-1, t-2, t-3, t-4, t-5, t-6, t-7, t-8, t-9 and 2 more"
    )
