"""docs/scaling.md: its output is real, its figures are those of the benchmarks, and no option is missing.

python -m tests.cli.test_scaling_documentation docs/scaling.md      runs the page's commands and writes what they print into it
"""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from stoker.capacity.document import HEADING, reference
from stoker.cli.document import commands
from tests.capacity.test_measured import cell
from tests.cli.test_documentation import replayed

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "scaling.md"

_NO_BROKER = "localhost:19092"
"""Nobody is asked."""

QUOTED = [
    ("benchmarks.md", "Growth", "produced, 10 partitions", "Stoker", "2.82"),
    ("benchmarks.md", "Growth", "produced, 5,000 partitions", "Stoker", "4.71"),
    ("benchmarks.md", "Growth", "produced, 10 partitions", "Kafka", "4.10"),
    ("benchmarks.md", "Growth", "produced, 5,000 partitions", "Kafka", "8.56"),
    ("benchmarks.md", "Growth", "fetched, 10 partitions", "Stoker", "0.47"),
    ("benchmarks.md", "Growth", "fetched, 5,000 partitions", "Stoker", "1.29"),
    ("benchmarks.md", "Growth", "fetched, 10 partitions", "Kafka", "0.25"),
    ("benchmarks.md", "Growth", "fetched, 5,000 partitions", "Kafka", "2.89"),
    ("benchmarks-spark.md", "As partitions grow", "4 partitions, on Apache Kafka", "Stoker", "1,797"),
    ("benchmarks-spark.md", "As partitions grow", "50 partitions, on Apache Kafka", "Stoker", "589"),
    ("benchmarks-spark.md", "As partitions grow", "200 partitions, on Apache Kafka", "Stoker", "186"),
    ("benchmarks-registry.md", "Calls, as subjects grow", "register, 8 connections", "10,000 subjects", "328"),
]


def written_anew(page: str) -> str:
    guide, heading, rest = page.partition(HEADING)
    with tempfile.TemporaryDirectory() as directory:
        return replayed(guide, _NO_BROKER, Path(directory)) + heading + rest


def test_output_is_real() -> None:
    page = PAGE.read_text()
    assert written_anew(page).splitlines() == page.splitlines()


def test_the_reference_is_what_the_plan_takes() -> None:
    assert PAGE.read_text().endswith(reference()), "run `make docs`"


@pytest.mark.parametrize(("page", "section", "row", "column", "figure"), QUOTED)
def test_figures_in_the_text_are_those_of_the_pages(
    page: str, section: str, row: str, column: str, figure: str
) -> None:
    assert cell((DOCS / page).read_text(), section, row, column).split()[0] == figure
    assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", PAGE.read_text().partition(HEADING)[0])


def test_every_option_is_documented() -> None:
    page = PAGE.read_text()
    for option in (max(parameter.opts, key=len) for parameter in dict(commands())["stoker plan"].params):
        assert option == "--help" or re.search(rf"{option}(?![\w-])", page), (
            f"docs/scaling.md tells nothing of {option}"
        )


def test_links_lead_somewhere() -> None:
    page = PAGE.read_text()
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page):
        text = (DOCS / target).read_text() if target else page
        headings = [
            re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-")
            for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        ]
        assert not anchor or anchor in headings, f"{target} has no heading {anchor}"


@pytest.mark.acceptance("B301")
def test_ways_to_run_kafka_are_compared() -> None:
    """The page has the five ways to run Kafka with what they are good for and their price, and Stoker's own beside them."""
    table = PAGE.read_text().partition("## Where to run Apache Kafka\n")[2].partition("\n## ")[0]
    rows = [
        [each.strip() for each in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    names = " ".join(row[0] for row in rows[2:])
    for name in ("Stoker", "virtual machines", "Amazon MSK", "Confluent Cloud", "Strimzi", "Aiven", "Redpanda Cloud"):
        assert name in names
    assert all(len(row) == 4 and all(row) for row in rows[2:])


@pytest.mark.acceptance("B300")
def test_snapshots_are_no_backups() -> None:
    """The page says what snapshots of volumes are for."""
    assert re.search(r"Snapshots of volumes\s+are for disasters, not backups", PAGE.read_text())


if __name__ == "__main__":
    written = Path(sys.argv[1])
    written.write_text(written_anew(written.read_text()))
