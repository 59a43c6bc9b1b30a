"""What the plan takes from the benchmarks is what their pages say."""

from pathlib import Path

import pytest

from stoker.capacity.measured import MEASUREMENTS, Measurement
from stoker.capacity.measured_streams import STREAMS_PAGE


def cell(page: str, section: str, row: str, column: str) -> str:
    """Of the table below a heading."""
    lines = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0].splitlines()
    rows = [[each.strip() for each in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    found = next(each for each in rows if each[0] == row)
    return found[rows[0].index(column)]


@pytest.mark.parametrize("measured", MEASUREMENTS, ids=lambda each: f"{each.section}: {each.row}, {each.column}")
def test_figures_are_those_of_the_pages(repository: Path, measured: Measurement) -> None:
    """A page that was measured anew changes the plan: put its figure into capacity/measured.py, and run `make docs`."""
    page = (repository / "docs" / measured.page).read_text()
    assert cell(page, measured.section, measured.row, "unit") == measured.unit
    shown = cell(page, measured.section, measured.row, measured.column)
    assert float(shown.split()[0].replace(",", "")) == measured.value


def test_streams_have_a_page(repository: Path) -> None:
    assert (repository / "docs" / STREAMS_PAGE).exists()
