from itertools import product

import pytest

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_states import ClassicGroupState as State

ALLOWED = {
    (State.EMPTY, State.PREPARING_REBALANCE),
    (State.PREPARING_REBALANCE, State.EMPTY),
    (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE),
    (State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE),
    (State.COMPLETING_REBALANCE, State.STABLE),
    (State.STABLE, State.PREPARING_REBALANCE),
    *((state, State.DEAD) for state in State),
}


@pytest.mark.parametrize(("before", "after"), sorted(product(State, State), key=str))
def test_a_group_goes_only_where_its_state_allows(before: State, after: State) -> None:
    group = ClassicGroup("orders", lambda: 77, state=before)
    if (before, after) in ALLOWED:
        group.transition_to(after)
        assert (group.previous_state, group.state, group.state_since_ms) == (before, after, 77)
    else:
        with pytest.raises(AssertionError, match=f"from {before.value} to {after.value}"):
            group.transition_to(after)
        assert group.state is before
