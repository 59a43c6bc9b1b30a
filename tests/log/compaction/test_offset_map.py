"""The map of the newest offsets beside a dict, and the hashes that stand for keys in it."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stoker.log.compaction.key_hashes import KeyHasher, KeyHashes
from stoker.log.compaction.offset_map import OffsetMap

PADDING = bytes(16)


def hashes_of(keys: list[bytes], hasher: KeyHasher) -> KeyHashes:
    lengths = np.array([len(key) for key in keys], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    return hasher(np.frombuffer(b"".join(keys) + PADDING, dtype=np.uint8), starts, lengths)


keys = st.one_of(st.binary(max_size=30), st.sampled_from([b"a", b"b", b"c" * 300, b"c" * 301, b""]))


@given(st.lists(st.lists(keys, max_size=40), max_size=6), st.randoms(use_true_random=False))
def test_the_map_beside_a_dict(columns: list[list[bytes]], random: Random) -> None:
    """Whatever comes in whatever portions, the last offset of each key is found, in a table that is nearly full."""
    hasher = KeyHasher(random)
    distinct = {key for column in columns for key in column}
    offsets = OffsetMap(memory_bytes=24 * int(len(distinct) / 0.85 + 15), load_factor=0.9, keys_wanted=10**6)
    expected: dict[bytes, int] = {}
    offset = 0
    for column in columns:
        numbers = np.arange(offset, offset + len(column))
        hashes = hashes_of(column, hasher)
        assert offsets.has_room_for(hashes) == (len(expected.keys() | set(column)) <= offsets.limit)
        offsets.put(hashes, numbers)
        expected.update(zip(column, numbers.tolist(), strict=True))
        offset += len(column)
        assert len(offsets) == len(expected)
    everything = [*expected, b"not there"]
    found = offsets.get(hashes_of(everything, hasher)).tolist()
    assert found == [*expected.values(), expected.get(b"not there", -1)]


def test_keys_that_differ_in_little_have_different_hashes() -> None:
    """Counters, single bits and lengths: 400,000 keys, no two alike in either half of the hash."""
    hasher = KeyHasher(Random(1))
    alike = [number.to_bytes(8) for number in range(200_000)]
    alike += [b"customer-%d" % number for number in range(100_000)]
    alike += [(1 << bit | 1 << other).to_bytes(32, "little") for bit in range(256) for other in range(bit)]
    alike += [bytes(length) for length in range(33, 257)]
    high, low = hashes_of(alike, hasher)
    assert len(np.unique(high)) == len(np.unique(low)) == len(set(alike))
    for half in (high, low):
        ones = [int((half >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
        assert all(abs(count / len(alike) - 0.5) < 0.01 for count in ones), "every bit is as often set as not"


def test_a_hash_is_that_of_the_key_wherever_it_lies() -> None:
    hasher = KeyHasher()
    data = np.frombuffer(b"abcabc" + b"z" * 300 + b"z" * 300 + PADDING, dtype=np.uint8)
    high, low = hasher(data, np.array([0, 3, 6, 306, 1]), np.array([3, 3, 300, 300, 3]))
    assert high[0] == high[1] != high[4]
    assert low[2] == low[3]
    other, _ = KeyHasher()(data, np.array([0]), np.array([3]))
    assert other[0] != high[0], "nobody can know beforehand which keys would be taken for one"


def test_the_map_takes_no_more_memory_than_the_keys_there_can_be() -> None:
    small = OffsetMap(memory_bytes=128 * 1024 * 1024, load_factor=0.9, keys_wanted=100)
    assert 100 <= small.limit < 200
    large = OffsetMap(memory_bytes=24_000, load_factor=0.9, keys_wanted=10**9)
    assert large.limit == int(997 * 0.9)
