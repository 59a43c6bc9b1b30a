"""docs/streams.md says what is there, and its examples run."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from stoker.streams import Streams, document

CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "streams.md").read_text()


def test_the_reference_is_up_to_date(page: str) -> None:
    """`make docs` writes it anew."""
    assert page.partition(document.HEADING)[2] == document.reference().partition(document.HEADING)[2]


def test_every_method_is_explained() -> None:
    assert [line for line in document.reference().splitlines() if line.endswith("|  |")] == []


def test_the_examples_run(page: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application at the top of the page is what its test, further down, drives."""
    declaring, testing = CODE.findall(page)
    started: list[str] = []
    monkeypatch.setattr(Streams, "run", lambda app: started.append(app.name))
    names: dict[str, Any] = {}
    exec(declaring, names)
    assert started == ["order-processor"]
    exec(testing, names)
