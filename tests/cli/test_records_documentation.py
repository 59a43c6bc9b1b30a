"""docs/cli-records.md: its output is real, and no option of `stoker produce` and `stoker consume` is missing.

python -m tests.cli.test_documentation docs/cli-records.md      writes what the page's commands print into it
"""

import re
from pathlib import Path

import pytest

from stoker import Broker
from stoker.cli.document import commands
from tests.cli.test_documentation import replayed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli-records.md"


@pytest.mark.timeout(400)  # twenty commands, one after the other, on a machine that may be busy
def test_output_is_real(tmp_path: Path) -> None:
    page = PAGE.read_text()
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        printed = replayed(page, broker.bootstrap_servers, tmp_path)
    seconds = re.compile(r'"seconds": [\d.]+')
    assert seconds.sub("", printed).splitlines() == seconds.sub("", page).splitlines()


@pytest.mark.acceptance("C039")
def test_kcat_is_had_by_these_names() -> None:
    """The page says how kcat is installed, by its name of today and by that of before."""
    page = PAGE.read_text()
    for words in ("`brew install kcat`", "`apt-get install kcat`", "`kafkacat`"):
        assert words in page


@pytest.mark.parametrize("words", ["stoker produce", "stoker consume"])
def test_every_option_is_documented(words: str) -> None:
    page = PAGE.read_text()
    options = [max(parameter.opts, key=len) for parameter in dict(commands())[words].params]
    elsewhere = {"--bootstrap-server", "--help"}  # docs/cli.md: what all commands have in common
    missing = [
        option
        for option in options
        if option.startswith("--") and option not in elsewhere and not re.search(rf"{option}(?![\w-])", page)
    ]
    assert missing == []
