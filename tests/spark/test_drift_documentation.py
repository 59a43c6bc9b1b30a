"""docs/drift.md: its examples run, and what they print is real.

python -m tests.spark.test_drift_documentation      writes what they print into the page
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stoker.spark import profiles, stability
from stoker.spark.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "drift.md"
_EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)


def printed(page: str, directory: Path) -> Iterator[str]:
    """What each of the examples prints, run in their order with a directory of the test."""
    names: dict[str, Any] = {}
    for found in _EXAMPLE.finditer(page):
        code = found[1].replace('"lake/', f'"{directory}/')
        with redirect_stdout(StringIO()) as out:
            exec(compile(code, str(PAGE), "exec"), names)
        yield out.getvalue()


def test_the_examples_print_what_the_page_shows(spark: "SparkSession", tmp_path: Path) -> None:
    page = PAGE.read_text()
    assert list(printed(page, tmp_path)) == [found[2] or "" for found in _EXAMPLE.finditer(page)]


def test_every_error_is_explained() -> None:
    page = PAGE.read_text()
    ours = {
        name
        for module in (profiles, stability)
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, SparkError) and each is not SparkError
    }
    assert ours == set(re.findall(r"^\| `(\w+)` \| (?!no change|a m)", page, re.MULTILINE))


if __name__ == "__main__":
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as directory:
        prints = printed(text, Path(directory))

        def with_output(found: re.Match[str]) -> str:
            output = next(prints)
            return f"```python\n{found[1]}```" + (f"\n\n```\n{output}```" if output else "")

        PAGE.write_text(_EXAMPLE.sub(with_output, text))
