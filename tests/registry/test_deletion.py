"""Deleting versions, subjects and contexts, softly and for good."""

import pytest

from stoker.registry.errors import Unprocessable
from stoker.registry.registry import LATEST
from stoker.registry.settings import Mode
from tests.registry.schema_log import ONE, REFERS, THREE, TWO, SchemaLog, refusal, replayed, to_r


@pytest.fixture
def log() -> SchemaLog:
    return SchemaLog()


def test_a_schema_that_was_softly_deleted_comes_back_with_its_id_and_a_new_version(log: SchemaLog) -> None:
    log.register("a", ONE)
    log.register("a", TWO)
    log.delete("a")
    assert log.register("a", ONE) == (1, 3)
    assert list(log.registry.state.subjects["a"].versions) == [2, 3], "the deleted one of the same id is gone for good"


def test_a_number_is_given_again_only_if_the_highest_was_deleted_for_good(log: SchemaLog) -> None:
    for text in (ONE, TWO):
        log.register("a", text)
    log.delete("a", 2)
    log.delete("a", 2, permanent=True)
    assert log.register("a", THREE) == (3, 2), "but never an id"


@pytest.mark.parametrize(
    ("number", "permanent", "code", "message"),
    [
        (1, False, 40406, "Subject 'a' Version 1 was soft deleted.Set permanent=true to delete permanently"),
        (2, True, 40407, "Subject 'a' Version 2 was not deleted first before being permanently deleted"),
        (LATEST, True, 40407, "Subject 'a' Version 2 was not deleted first before being permanently deleted"),
        (3, False, 40402, "Version 3 not found."),
    ],
)
def test_a_version_that_cannot_be_deleted(
    log: SchemaLog, number: int, permanent: bool, code: int, message: str
) -> None:
    log.register("a", ONE)
    log.register("a", TWO)
    log.delete("a", 1)
    refusal(code, message, lambda: log.delete("a", number, permanent=permanent))
    refusal(40401, "Subject 'x' not found.", lambda: log.delete("x", number, permanent=permanent))


def test_a_subject_that_cannot_be_deleted(log: SchemaLog) -> None:
    refusal(40401, "Subject 'a' not found.", lambda: log.delete("a"))
    log.register("a", ONE)
    refusal(
        40405,
        "Subject 'a' was not deleted first before being permanently deleted",
        lambda: log.delete("a", permanent=True),
    )
    assert log.delete("a") == [1]
    refusal(40404, "Subject 'a' was soft deleted.Set permanent=true to delete permanently", lambda: log.delete("a"))
    refusal(40402, "Version -1 not found.", lambda: log.delete("a", LATEST))
    assert log.delete("a", permanent=True) == [1]
    refusal(40401, "Subject 'a' not found.", lambda: log.delete("a", permanent=True))
    assert log.registry.state.schema(".", 1) is None


def test_the_latest_version_can_be_deleted_as_such(log: SchemaLog) -> None:
    log.register("a", ONE)
    log.register("a", TWO)
    assert log.delete("a", LATEST) == 2
    assert log.delete("a", LATEST) == 1


def test_what_was_deleted_with_a_subject_stays_deleted_when_compaction_keeps_the_last_deletion_alone(
    log: SchemaLog,
) -> None:
    for text in (ONE, TWO, THREE):
        log.register("a", text)
    log.delete("a")
    log.set_mode("a", Mode.IMPORT, force=True)
    log.register("a", ONE, schema_id=1, version=1)
    assert log.delete("a") == [1]
    versions = replayed(log.compacted()).state.subjects["a"].versions.values()
    assert [version.deleted for version in versions] == [True, True, True]


@pytest.mark.parametrize("by_subject", [True, False])
def test_what_is_referred_to_stays(log: SchemaLog, by_subject: bool) -> None:
    number = None if by_subject else 1
    message = "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=r,version=1}."
    log.register("r", ONE)
    log.register("b", REFERS, references=to_r())
    refusal(42206, message, lambda: log.delete("r", number))
    log.delete("b")
    assert log.registry.referrers("r", 1) == []
    assert log.registry.referrers("r", 1, deleted=True) == [2]
    log.delete("r", number)
    refusal(42206, message, lambda: log.delete("r", number, permanent=True))
    log.delete("b", permanent=True)
    log.delete("r", number, permanent=True)
    assert not log.registry.state.subjects


def test_what_is_softly_deleted_and_referred_to_is_not_replaced_by_the_same_schema(log: SchemaLog) -> None:
    log.register("r", ONE)
    log.register("b", REFERS, references=to_r())
    log.delete("b")
    log.delete("r")
    assert log.register("r", ONE) == (1, 2)
    assert list(log.registry.state.subjects["r"].versions) == [1, 2]


def test_a_subject_may_refer_to_itself_and_be_deleted(log: SchemaLog) -> None:
    log.configure("r", compatibility="NONE")
    log.register("r", ONE)
    log.register("r", REFERS, references=to_r())
    assert log.delete("r") == [1, 2]
    assert log.delete("r", permanent=True) == [1, 2]


def test_the_settings_of_a_subject_go_with_its_last_version_for_good(log: SchemaLog) -> None:
    for by_subject in (True, False):
        number = None if by_subject else 1
        log.register("a", ONE)
        log.configure("a", compatibility="FULL")
        log.set_mode("a", Mode.READWRITE)
        log.delete("a", number)
        assert ("a" in log.registry.state.configs, "a" in log.registry.state.modes) == (True, True)
        log.delete("a", number, permanent=True)
        assert ("a" in log.registry.state.configs, "a" in log.registry.state.modes) == (False, False)


@pytest.mark.parametrize("number", [None, 1])
def test_nothing_is_deleted_from_what_is_read_only(log: SchemaLog, number: int | None) -> None:
    log.register("a", ONE)
    log.set_mode("a", Mode.READONLY)
    refusal(42205, "Subject a in context  is in read-only mode", lambda: log.delete("a", number))


def test_a_context_without_subjects_can_be_deleted(log: SchemaLog) -> None:
    log.register(":.c:a", ONE)
    refusal(42211, "The specified context ':.c:' is not empty.", lambda: log.write(log.registry.delete_context(".c")))
    log.delete(":.c:a")
    with pytest.raises(Unprocessable):
        log.registry.delete_context(".c")
    log.delete(":.c:a", permanent=True)
    assert ".c" in log.registry.state.contexts
    log.write(log.registry.delete_context(".c"))
    log.write(log.registry.delete_context(".never"))
    assert set(log.registry.state.contexts) == {"."}
