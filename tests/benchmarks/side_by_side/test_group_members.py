"""The members of the benchmark share partitions evenly, know when they are done, and run on their connections."""

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from side_by_side.group_members import Crowd, Member, Script, even_ranges, is_settled
from side_by_side.processes import LoadFailed


def test_ranges_are_even_and_cover_everything() -> None:
    assert even_ranges(["a", "b", "c"], 8) == {"a": range(3), "b": range(3, 6), "c": range(6, 8)}
    assert even_ranges(["a", "b"], 1) == {"a": range(1), "b": range(1, 1)}


@pytest.mark.parametrize(
    ("held", "generations", "expected"),
    [
        ([[0, 1], [2, 3]], [2, 2], True),
        ([[0, 1], [2]], [2, 2], False),
        ([[0, 1], [1, 2, 3]], [2, 2], False),
        ([[0, 1, 2], [3]], [2, 2], False),
        ([[0, 1], [2, 3]], [1, 2], False),
    ],
    ids=["settled", "one is missing", "one has two holders", "uneven", "one has not heard"],
)
def test_a_group_is_settled_when_all_have_their_share(
    held: Sequence[Sequence[int]], generations: Sequence[int], expected: bool
) -> None:
    members = [
        Member(group="g", topic="t", partitions=partitions, generation=generation)
        for partitions, generation in zip(held, generations, strict=True)
    ]
    assert is_settled(members, 4) is expected


def test_scripts_run_side_by_side_on_connections_of_their_own() -> None:
    answers: list[bytes] = []

    def script(name: bytes) -> Script:
        for number in range(3):
            answers.append((yield struct.pack(">i", len(name) + 1) + name + bytes([number])))
            yield 0.0

    with _echo_server() as port, Crowd(port) as crowd:
        crowd.start([script(b"a"), script(b"bb")])
        crowd.run_to_the_end()
    assert sorted(answers) == [b"a\0", b"a\1", b"a\2", b"bb\0", b"bb\1", b"bb\2"]


def test_a_closed_connection_is_a_failure() -> None:
    def script() -> Script:
        yield struct.pack(">i", 0)

    with _echo_server(closing=True) as port, Crowd(port) as crowd:
        crowd.start([script()])
        with pytest.raises(LoadFailed, match="closed the connection"):
            crowd.run_to_the_end()


@contextmanager
def _echo_server(*, closing: bool = False) -> Iterator[int]:
    def serve(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1000):
                if closing:
                    return
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=[connection], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    accepting.join()
