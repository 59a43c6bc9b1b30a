"""The cluster of a tool's options: `--bootstrap-server`, and a file of client properties."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.kafka_tools.failure import JavaError

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster

_CLIENT_ID: Final = "adminclient-1"


def load_properties(path: str) -> dict[str, str]:
    """A properties file, as Kafka's tools read `--command-config`. Raises JavaError."""
    from stoker.client.errors import InvalidClientProperty
    from stoker.client.properties import read_client_properties

    try:
        return read_client_properties(Path(path))
    except InvalidClientProperty as error:
        if not Path(path).exists():
            raise JavaError("java.nio.file.NoSuchFileException", path) from None
        raise JavaError("java.io.IOException", str(error)) from None


def connect(bootstrap_server: str | None, properties: Mapping[str, str] | None = None) -> "Cluster":
    """The cluster, to be used in a `with`. `bootstrap_server` is stronger than the properties. Raises ClientError."""
    from stoker.client.cluster import Cluster
    from stoker.client.properties import client_properties

    return Cluster(client_properties(bootstrap_server, {"client.id": _CLIENT_ID, **(properties or {})}))


def connect_with(bootstrap_server: str | None, command_config: str | None) -> "Cluster":
    """The same with the name of a properties file, or none."""
    return connect(bootstrap_server, None if command_config is None else load_properties(command_config))
