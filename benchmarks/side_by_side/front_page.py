"""docs/benchmarks.md ends with the ratios that another page measured: those of topics in Spark."""

from pathlib import Path

PAGE, SPARK_PAGE = "benchmarks.md", "benchmarks-spark.md"
HEADING = "## Topics in Spark"
PLACES = ("Apache Kafka", "Stoker's broker")


def refresh(docs: Path) -> None:
    """Write the last section of the page anew, from what the page about Spark says."""
    page, spark_page = docs / PAGE, docs / SPARK_PAGE
    if page.exists() and spark_page.exists():
        text, _, _ = page.read_text().partition(f"\n{HEADING}\n")
        page.write_text(f"{text.rstrip()}\n\n{ratios(spark_page.read_text())}")


def ratios(spark_page: str) -> str:
    """A section with the ratio of each row that has one and a target, the brokers beside each other."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    title = ""
    for line in spark_page.splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) < 5 or not cells[-2].endswith("x"):
            continue
        name, ratio, target = cells[0], cells[-3], cells[-2]
        for place in PLACES:
            if f"on {place}" in name:
                what = f"{title}{name.replace(f'on {place}', '')}"
                found.setdefault((what, target), {})[place] = ratio
    lines = [
        HEADING,
        "",
        f"Stoker's connector beside Spark's own, on the same topics of the same broker: how many times as fast. "
        f"[The page about it]({SPARK_PAGE}) has the numbers, and how they were measured.",
        "",
        f"| | on {PLACES[0]} | on {PLACES[1]} | target |",
        "|---|---:|---:|---:|",
    ]
    for (what, target), by_place in found.items():
        lines.append(f"| {what} | {' | '.join(by_place.get(place, '–') for place in PLACES)} | {target} |")
    return "\n".join([*lines, ""])
