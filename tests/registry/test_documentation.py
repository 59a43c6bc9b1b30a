"""docs/registry.md: its reference is that of the code, its example runs, and its output is real.

python -m tests.registry.test_documentation docs/registry.md      writes what the page's curl prints into it
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from stoker.registry.document import HEADING, reference
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess

PAGE = Path(__file__).resolve().parents[2] / "docs" / "registry.md"
_CURL = re.compile(r"```\n\$ (curl .*?\}'\n)(.*?)```", re.DOTALL)
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}'


def at(text: str, bootstrap_servers: str, registry: RegistryProcess) -> str:
    """The page's addresses are the usual ones."""
    return text.replace("localhost:8081", f"127.0.0.1:{registry.port}").replace("localhost:9092", bootstrap_servers)


def answer(page: str, bootstrap_servers: str, registry: RegistryProcess) -> str:
    registry.register("orders-value", _ORDER)
    (found,) = _CURL.findall(page)
    command = at(found[0], bootstrap_servers, registry)
    printed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    return printed + "\n"


def test_the_reference_is_that_of_the_code() -> None:
    """`make docs` writes it."""
    assert PAGE.read_text().partition(HEADING)[1:] == (HEADING, reference().removeprefix(HEADING))


def test_the_example_runs(bootstrap_servers: str) -> None:
    with RegistryProcess(bootstrap_servers, options={"kafkastore.topic": "_documented"}) as registry:
        (example,) = _PYTHON.findall(PAGE.read_text())
        subprocess.run([sys.executable, "-c", at(example, bootstrap_servers, registry)], check=True, timeout=60)
        assert registry.ask("GET", "/subjects").json() == ["orders-value"]


def test_the_answer_to_a_verbose_question_is_real(bootstrap_servers: str) -> None:
    page = PAGE.read_text()
    with RegistryProcess(bootstrap_servers, options={"kafkastore.topic": "_documented-too"}) as registry:
        assert answer(page, bootstrap_servers, registry) == _CURL.findall(page)[0][1]


if __name__ == "__main__":
    with (
        BrokerProcess(Path(tempfile.mkdtemp())) as broker,
        RegistryProcess(broker.bootstrap_servers) as registry,
    ):
        path = Path(sys.argv[1])
        page = path.read_text()
        real = answer(page, broker.bootstrap_servers, registry)
        path.write_text(_CURL.sub(lambda found: f"```\n$ {found[1]}{real}```", page))
