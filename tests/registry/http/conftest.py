"""One server a module; each test has subjects of its own."""

import itertools
from collections.abc import Iterator

import pytest

from tests.registry.http.served import Api, served

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with served() as url, Api(url) as api:
        yield api


@pytest.fixture
def subject() -> str:
    """A name that no other test has."""
    return f"subject-{next(_numbers)}"
