"""A broker inside this Python process: `with Broker() as broker: ... broker.bootstrap_servers`."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from stoker.broker.config.listeners import listener_at
from stoker.broker.config.server_properties import load_broker_config, report
from stoker.broker.event_loop import new_event_loop
from stoker.broker.server import Server
from stoker.errors import BrokerCannotStart


class Broker:
    """A real broker on a thread of its own.

    By default on a free port of localhost, with its data in a temporary directory that goes when the broker stops;
    `data_dir` keeps the data. `config` takes Kafka's names, such as {"num.partitions": 3}.
    """

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        listen: str = "127.0.0.1:0",
        config: Mapping[str, object] | None = None,
    ) -> None:
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._listen = listen
        self._config = {name: _as_text(value) for name, value in (config or {}).items()}
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        # While it runs
        self._temporary: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._server: Server | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What a Kafka client wants to know, such as 127.0.0.1:43817."""
        if self._server is None:
            raise BrokerCannotStart("The broker is not running: use `with Broker() as broker:` or call start().")
        return self._server.bootstrap_servers

    @property
    def data_dir(self) -> Path:
        if self._data_dir is not None:
            return self._data_dir
        if self._temporary is None:
            raise BrokerCannotStart("The broker is not running, and its data directory is temporary.")
        return Path(self._temporary)

    def start(self) -> Self:
        """Returns when clients can connect. Raises BrokerCannotStart or ConfigError."""
        if self._thread is not None:
            raise BrokerCannotStart("The broker is running already.")
        if self._data_dir is None:
            self._temporary = tempfile.mkdtemp(prefix="stoker-")
        self._started.clear()
        self._failure = None
        self._thread = threading.Thread(target=self._run, name="stoker-broker", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            failure = self._failure
            self.stop()
            raise failure
        return self

    def stop(self) -> None:
        """A clean shutdown; returns when it is done. Stopping twice is harmless."""
        thread, self._thread = self._thread, None
        if thread is not None:
            if self._loop is not None and self._stop is not None:
                self._loop.call_soon_threadsafe(self._stop.set)
            thread.join()
        self._server = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            try:
                runner.run(self._serve())
            except BaseException as error:
                self._failure = error
            finally:
                self._loop = self._stop = None
                self._started.set()

    async def _serve(self) -> None:
        settings = {"listeners": listener_at(self._listen), "log.dirs": str(self.data_dir)}
        loaded = load_broker_config(None, settings | self._config)
        report(loaded)
        server = Server(loaded.config)
        await server.startup()
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._server = server
        self._started.set()
        await self._stop.wait()
        await server.shutdown()


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
