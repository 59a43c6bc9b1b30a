"""Groups of foreign members for the tests of one broker."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.backends import Backend
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.groups.group import Groups, Programs
from tests.clients.groups.side_by_side import AT_ONCE, AT_ONCE_ON_THREE_BROKERS, Run, SideBySide


@pytest.fixture(scope="session")
def programs(broker_address: str) -> Iterator[Programs]:
    with closing(Programs(broker_address)) as all_of_them:
        yield all_of_them


@pytest.fixture
def groups(programs: Programs, confluent: ConfluentKafka) -> Iterator[Groups]:
    """Makes groups whose members are gone after the test."""
    made = Groups(programs, confluent)
    yield made
    made.end()


@pytest.fixture(scope="session")
def side_by_side(programs: Programs, confluent: ConfluentKafka, backend: Backend) -> Iterator[SideBySide]:
    at_once = AT_ONCE if backend.is_embedded else AT_ONCE_ON_THREE_BROKERS
    with closing(SideBySide(lambda: Groups(programs, confluent), at_once)) as runner:
        yield runner


@pytest.fixture
def run(side_by_side: SideBySide, request: pytest.FixtureRequest) -> Run:
    """Runs a scenario for the kinds of this test's parameters at once; raises what that of the given kind raised."""
    return lambda scenario, kind: side_by_side.outcome(scenario, kind, request)
