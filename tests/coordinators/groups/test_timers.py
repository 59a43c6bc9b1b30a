"""Timers beside a plain list of deadlines."""

from hypothesis import given
from hypothesis import strategies as st

from stoker.coordinators.groups.timers import Timers
from stoker.coordinators.result import Result


def names_due(timers: Timers, now_ms: int) -> list[str]:
    return [result.reply for _, result in timers.expire(now_ms)]


def schedule(timers: Timers, name: str, deadline_ms: int) -> None:
    timers.schedule("group", name, deadline_ms, lambda: Result([], name))


def test_the_earliest_comes_first_and_each_once() -> None:
    timers = Timers()
    for name, deadline_ms in [("late", 30), ("early", 10), ("middle", 20)]:
        schedule(timers, name, deadline_ms)
    assert timers.next_deadline_ms == 10
    assert names_due(timers, 25) == ["early", "middle"]
    assert names_due(timers, 25) == []
    assert names_due(timers, 30) == ["late"]
    assert timers.next_deadline_ms is None


def test_scheduling_again_moves_a_timer() -> None:
    timers = Timers()
    schedule(timers, "later", 10)
    schedule(timers, "later", 40)
    schedule(timers, "sooner", 40)
    schedule(timers, "sooner", 5)
    assert names_due(timers, 39) == ["sooner"]
    assert names_due(timers, 40) == ["later"]


def test_a_cancelled_timer_does_nothing() -> None:
    timers = Timers()
    schedule(timers, "cancelled", 10)
    timers.cancel("group", "cancelled")
    timers.cancel("group", "never there")
    assert not timers.is_scheduled("group", "cancelled")
    assert names_due(timers, 100) == []


def test_cancelled_timers_are_not_kept_until_their_deadlines() -> None:
    """Members that join and leave choose their deadlines, and their names may be long."""
    timers = Timers()
    schedule(timers, "stays", 10**9)
    for number in range(10_000):
        schedule(timers, f"{number}", 10**9 - number)
        timers.cancel("group", f"{number}")
    assert len(timers._heap) + len(timers._queued) < 5_000
    assert names_due(timers, 10**9) == ["stays"]


def test_the_same_key_in_two_groups_is_two_timers() -> None:
    timers = Timers()
    for group_id in ("a", "b"):
        timers.schedule(group_id, "session", 10, lambda group_id=group_id: Result([], group_id))  # type: ignore[misc]
    assert [group_id for group_id, _ in timers.expire(10)] == ["a", "b"]


def test_an_action_may_schedule_what_is_due_at_once() -> None:
    timers = Timers()
    done = []

    def first() -> None:
        done.append("first")
        timers.schedule("group", "second", 10, lambda: done.append("second"))

    timers.schedule("group", "first", 10, first)
    assert list(timers.expire(10)) == []
    assert done == ["first", "second"]


STEPS = st.one_of(
    st.tuples(st.just("schedule"), st.sampled_from("abc"), st.integers(0, 20)),
    st.tuples(st.just("cancel"), st.sampled_from("abc"), st.none()),
    st.tuples(st.just("expire"), st.none(), st.integers(0, 10)),
)


@given(st.lists(STEPS, max_size=40))
def test_they_agree_with_a_dictionary(steps: list[tuple[str, str | None, int | None]]) -> None:
    """What is due is what a dictionary of deadlines says, and the next deadline is never announced too late."""
    timers = Timers()
    deadlines: dict[str, int] = {}
    now = 0
    for step, name, amount in steps:
        if step == "schedule" and name is not None and amount is not None:
            deadlines[name] = now + amount
            schedule(timers, name, now + amount)
        elif step == "cancel" and name is not None:
            deadlines.pop(name, None)
            timers.cancel("group", name)
        elif amount is not None:
            now += amount
            due = {name for name, deadline in deadlines.items() if deadline <= now}
            assert set(names_due(timers, now)) == due
            deadlines = {name: deadline for name, deadline in deadlines.items() if name not in due}
        if deadlines:
            assert timers.next_deadline_ms is not None
            assert timers.next_deadline_ms <= min(deadlines.values())
