"""The page of settings is the one the tables give."""

from pathlib import Path

from stoker.broker.config.definitions import BROKER, CLIENT_METRICS, DYNAMIC_ONLY, GROUP, TOPIC
from stoker.broker.config.document import configuration_page


def test_the_page_in_docs_is_current(repository: Path) -> None:
    """If not: python -m stoker.broker.config.document > docs/configuration.md"""
    assert (repository / "docs" / "configuration.md").read_text() == configuration_page()


def test_the_page_has_every_setting_once() -> None:
    rows = [line for line in configuration_page().splitlines() if line.startswith("| `")]
    documented = sorted(line.split("`")[1] for line in rows)
    assert documented == sorted([*BROKER, *TOPIC, *GROUP, *CLIENT_METRICS, *DYNAMIC_ONLY])
