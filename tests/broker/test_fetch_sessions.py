from random import Random

import pytest

from stoker.broker import fetch_sessions
from stoker.broker.fetch_sessions import FetchSession, FetchSessions, SessionPartition
from stoker.wire.error_codes import ErrorCode

NOW_MS = 1_000_000
MINUTE_MS = 60_000


def partition(topic: str = "orders", index: int = 0, fetch_offset: int = 0) -> SessionPartition:
    return SessionPartition(topic=topic, index=index, fetch_offset=fetch_offset, max_bytes=1000)


def opened(sessions: FetchSessions, *partitions: SessionPartition, now_ms: int = NOW_MS) -> FetchSession:
    session = sessions.open(list(partitions), now_ms)
    assert session is not None
    return session


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(2, Random(1))


def test_the_first_request_of_a_session_has_epoch_1(sessions: FetchSessions) -> None:
    session = opened(sessions, partition())
    assert (session.id > 0, session.epoch) == (True, 1)
    assert sessions.resume(session.id, 1, NOW_MS, wanted=[]) is session
    assert session.epoch == 2


@pytest.mark.parametrize("epoch", [0, 2, 3, 2**31 - 1])
def test_a_request_out_of_turn_is_refused(sessions: FetchSessions, epoch: int) -> None:
    session = opened(sessions, partition())
    assert sessions.resume(session.id, epoch, NOW_MS, wanted=[]) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session.epoch == 1


def test_epochs_start_over_at_1(sessions: FetchSessions) -> None:
    session = opened(sessions, partition())
    session.epoch = 2**31 - 1
    assert sessions.resume(session.id, 2**31 - 1, NOW_MS, wanted=[]) is session
    assert session.epoch == 1


def test_an_unknown_session_is_refused(sessions: FetchSessions) -> None:
    session = opened(sessions, partition())
    sessions.close(session.id)
    assert sessions.resume(session.id, 1, NOW_MS, wanted=[]) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_later_requests_add_move_and_forget_partitions(sessions: FetchSessions) -> None:
    session = opened(sessions, partition(index=0), partition(index=1))
    session.partitions["orders", 0].told_high_watermark = 7
    sessions.resume(
        session.id,
        1,
        NOW_MS,
        wanted=[partition(index=0, fetch_offset=5), partition(index=2)],
        forgotten=[("orders", 1), ("orders", 9)],
    )
    assert [(each.index, each.fetch_offset) for each in session.partitions.values()] == [(0, 5), (2, 0)]
    assert session.partitions["orders", 0].told_high_watermark == 7


def test_who_was_served_goes_to_the_back_unless_forgotten(sessions: FetchSessions) -> None:
    session = opened(sessions, partition(index=0), partition(index=1))
    session.served(("orders", 0))
    assert [index for _, index in session.partitions] == [1, 0]
    session.served(("orders", 5))


def test_a_full_house_refuses_until_one_has_been_idle_for_two_minutes(sessions: FetchSessions) -> None:
    idle, busy = opened(sessions, partition()), opened(sessions, partition())
    assert sessions.open([partition()], NOW_MS + 2 * MINUTE_MS - 1) is None

    sessions.resume(busy.id, 1, NOW_MS + MINUTE_MS, wanted=[])
    opened(sessions, partition(), now_ms=NOW_MS + 2 * MINUTE_MS)
    assert len(sessions) == 2
    assert sessions.resume(idle.id, 1, NOW_MS, wanted=[]) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.resume(busy.id, 2, NOW_MS, wanted=[]) is busy


def test_no_slots_no_sessions() -> None:
    assert FetchSessions(0, Random(1)).open([partition()], NOW_MS) is None


def test_all_sessions_together_remember_so_many_partitions(
    sessions: FetchSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 3)
    session = opened(sessions, partition(index=0), partition(index=1))
    assert sessions.open([partition(index=0), partition(index=1)], NOW_MS) is None
    other = opened(sessions, partition(index=0))

    grown = sessions.resume(session.id, 1, NOW_MS, wanted=[partition(index=2)])
    assert grown == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 1
    assert sessions.resume(other.id, 1, NOW_MS, wanted=[partition(index=1), partition(index=2)]) is other
