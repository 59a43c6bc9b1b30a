"""The cluster of a tool's options: `--bootstrap-server`, and a file of client properties."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.errors import MalformedProperties
from stoker.kafka_tools.failure import JavaError

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster

_CLIENT_ID: Final = "adminclient-1"


def load_properties(path: str) -> dict[str, str]:
    """A properties file of a client, as Kafka's tools read `--command-config`. Raises JavaError."""
    from stoker.client.errors import InvalidClientProperty
    from stoker.client.properties import read_client_properties

    try:
        return read_client_properties(Path(path))
    except InvalidClientProperty as error:
        raise _unreadable(path, str(error)) from None


def load_exact_properties(path: str) -> dict[str, str]:
    """A properties file whose values count as Java reads them, with the white space and the # at their end. Raises JavaError."""
    from stoker.properties import read_properties

    try:
        return {each.name: each.value for each in read_properties(Path(path))}
    except OSError as error:
        raise _unreadable(path, f"{path} cannot be read: {error.strerror}") from None
    except MalformedProperties as error:
        raise _unreadable(path, f"{path} {error}") from None


def _unreadable(path: str, why: str) -> JavaError:
    if not Path(path).exists():
        return JavaError("java.nio.file.NoSuchFileException", path)
    return JavaError("java.io.IOException", why)


def connect(bootstrap_server: str | None, properties: Mapping[str, str] | None = None) -> "Cluster":
    """The cluster, to be used in a `with`. `bootstrap_server` is stronger than the properties. Raises ClientError."""
    from stoker.client.cluster import Cluster
    from stoker.client.properties import client_properties

    return Cluster(client_properties(bootstrap_server, {"client.id": _CLIENT_ID, **(properties or {})}))


def connect_with(bootstrap_server: str | None, command_config: str | None) -> "Cluster":
    """The same with the name of a properties file, or none."""
    return connect(bootstrap_server, None if command_config is None else load_properties(command_config))
