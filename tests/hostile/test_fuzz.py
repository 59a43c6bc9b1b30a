"""Frames that no client would send, in great number: the broker lives, and an honest client notices nothing."""

from pathlib import Path

import pytest

from tests.hostile.broker_process import BrokerProcess
from tests.hostile.bystander import Bystander
from tests.hostile.fuzzer import Fuzzer

SEED = 20_240_229
_MEGABYTE = 1024 * 1024


def test_ten_thousand_spoiled_frames(tmp_path: Path) -> None:
    """Mutated and random frames neither end the broker nor grow it, and an honest client goes on undisturbed."""
    _withstands(tmp_path, frames=10_000, connections=16, growth=64 * _MEGABYTE)


@pytest.mark.soak
def test_a_million_spoiled_frames(tmp_path: Path) -> None:
    """A million mutated and random frames neither end the broker nor grow it; an honest client goes on undisturbed."""
    _withstands(tmp_path, frames=1_000_000, connections=64, growth=128 * _MEGABYTE)


def _withstands(tmp_path: Path, *, frames: int, connections: int, growth: int) -> None:
    print(f"seed {SEED}")
    with BrokerProcess(tmp_path) as broker:
        fuzzer = Fuzzer(broker.address, SEED, connections)
        fuzzer.run(1_000)  # what is imported, compiled and pooled once is not growth
        before, descriptors = broker.resident_bytes, broker.descriptors
        with Bystander(broker) as bystander:
            fuzzer.run(frames)
            broker.check_health()
        print(f"{fuzzer.tally}, {bystander.rounds} rounds beside it, the longest {bystander.longest_wait:.3f} s")
        print(f"resident {before / 1e6:.0f} MB before, {broker.resident_bytes / 1e6:.0f} MB after")

        assert fuzzer.tally.answered > frames / 10
        assert fuzzer.tally.closed > frames / 10
        assert bystander.rounds > 50
        assert bystander.longest_wait < 2
        assert broker.resident_bytes - before < growth
        assert broker.descriptors <= descriptors + 64
