"""`stoker spark` where things go wrong, with a program that takes the place of Java: nothing of it is Spark."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import pytest

from stoker.clusters import SparkCluster
from stoker.clusters.daemon import Daemon
from stoker.clusters.errors import CannotStart, NotInTime
from stoker.clusters.local_cluster import ANY_PORT
from stoker.clusters.spark_plan import SparkPlan
from stoker.clusters.spark_status import master_page

JAVA: Final = f"#!{sys.executable}\nimport sys; sys.exit('no such class')\n"


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkCluster:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA)
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return SparkCluster(tmp_path / "spark")


def plan(web_port: int, workers: int = 2) -> SparkPlan:
    ports = tuple(range(20_001, 20_001 + workers))
    return SparkPlan(master_port=20_000, web_port=web_port, worker_ports=ports, cores=1, memory="1g")


def test_a_first_up_that_cannot_be_started(local: SparkCluster) -> None:
    with pytest.raises(CannotStart, match=r"(?s)the master ended as soon as it was started.*no such class"):
        local.up(2, port=ANY_PORT, web_port=ANY_PORT)
    assert not local.exists
    assert "no such class" in (local.directory / "master" / "server.log").read_text()


def test_a_change_that_cannot_be_started(local: SparkCluster) -> None:
    """The cluster is what it was."""
    before = plan(20_010)
    local.directory.mkdir()
    before.write(local.directory)
    with pytest.raises(CannotStart):
        local.up(20)
    assert local.plan == before


def test_a_master_that_is_never_ready(local: SparkCluster, tmp_path: Path) -> None:
    """It is given up when the time is over, and does not run on."""
    (tmp_path / "bin" / "java").write_text(f"#!{sys.executable}\nimport threading; threading.Event().wait()\n")
    with pytest.raises(NotInTime, match=r"the master was not ready in time"):
        local.up(2, port=ANY_PORT, web_port=ANY_PORT, seconds=0.5)
    assert Daemon(local.directory / "master", "the master").pid is None
    assert not local.exists


class Page(BaseHTTPRequestHandler):
    told: object = None

    def do_GET(self) -> None:
        body = json.dumps(self.told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def page() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("told", [[], {}, {"url": "spark://127.0.0.1:1", "workers": [], "activeapps": []}])
def test_a_page_that_is_not_the_masters(page: HTTPServer, monkeypatch: pytest.MonkeyPatch, told: object) -> None:
    monkeypatch.setattr(Page, "told", told)
    assert master_page(plan(page.server_port)) is None


def test_a_proxy_is_not_asked(page: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not reach what is on this machine."""
    monkeypatch.setattr(Page, "told", {"url": plan(0).master, "workers": [], "activeapps": [{"name": "orders"}]})
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    told = master_page(plan(page.server_port))
    assert told is not None
    assert told.applications == ("orders",)
