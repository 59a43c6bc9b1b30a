"""docs/spark.md: its reference is that of the code, its examples run, and what they print is real.

python -m tests.spark.test_documentation docs/spark.md      writes what they print into the page
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stoker.spark.document import HEADING, reference
from stoker.spark.options import OPTIONS
from stoker.spark.sink_options import SINK_OPTIONS
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess
from tests.spark.topics import Topics

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
_EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
TOPICS = ("sales", "sales-in-euros", "sums")


def printed(page: str, bootstrap_servers: str, registry: str, directory: Path) -> Iterator[str]:
    """What each of the examples prints, run in their order with the addresses and files of the test."""
    topics = Topics(bootstrap_servers)
    for name in TOPICS:
        topics.create(name)
    names: dict[str, Any] = {}
    for found in _EXAMPLE.finditer(page):
        code = found[1].replace("localhost:9092", bootstrap_servers).replace("http://localhost:8081", registry)
        code = code.replace('"checkpoints/', f'"{directory}/')
        with redirect_stdout(StringIO()) as out:
            exec(compile(code, str(PAGE), "exec"), names)
        yield out.getvalue()
    names["tables"].detach()


def test_the_reference_is_that_of_the_code() -> None:
    """`make docs` writes it."""
    assert PAGE.read_text().partition(HEADING)[1:] == (HEADING, reference().removeprefix(HEADING))


def test_every_option_is_explained() -> None:
    page = PAGE.read_text()
    for option in (*OPTIONS, *SINK_OPTIONS):
        assert f"| `{option.name}` |" in page
        assert option.meaning


def test_the_examples_print_what_the_page_shows(
    spark: "SparkSession", tmp_path: Path, tmp_path_factory: "pytest.TempPathFactory"
) -> None:
    page = PAGE.read_text()
    with (
        BrokerProcess(tmp_path_factory.mktemp("documented")) as broker,
        RegistryProcess(broker.bootstrap_servers) as registry,
    ):
        prints = list(printed(page, broker.bootstrap_servers, registry.url, tmp_path))
        sums = spark.read.format("stoker").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        found = sums.option("subscribe", "sums").load().selectExpr("string(key)", "string(value)").collect()
    assert prints == [found[2] or "" for found in _EXAMPLE.finditer(page)]
    assert sorted(tuple(row) for row in found) == [("ada", "300"), ("ben", "100")]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
        RegistryProcess(broker.bootstrap_servers) as registry,
    ):
        text = path.read_text()
        prints = printed(text, broker.bootstrap_servers, registry.url, Path(directory))

        def with_output(found: re.Match[str]) -> str:
            output = next(prints)
            return f"```python\n{found[1]}```" + (f"\n\n```\n{output}```" if output else "")

        path.write_text(_EXAMPLE.sub(with_output, text))
