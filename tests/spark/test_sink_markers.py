"""What markers say, and where they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.client.topic_partition import TopicPartition
from stoker.spark.sink_markers import LONGEST_METADATA, PARTITIONS, Marker, Names, RunMarker, room_for

_partitions = st.lists(
    st.builds(TopicPartition, st.sampled_from(["orders", "a.b-c_d", "0-1,2"]), st.integers(0, 300)), unique=True
)
_markers = st.builds(
    Marker,
    next_batch=st.integers(1, 2**62),
    rows=st.integers(0, 2**40),
    digest=st.integers(0, 2**64 - 1),
    run=st.none() | st.uuids().map(str),
    producer_id=st.integers(0, 2**62),
    producer_epoch=st.integers(0, 32_767),
    partitions=_partitions.map(sorted).map(tuple),
)


@given(_markers)
def test_a_marker_is_read_as_it_was_written(marker: Marker) -> None:
    assert Marker.from_text(marker.next_batch, marker.text()) == marker


@given(_markers)
def test_a_marker_without_room_for_its_partitions(marker: Marker) -> None:
    read = Marker.from_text(marker.next_batch, marker.text(limit=0))
    assert read.partitions is None
    assert (read.rows, read.digest, read.producer_id) == (marker.rows, marker.digest, marker.producer_id)


def test_many_partitions_fit_into_the_metadata_of_an_offset() -> None:
    partitions = tuple(TopicPartition(f"topic-{topic}", index) for topic in range(20) for index in range(1000))
    marker = Marker(next_batch=1, rows=1, digest=1, run="r", producer_id=1, producer_epoch=1, partitions=partitions)
    assert Marker.from_text(1, marker.text(limit=LONGEST_METADATA)).partitions == tuple(sorted(partitions))


def test_a_claim_is_read_as_it_was_written() -> None:
    claim = RunMarker(run="c", batch=7, redoes=True, tasks=15, earlier_runs=("a", "b"))
    assert RunMarker.from_text(7, claim.text()) == claim


def test_a_claim_remembers_the_last_runs_in_little_room() -> None:
    runs = tuple(f"{number:036}" for number in range(1000))
    claim = RunMarker(run="now", batch=0, redoes=False, tasks=15, earlier_runs=runs)
    assert len(claim.text()) < LONGEST_METADATA
    assert RunMarker.from_text(0, claim.text()).earlier_runs == runs[-20:]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rows": 1}', '{"producer": 1}', "null", "1"])
def test_what_is_no_marker(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Marker.from_text(1, text)
    with pytest.raises(ValueError, match=r"."):
        RunMarker.from_text(1, text)


def test_sinks_whose_names_begin_alike_share_no_place() -> None:
    """As of topics `orders` and `orders-1`, written in one foreachBatch."""
    places = [Names("orders").place(task) for task in range(100)]
    others = [Names("orders-1").run_place, *(Names("orders-1").place(task) for task in range(100))]
    assert not {*places} & {*others}


@given(st.integers(0, 10_000))
def test_every_task_has_a_place_of_its_own_that_the_claim_has_room_for(task: int) -> None:
    names = Names("query")
    room = room_for(task)
    assert task < room <= 2 * (task + PARTITIONS)
    assert 0 <= names.place(task).partition.partition < PARTITIONS
    assert names.place(task) not in {names.run_place, names.place(task + 1), names.place(task + PARTITIONS)}
