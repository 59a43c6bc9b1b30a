"""Scenarios that mostly wait for time-outs, run for all kinds of members at once."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.clients.groups.group import Groups
from tests.clients.groups.kinds import Kind

Scenario = Callable[[Kind, Groups], None]
Run = Callable[[Scenario, Kind], None]
AT_ONCE = 7
"""Few enough that the clients of a small machine still get their turn well within a session time-out."""
AT_ONCE_ON_THREE_BROKERS = 3
"""These want turns of their own."""


class SideBySide:
    """When the first test of a scenario asks, it starts for every kind that the session has selected; each test gets its own outcome."""

    def __init__(self, new_groups: Callable[[], Groups], at_once: int) -> None:
        self._new_groups = new_groups
        self._pool = ThreadPoolExecutor(at_once)
        self._runs: dict[Scenario, dict[Kind, Future[None]]] = {}

    def outcome(self, scenario: Scenario, kind: Kind, request: pytest.FixtureRequest) -> None:
        if scenario not in self._runs:
            siblings = [
                item
                for item in request.session.items
                if isinstance(item, pytest.Function) and item.function is request.function
            ]
            kinds = [item.callspec.params["kind"] for item in siblings]
            self._runs[scenario] = {
                each: self._pool.submit(self._run, scenario, each) for each in kinds if isinstance(each, Kind)
            }
        self._runs[scenario][kind].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _run(self, scenario: Scenario, kind: Kind) -> None:
        groups = self._new_groups()
        try:
            scenario(kind, groups)
        finally:
            groups.end()
