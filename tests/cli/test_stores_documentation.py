"""docs/stores.md: its output is real, and no command, option or path is missing.

python -m tests.cli.test_stores_documentation docs/stores.md    writes what its commands and requests answer into it
"""

import json
import os
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pyarrow as pa
import pytest

from stoker import Broker
from stoker.cli.document import commands
from stoker.streams.http import application, serve
from tests.cli.running import create_topic, run
from tests.cli.test_documentation import replayed
from tests.streams.state.written_state import WrittenState

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stores.md"

_REQUESTS = re.compile(r"```http\n(.*?)```", re.DOTALL)
_VARIES = re.compile(r'\S+(?= ago\b)|\b[\d.]+ [KM]iB|(?<="staleness_seconds": )[\d.]+|(?<="as_of": )"[^"]+"')
_STATE_HOME = "/home/you/.local/state"
_COMMON = ("--help", "--json")
"""docs/cli.md tells of them."""

CUSTOMERS = pa.schema([("_key", pa.string()), ("name", pa.string()), ("city", pa.string()), ("_deleted", pa.bool_())])
REVENUE = pa.schema(
    [
        ("_key", pa.string()),
        ("window_start", pa.timestamp("us", "UTC")),
        ("window_end", pa.timestamp("us", "UTC")),
        ("revenue", pa.float64()),
        ("orders", pa.int64()),
        ("_deleted", pa.bool_()),
    ]
)


def furnish(address: str, state_home: Path) -> None:
    """What the page is about: an application that has read five of six orders."""
    create_topic(address, "orders")
    run(address, "produce", "orders", stdin=b"1\n2\n3\n4\n5\n6\n")
    state = WrittenState(state_home / "stoker" / "streams" / "order-processor", first_commit=time.time() - 61)
    people = [("customer-1", "Ann", "Oslo"), ("customer-2", "Bob", "Bonn"), ("customer-3", "Cleo", "Rome")]
    state.commit("customers", CUSTOMERS, [dict(zip(CUSTOMERS.names, (*each, False), strict=True)) for each in people])
    noon = datetime(2026, 2, 1, 12, tzinfo=UTC)
    hour = timedelta(hours=1)
    sums = [("customer-1", 0, 129.5, 2), ("customer-1", 1, 40.0, 1), ("customer-2", 1, 12.25, 1)]
    windows = [(key, noon + at * hour, noon + (at + 1) * hour, total, count, False) for key, at, total, count in sums]
    state.commit(
        "hourly-revenue",
        REVENUE,
        [dict(zip(REVENUE.names, each, strict=True)) for each in windows],
        offsets={"orders": {"0": 5}},
        progress={
            "seconds": 0.25,
            "rows": {"orders": 3},
            "total": {"rows": {"orders": 5}, "late": {"hourly-revenue": 1}, "dead_letters": {"orders": 0}},
        },
    )


def answered(page: str, url: str) -> str:
    """The page with what its requests are answered now."""

    def ask(block: re.Match[str]) -> str:
        lines = ["```http"]
        for path in re.findall(r"^GET (\S+)$", block.group(1), re.MULTILINE):
            told = httpx2.get(f"{url}{path}").json()
            lines += [f"GET {path}", json.dumps(told, indent=2), ""]
        return "\n".join([*lines[:-1], "```"])

    return _REQUESTS.sub(ask, page)


def written_anew(page: str, address: str, state_home: Path) -> str:
    furnish(address, state_home)
    with serve(state_home / "stoker" / "streams") as server:  # before the page's last command removes it all
        page = answered(page, server.url)
    return replayed(page, address, state_home).replace(str(state_home), _STATE_HOME)


def without_times(page: str) -> list[str]:
    """What varies from run to run, and the widths of columns with it."""
    return re.sub(" +", " ", _VARIES.sub("SECONDS", page)).splitlines()


@pytest.mark.timeout(300)  # eleven commands, one after the other, on a machine that may be busy
def test_output_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    page = PAGE.read_text()
    with Broker() as broker:
        printed = written_anew(page, broker.bootstrap_servers, tmp_path)
    assert without_times(printed) == without_times(page)


def test_every_command_and_option_is_documented() -> None:
    page = PAGE.read_text()
    for words, command in commands():
        if not words.startswith("stoker streams "):
            continue
        assert re.search(rf"^(\$ )?{words} ?", page, re.MULTILINE), f"docs/stores.md has no example of {words}"
        for option in (max(parameter.opts, key=len) for parameter in command.params):
            documented = not option.startswith("--") or option in _COMMON or re.search(rf"{option}(?![\w-])", page)
            assert documented, f"docs/stores.md tells nothing of {words} {option}"


def test_every_path_is_documented() -> None:
    page = PAGE.read_text()
    for route in application().routes:
        path = getattr(route, "path", "").replace("{application}", "{app}").replace("{key:path}", "{key}")
        assert f"| `{path}` |" in page


if __name__ == "__main__":
    import tempfile

    written = Path(sys.argv[1])
    with Broker() as running, tempfile.TemporaryDirectory() as temporary:
        os.environ["XDG_STATE_HOME"] = temporary
        written.write_text(written_anew(written.read_text(), running.bootstrap_servers, Path(temporary)))
