"""The file of `stoker groups reset-offsets --from-file`."""

from pathlib import Path

import pytest

from stoker.cli.failure import CommandFailed
from stoker.cli.offset_file import OffsetFile, write_offsets
from stoker.client.topic_partition import TopicPartition


def test_lines_for_any_group_and_for_one(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text('orders,0,5\n\n payments , orders , 0 , 6 \n"pay,ments",orders,1,7\r\n')
    offsets = OffsetFile.read(file)
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert offsets.of_group("payments") == {first: 6}
    assert offsets.of_group("pay,ments") == {first: 5, second: 7}
    assert offsets.of_group("other") == {first: 5}


def test_comments_and_empty_lines_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("\ufeff# of Monday\n\n  \n # of Tuesday, too\norders,0,5\n")
    assert OffsetFile.read(file).of_group("any") == {TopicPartition("orders", 0): 5}
    file.write_text("# one\n\norders\n")
    with pytest.raises(CommandFailed, match="line 3: the form"):
        OffsetFile.read(file)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    groups = ["plain", "# no comment", "with, comma", 'with "quotes"', "\u2028"]
    file = tmp_path / "offsets.csv"
    with file.open("w", newline="") as opened:
        write_offsets(opened, [(group, "orders", 0, 5) for group in groups])
    assert list(OffsetFile.read(file).for_groups) == [group.strip() for group in groups]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"orders,0,5\norders,0,\xff\n", r"offsets\.csv line 2 is not UTF-8: the form is topic"),
        (b"x" * 200_000, r"offsets\.csv line 1: field larger than field limit"),
    ],
)
def test_what_is_no_such_file_at_all(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "offsets.csv"
    file.write_bytes(content)
    with pytest.raises(CommandFailed, match=words):
        OffsetFile.read(file)


@pytest.mark.parametrize("line", ["orders,0", "orders,zero,1", "orders,0,-1", "a,b,c,d", "a,b,0,1,2"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(f"orders,0,5\n{line}\n")
    with pytest.raises(CommandFailed, match=r"offsets\.csv line 2: the form is topic,partition,offset"):
        OffsetFile.read(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot be read: No such file"):
        OffsetFile.read(tmp_path / "nothing.csv")
