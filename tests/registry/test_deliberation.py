"""What takes long is done on a thread, while the state may change, and not for ever."""

import asyncio
import threading

import pytest

from stoker.registry.deliberation import Patience, check_patience, deliberate
from stoker.registry.errors import Unavailable
from stoker.registry.records import NoopKey, RegistryRecord
from stoker.registry.state import RegistryState


def patience(seconds: float = 10.0) -> Patience:
    return Patience(seconds, threading.Event())


def test_who_stumbles_over_a_change_looks_again() -> None:
    state = RegistryState()
    looks = []

    def look() -> str:
        looks.append(threading.current_thread() is threading.main_thread())
        if len(looks) < 3:
            state.replay(RegistryRecord(NoopKey(), None))
            raise RuntimeError("dictionary changed size during iteration")
        return "seen"

    assert asyncio.run(deliberate(state, look, patience())) == "seen"
    assert looks == [False, False, False]


def test_an_error_that_no_change_explains_is_one() -> None:
    def look() -> None:
        raise KeyError("it was never there")

    with pytest.raises(KeyError):
        asyncio.run(deliberate(RegistryState(), look, patience()))


def test_patience_ends() -> None:
    with pytest.raises(Unavailable, match="given up after 0 s"):
        asyncio.run(deliberate(RegistryState(), check_patience, patience(0)))
    stopped = patience()
    stopped._stopping.set()
    with pytest.raises(Unavailable, match="being stopped"):
        asyncio.run(deliberate(RegistryState(), check_patience, stopped))
    check_patience()  # who has no patience has all the time
