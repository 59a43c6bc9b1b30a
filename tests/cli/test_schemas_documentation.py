"""docs/schemas.md: its output is real, and no command or option of `stoker schemas` and `stoker up` is missing.

python -m tests.cli.test_schemas_documentation docs/schemas.md      writes what its commands print into it
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stoker.cli.document import commands
from tests.cli.schema_commands import ORDER, WITH_DEFAULT, SchemasCommandLine, field, record
from tests.cli.test_documentation import replayed
from tests.cli.up_process import UpProcess, up
from tests.faults.stoker_process import STOKER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schemas.md"

_NOUNS = ("stoker schemas", "stoker up")


def printed(page: str, directory: Path) -> str:
    """The page with what its commands print now, against a registry of their own."""
    with up(directory / "data") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOKER_REGISTRY_URL", server.registry)
        return replayed(page, server.broker, directory).replace(server.registry, "http://localhost:8081")


@pytest.mark.timeout(400)  # twenty commands, one after the other, on a machine that may be busy
def test_output_is_real(tmp_path: Path) -> None:
    page = PAGE.read_text()
    assert printed(page, tmp_path).splitlines() == page.splitlines()


def test_every_command_and_option_is_documented() -> None:
    page = PAGE.read_text()
    examples = "\n".join(re.findall(r"^\$ .*$", page, re.MULTILINE))
    for words, command in commands():
        if not words.startswith(_NOUNS):
            continue
        assert f"$ {words}" in examples, f"docs/schemas.md has no example of {words}"
        for option in (max(parameter.opts, key=len) for parameter in command.params):
            documented = not option.startswith("--") or option == "--help" or re.search(rf"{option}(?![\w-])", page)
            assert documented, f"docs/schemas.md tells nothing of {words} {option}"


@pytest.mark.timeout(400)
def test_the_examples_of_the_help_work(tmp_path: Path) -> None:
    with up(tmp_path / "data") as server:
        _furnish(server, tmp_path)
        environment = os.environ | {
            "PATH": f"{Path(STOKER).parent}{os.pathsep}{os.environ['PATH']}",
            "STOKER_REGISTRY_URL": server.registry,
        }
        for words, command in commands():
            if not words.startswith("stoker schemas "):
                continue
            for line in (command.epilog or "").partition("Examples:\n")[2].splitlines():
                ran = subprocess.run(
                    ["bash", "-c", f"set -o pipefail; {line.strip()}"],
                    env=environment,
                    cwd=tmp_path,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert ran.returncode == 0, f"{line}: {ran.stderr}"


def _furnish(server: UpProcess, directory: Path) -> None:
    """All that the examples name, but for what they register themselves."""
    run = SchemasCommandLine(server.registry, directory)
    run("register", "orders-value", run.file("order.avsc", ORDER))
    run("register", "orders-value", run.file("order.avsc", WITH_DEFAULT))
    run("register", "customers-value", run.file("customer.avsc", record(name="shop.Customer")))
    run.file("payment.avsc", record(field("id"), name="shop.Payment"))
    run.file("invoice.avsc", record(field("customer", "shop.Customer"), name="shop.Invoice"))


if __name__ == "__main__":
    written = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        written.write_text(printed(written.read_text(), Path(temporary)))
