"""What the plan takes from the benchmarks is what their pages say."""

from pathlib import Path

import pytest

from stoker.capacity.measured import MEASUREMENTS, Measurement
from stoker.capacity.measured_streams import STREAMS_EVENTS_PER_SECOND, STREAMS_PAGE

STREAMS_SECTION = "Revenue of each customer and hour"
STREAMS_ROWS = [f"on {broker}, after the first quarter" for broker in ("Stoker's broker", "Apache Kafka")]


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


def test_the_figure_of_streams_is_the_slower_of_the_page(repository: Path) -> None:
    page = (repository / "docs" / STREAMS_PAGE).read_text()
    shown = [cell(page, STREAMS_SECTION, row, "Stoker") for row in STREAMS_ROWS]
    slower = min(float(each.split()[0].replace(",", "")) for each in shown)
    assert slower * 1000 == STREAMS_EVENTS_PER_SECOND
