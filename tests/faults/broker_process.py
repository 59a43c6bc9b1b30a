"""A broker in a process of its own, to be killed, starved and lied to."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.stoker_process import STOKER, WAIT_SECONDS, StokerProcess, free_port

__all__ = ["STOKER", "WAIT_SECONDS", "BrokerProcess", "free_port"]


class BrokerProcess(StokerProcess):
    """`stoker broker` on a data directory."""

    ready = re.compile(r"Stoker is ready on (\S+:\d+), data in ")

    def __init__(
        self, data_dir: Path | None, *, port: int | None = None, options: Mapping[str, object] | None = None
    ) -> None:
        super().__init__()
        self.port = port or free_port()
        self.data_dir = data_dir
        self._options = dict(options or {})

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def arguments(self) -> Sequence[str]:
        command = ["broker", "--listen", self.bootstrap_servers]
        if self.data_dir is not None:
            command += ["--data-dir", str(self.data_dir)]
        for name, value in self._options.items():
            command += ["-o", f"{name}={value}"]
        return command
