"""The registry's server: the address it listens on, and the instance behind it."""

import contextlib
import socket
from collections.abc import Generator
from typing import Final

import uvicorn

from stoker.client.properties import client_properties
from stoker.errors import StokerError
from stoker.registry.config import Listener, RegistryConfig
from stoker.registry.election import Identity
from stoker.registry.http.application import application
from stoker.registry.instance import Instance, InstanceOptions

_BACKLOG: Final = 2048
_LAST_REQUESTS_SECONDS: Final = 5
_DISCARD_PORT: Final = 9


class CannotListen(StokerError):
    """An address that cannot be served."""


class RegistryServer:
    """`startup`, then `serve` until `stop`, then `shutdown`."""

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._socket = _listen(config.listener)
        self.port: int = self._socket.getsockname()[1]
        self.url = config.advertised_url or f"http://{_own_host(config)}:{self.port}"
        self._instance = Instance(self._instance_options())
        self._http = _Http(
            uvicorn.Config(
                application(self._instance, auth_file=config.auth_file, read_only=config.is_read_only),
                http="httptools",
                lifespan="on",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS,
            )
        )

    def _instance_options(self) -> InstanceOptions:
        config = self._config
        scheme, _, address = self.url.partition("://")
        host, _, port = address.rpartition(":")
        return InstanceOptions(
            properties=client_properties(config.bootstrap_servers, config.client_properties),
            identity=Identity(
                scheme=scheme,
                host=host.strip("[]"),
                port=int(port),
                is_eligible=config.is_eligible and not config.is_read_only,
            ),
            topic=config.topic,
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            write_timeout=config.write_timeout_ms / 1000,
            start_timeout=config.start_timeout_ms / 1000,
            default_level=config.default_level,
        )

    async def startup(self) -> None:
        """Until all schemas are known. Raises StokerError."""
        await self._instance.startup()

    async def serve(self) -> None:
        """Until `stop` is called, and the requests that were there then are answered."""
        await self._http.serve(sockets=[self._socket])

    def stop(self) -> None:
        self._http.should_exit = True

    async def shutdown(self) -> None:
        await self._instance.shutdown()
        self._socket.close()


class _Http(uvicorn.Server):
    """Leaves the signals to the one who started it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _listen(listener: Listener) -> socket.socket:
    host, port = listener
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotListen(f"cannot listen on {host or '0.0.0.0'}:{port}: {error.strerror}") from error
    return listening


def _own_host(config: RegistryConfig) -> str:
    """The address that others reach us at: the one we listen on, or that from which we reach the cluster."""
    if config.listener.host:
        host = config.listener.host
    else:
        server = config.bootstrap_servers.partition(",")[0].rpartition(":")[0].strip("[]") or "localhost"
        host = _local_address_towards(server)
    return f"[{host}]" if ":" in host else host


def _local_address_towards(host: str) -> str:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, _DISCARD_PORT, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # of a datagram: nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return socket.getfqdn()
