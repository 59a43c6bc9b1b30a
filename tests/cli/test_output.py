"""Tables for people."""

import pytest

from stoker.cli.output import print_table, shown_bytes


def test_numbers_go_to_the_right_and_nothing_is_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 200
    print_table(
        ("NAME", "COUNT", "SIZE", "HOST", "RACK"),
        [("orders", 5, "1.5 KiB", "10.0.0.1", None), (long, None, "0 B", "10.0.0.22", None)],
    )
    name = "orders" + " " * 194
    assert capsys.readouterr().out.splitlines() == [
        f"NAME{' ' * 196}  COUNT     SIZE  HOST       RACK",
        f"{name}      5  1.5 KiB  10.0.0.1   -",
        f"{long}      -      0 B  10.0.0.22  -",
    ]


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "COUNT"), [])
    assert capsys.readouterr().out == "NAME  COUNT\n"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 * 1024**3, "5.0 GiB"),
        (1024**6, "1024.0 PiB"),
    ],
)
def test_bytes(count: int, shown: str) -> None:
    assert shown_bytes(count) == shown
