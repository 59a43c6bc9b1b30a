"""The ratios of one page at the end of another."""

from pathlib import Path

from side_by_side import front_page

SPARK_PAGE = """# Topics in Spark

## Raw

| | unit | Stoker | Spark's connector | ratio | target | |
|---|---|---:|---:|---:|---:|---|
| on Stoker's broker | k records/s | 2,000 | 500 | 4.00 | ≥ 2.5x | met |
| on Apache Kafka | k records/s | 1,000 | 500 | 2.00 | ≥ 2.5x | short |
| CPU, on Apache Kafka | µs a record | 1 | 2 | 0.50 |  |  |

## To a topic

| | unit | Stoker | tuned | ratio | target | |
|---|---|---:|---:|---:|---:|---|
| on Apache Kafka, beside the tuned one | k records/s | 1,000 | 900 | 1.11 | ≥ 1x | met |

## Memory

| | unit | Stoker | ratio | target | |
|---|---|---:|---:|---:|---|
| raw, on Apache Kafka | MB | 200 | – | ≤ 300 | met |
"""

TABLE = """| | on Apache Kafka | on Stoker's broker | target |
|---|---:|---:|---:|
| Raw | 2.00 | 4.00 | ≥ 2.5x |
| To a topic, beside the tuned one | 1.11 | – | ≥ 1x |
"""


def test_what_has_a_ratio_and_a_target_is_told() -> None:
    assert front_page.ratios(SPARK_PAGE).endswith(TABLE)


def test_the_last_section_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / front_page.PAGE
    page.write_text("# Benchmarks\n\n## Start\n\nfast\n")
    (tmp_path / front_page.SPARK_PAGE).write_text(SPARK_PAGE)
    front_page.refresh(tmp_path)
    once = page.read_text()
    front_page.refresh(tmp_path)
    assert page.read_text() == once
    assert once.startswith("# Benchmarks\n\n## Start\n\nfast\n\n## Topics in Spark\n")
    assert once.endswith(TABLE)


def test_without_a_page_about_spark_nothing_changes(tmp_path: Path) -> None:
    page = tmp_path / front_page.PAGE
    page.write_text("# Benchmarks\n")
    front_page.refresh(tmp_path)
    assert page.read_text() == "# Benchmarks\n"
